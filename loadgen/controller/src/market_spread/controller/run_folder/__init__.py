"""The files of a run's folder, by name: manifest, state, lock."""
