"""What the nodes did while jobs ran."""
