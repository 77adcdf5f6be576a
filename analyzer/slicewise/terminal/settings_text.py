"""What `slicewise help settings` says: every setting, made of the one list (schema/settings.def)."""

from __future__ import annotations

import textwrap

from slicewise.settings import NOT_IN_A_FILE, Setting, settings
from slicewise.terminal.help_text import filled, width


def settings_text() -> str:
    """All settings: variable and key, default and range, meaning."""
    opening = (
        "Each setting is an environment variable, which the preloaded library reads at a process's start. In your file "
        "(slicewise config says where) its name is a key: slice = 2 is SLICEWISE_SLICE=2. The file holds for what "
        "slicewise starts; the environment overrides it, and an option overrides both."
    )
    return "\n\n".join([filled(opening), *(_about(setting) for setting in settings())])


def _about(setting: Setting) -> str:
    facts = [f"default: {setting.default or 'empty'}"]
    if setting.takes:
        facts.append(setting.takes)
    if setting.variable in NOT_IN_A_FILE:
        facts.append("not in the file")
    wrapped = textwrap.wrap(
        f"{setting.meaning}. [{'; '.join(facts)}]", width() - 4, break_long_words=False, break_on_hyphens=False
    )
    return "\n".join([setting.variable, *(f"    {line}" for line in wrapped)])
