"""Who slowed a job down, as words, tables, JSON and a page."""
