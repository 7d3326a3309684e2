"""A release of the chart in a cluster as the environment of a run."""
