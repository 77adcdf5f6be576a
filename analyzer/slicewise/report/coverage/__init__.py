"""How much was seen, as sections and words."""
