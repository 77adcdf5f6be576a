"""Models of sharing, as a page, tables and words."""
