"""A profile as other tools read it: one module a format, profile in, bytes or text out."""
