"""Why one run took longer than another, as sentences, tables, JSON and a page."""
