"""What a foretelling says, in words, tables and JSON."""
