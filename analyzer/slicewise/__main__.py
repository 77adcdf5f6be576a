"""`slicewise`, and `python -m slicewise`."""

from slicewise.cli import main

if __name__ == "__main__":
    main()
