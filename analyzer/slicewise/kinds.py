"""The kinds of calls and the directions of bytes, by which columns of profiles and of the digest are named."""

from __future__ import annotations

KINDS = ("read", "write", "meta", "sync")
