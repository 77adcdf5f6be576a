"""Where a user's settings lie. What they are says settings.py, which `slicewise run` does not wait for."""

import os
from pathlib import Path


def config_file() -> Path:
    """Where the user's file is, or would be; of a user without a home below the root directory."""
    chosen = os.environ.get("XDG_CONFIG_HOME", "")
    home = os.path.expanduser("~")
    base = Path(chosen) if os.path.isabs(chosen) else Path(home if os.path.isabs(home) else "/") / ".config"
    return base / "slicewise" / "config.toml"
