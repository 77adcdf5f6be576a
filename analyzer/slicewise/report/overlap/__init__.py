"""Jobs on one time axis, as a page, tables, words and JSON."""
