"""One job as a few narrow, typed, documented frames: see docs/digest.md."""

from slicewise.digest.digest import Digest
from slicewise.digest.shared import several
from slicewise.profile.damage import Damage

__all__ = ["Damage", "Digest", "several"]
