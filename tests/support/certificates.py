"""Certificates for a test, made by openssl; each signs itself, so that it is its own authority."""

import subprocess
from dataclasses import dataclass
from pathlib import Path

from support.programs import need


@dataclass(frozen=True)
class Certificate:
    certificate: Path
    key: Path


def make_certificate(folder: Path, name: str, *options: str) -> Certificate:
    """One for 127.0.0.1 that holds for two days. options: other ones of `openssl req`, instead of a key in plain."""
    need("openssl")
    made = Certificate(folder / f"{name}.pem", folder / f"{name}.key")
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-days", "2",
         "-subj", f"/CN={name}", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", made.key, "-out",
         made.certificate, *(options or ["-nodes"])],
        capture_output=True,
        check=True,
    )  # fmt: skip
    return made
