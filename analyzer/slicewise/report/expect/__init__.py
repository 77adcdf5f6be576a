"""What may be expected of a file system, and where jobs lie in it: words, tables, JSON and pages."""
