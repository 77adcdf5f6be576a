"""`python -m slicewise`."""

from slicewise.cli import main

main()
