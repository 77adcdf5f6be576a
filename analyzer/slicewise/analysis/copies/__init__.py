"""How many jobs of a kind may run side by side before each loses more than it may."""
