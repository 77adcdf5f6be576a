"""One job as a few narrow, typed, documented frames: see docs/digest.md."""

from slicewise.digest.digest import Digest, several

__all__ = ["Digest", "several"]
