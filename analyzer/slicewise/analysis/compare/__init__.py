"""Why one run took longer than another: computing, own I/O, what neighbours cost, and what nothing explains."""
