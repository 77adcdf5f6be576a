"""What runs now, as a screen and as metrics."""
