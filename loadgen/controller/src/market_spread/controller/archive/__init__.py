"""What is kept of a run: observations, histograms, provenance, the store of runs."""
