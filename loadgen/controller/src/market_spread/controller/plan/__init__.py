"""From a workload to what is sent, asked for and tolerated."""
