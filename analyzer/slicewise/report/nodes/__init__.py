"""What nodes did, as sections, tables and words."""
