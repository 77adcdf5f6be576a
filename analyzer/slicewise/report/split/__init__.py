"""Where ranks' time went: computing, MPI and I/O."""
