"""TOML texts: read by the standard library, and with Python 3.10, which cannot, by the package tomli."""

import sys

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

__all__ = ["tomllib"]
