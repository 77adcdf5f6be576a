"""A profile as other tools read it: profile in, bytes or text out."""
