"""Questions about all jobs of a catalog: which there are, who was with whom, what is missing, who cost whom."""
