"""A capacity plan from measured costs."""
