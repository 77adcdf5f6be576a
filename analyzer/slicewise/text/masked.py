"""What a profile holds of a path where SLICEWISE_NAMES asks for less than all of it. As store/encode.c has it."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

FULL, BASE, HASH = "full", "base", "hash"
FORMS = (FULL, BASE, HASH)
DIGITS = 16


def form_of_names(environment: Mapping[str, str]) -> str:
    """Which form the environment asks for. What is none of them the library complains about, and takes for full."""
    form = environment.get("SLICEWISE_NAMES", "")
    return form if form in FORMS else FULL


def masked(path: str, environment: Mapping[str, str]) -> str:
    """The path, its last part, or the digits that stand for it."""
    form = form_of_names(environment)
    if form == BASE:
        return path[path.rfind("/", 0, -1) + 1 :]
    if form == HASH and path:
        import hashlib  # most users mask nothing
        import hmac

        key = hashlib.sha256(os.fsencode(environment.get("SLICEWISE_NAMES_KEY", ""))).digest()
        return hmac.new(key, os.fsencode(path), "sha256").hexdigest()[:DIGITS]
    return path
