"""What the processes of Market Spread share. Importing this package imports nothing else."""
