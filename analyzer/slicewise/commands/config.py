"""Which value each setting has, where that comes from, and what the setting means."""

from __future__ import annotations

import shlex
import sys
from typing import Literal

from slicewise.config_file import config_file
from slicewise.errors import UserError
from slicewise.report.tables import Column, Table, for_terminal
from slicewise.settings import PREFIX, from_file, mistakes, nearest, settings
from slicewise.terminal.output import output_file, write_answer, write_text

WHERE_IT_HOLDS = (
    "It holds for what slicewise starts, and after `module load slicewise`. In a script that sets LD_PRELOAD itself:",
    '  eval "$(slicewise config --export sh)"',
)


def config(name: str | None, export: Literal["sh", "env"] | None) -> None:
    if export is not None:
        for mistake in mistakes():
            print(f"slicewise: {mistake}", file=sys.stderr)
        as_line = "export {}={}" if export == "sh" else "{}={}"
        quoted = shlex.quote if export == "sh" else str
        exported = [as_line.format(variable, quoted(value)) for variable, value in from_file().items()]
        if output_file() is not None:
            write_text([*exported])
        elif exported:
            print("\n".join(exported))
        return
    found = list(settings())
    if name is not None:
        key = name.upper().removeprefix(PREFIX).lower()
        meant = nearest(key, [setting.key for setting in found])
        found = [setting for setting in found if setting.key == key]
        if not found:
            hint = f"did you mean {meant}?" if meant else "see: slicewise help settings"
            raise UserError(f"config: {name}: no such setting; {hint}")
    file = config_file()
    table = Table([Column(heading, is_figure=False) for heading in ("setting", "value", "from", "meaning")])
    for setting in found:
        source = "your file" if setting.source == str(file) else setting.source
        table.add(setting.key, setting.value or "-", source, setting.meaning)
    there = "" if file.exists() else " (there is none yet)"
    wrong = [f"Wrong in it: {mistake}" for mistake in mistakes()]
    about = [f"Your file: {file}{there}", *wrong, *WHERE_IT_HOLDS]
    write_answer(
        lambda: {"file": str(file), "mistakes": mistakes(), "settings": found}, [for_terminal(table), "", *about]
    )
