"""Several jobs on one time axis: where they overlapped, and what that cost."""
