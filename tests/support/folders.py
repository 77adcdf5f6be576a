"""Folders of this process's own."""

import atexit
import shutil
import tempfile
from pathlib import Path


def folder_for_life(prefix: str) -> Path:
    """A new folder, which goes when this process ends."""
    folder = Path(tempfile.mkdtemp(prefix=prefix))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder
