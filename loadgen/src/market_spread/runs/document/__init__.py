"""The run document: what a run leaves in its folder, so that it can be read, believed, repeated and compared."""
