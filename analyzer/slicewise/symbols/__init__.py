"""What code an address in a file is: symbol tables and debug information, read after the run, on any machine."""
