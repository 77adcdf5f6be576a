"""What a catalog says of many jobs, as tables and JSON."""
