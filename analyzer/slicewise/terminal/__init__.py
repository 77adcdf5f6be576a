"""The command line's own: options, results, keys."""
