"""The files of a run's folder, by name: manifest, state, lock."""

__all__ = ["folder", "manifest"]
