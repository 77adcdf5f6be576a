"""What may be expected of a file system: the box that runs of IO500 span, and where jobs lie in it."""
