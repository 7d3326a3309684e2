"""What a person reads: pages, charts, the report, progress in the terminal."""
