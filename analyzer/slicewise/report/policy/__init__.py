"""What taking turns would have changed, as sentences, tables, JSON and a page."""
