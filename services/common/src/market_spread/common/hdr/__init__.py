"""HDR histograms and their encoding."""
