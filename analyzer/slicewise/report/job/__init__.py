"""One job, as a page, tables and lines."""
