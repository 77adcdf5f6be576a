"""The terminal: results, keys, progress."""
