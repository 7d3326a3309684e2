"""The supply chain: what our wheels and images are made of, what is known against it, and how a release says so."""
