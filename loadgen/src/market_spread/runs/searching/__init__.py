"""The highest rate that a system holds under objectives: bracket, bisection, confirmation."""
