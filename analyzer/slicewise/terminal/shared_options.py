"""Options that several commands take, in the same words."""

from __future__ import annotations

from typing import Annotated

import typer

from slicewise.contract import seconds_allowed

_shortest, _longest = seconds_allowed("SLICEWISE_SLICE")
SliceSeconds = Annotated[
    float | None,
    typer.Option("--slice", metavar="SECONDS", min=_shortest, max=_longest, help="Length of a slice; else 4."),
]
