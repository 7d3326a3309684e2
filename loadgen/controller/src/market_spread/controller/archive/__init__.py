"""What is kept of a run: observations, histograms, provenance, the store of runs."""

__all__ = ["histograms", "jvm_pauses", "observation", "provenance", "self_test_record", "store"]
