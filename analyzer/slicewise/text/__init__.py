"""Words and names as people read them: the base of all that is said."""
