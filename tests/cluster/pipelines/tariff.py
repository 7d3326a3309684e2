"""What a trip costs."""


def cents(km: int) -> int:
    return 300 + 180 * km
