"""Two or more groups of runs compared: figures, verdicts, and what differs between them; histories of runs."""
