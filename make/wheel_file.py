"""Wheels as files: what is written depends on the contents alone, and on SOURCE_DATE_EPOCH."""

import base64
import hashlib
import os
import time
import zipfile
from pathlib import Path

EARLIEST_OF_ZIP = 315532800  # 1980


def read(wheel: Path) -> dict[str, bytes]:
    """Its files by name."""
    with zipfile.ZipFile(wheel) as source:
        return {name: source.read(name) for name in source.namelist() if not name.endswith("/")}


def about(files: dict[str, bytes]) -> str:
    """The folder of what the wheel says about itself: NAME-VERSION.dist-info."""
    (found,) = (name.rsplit("/", 1)[0] for name in files if name.endswith(".dist-info/WHEEL"))
    return found


def write(files: dict[str, bytes], tag: str, directory: Path, programs: tuple[str, ...] = ()) -> Path:
    """The wheel in `directory`, with a record of its own. programs: beginnings of the names of what may be run."""
    folder = about(files)
    lines = files[f"{folder}/WHEEL"].decode().splitlines()
    said = "".join(f"{line}\n" for line in lines if line and not line.startswith("Tag:"))
    files = {name: content for name, content in files.items() if name != f"{folder}/RECORD"}
    files[f"{folder}/WHEEL"] = f"{said}Tag: {tag}\n".encode()
    record = "".join(f"{name},sha256={_hash_of(files[name])},{len(files[name])}\n" for name in sorted(files))
    files[f"{folder}/RECORD"] = f"{record}{folder}/RECORD,,\n".encode()
    directory.mkdir(parents=True, exist_ok=True)
    made = directory / f"{folder.removesuffix('.dist-info')}-{tag}.whl"
    stamp = time.gmtime(max(EARLIEST_OF_ZIP, int(os.environ.get("SOURCE_DATE_EPOCH", "0"))))[:6]
    with zipfile.ZipFile(made, "w") as target:
        for name in sorted(files, key=lambda name: (name.startswith(folder), name)):
            entry = zipfile.ZipInfo(name, stamp)
            is_program = name.endswith(".so") or name.startswith(programs)
            entry.external_attr = (0o100755 if is_program else 0o100644) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            target.writestr(entry, files[name], compresslevel=9)
    return made


def _hash_of(content: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
