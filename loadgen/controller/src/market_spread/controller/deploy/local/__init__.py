"""The processes of a run on this machine."""
