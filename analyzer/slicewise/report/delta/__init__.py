"""Delta-graphs, as a page and words."""
