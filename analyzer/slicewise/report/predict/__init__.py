"""What a prediction says, in words, tables and JSON."""
