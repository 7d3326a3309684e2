"""The pods of a run: a release of the Helm chart."""

__all__ = ["release"]
