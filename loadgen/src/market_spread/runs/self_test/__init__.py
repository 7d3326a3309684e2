"""The rig, looked at: what it makes of a system of which everything is known."""
