"""Other profilers' logs as profiles of our own: read, cut into slices, checked, written (see docs/imports.md)."""
