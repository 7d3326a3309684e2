"""A measured figure."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure with its unit; names say what larger or smaller means."""

    name: str
    value: float
    unit: str


Figures = list[Figure]
