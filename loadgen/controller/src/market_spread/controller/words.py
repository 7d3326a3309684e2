"""Numbers with their nouns."""


def counted(number: int, noun: str) -> str:
    """`1 run`, `2,000 runs`: the noun in the singular is given."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
