"""What the null system does on purpose, so that what the rig measures of it can be checked."""


def is_held(order_id: int) -> bool:
    """Whether it is one of the orders, every second one, whose alerts are held back."""
    return order_id % 2 == 1
