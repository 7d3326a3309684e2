"""What a sender offers: sources of load, and the schedule."""
