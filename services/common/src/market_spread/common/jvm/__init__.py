"""Java, its jars and the log of its garbage collector."""
