"""Seeds for the fuzz target reader.c: golden files as they are, and their payloads.

PYTHONPATH=tests python -m fuzz.reader_seeds DIRECTORY
"""

import sys
from pathlib import Path

from support.plain_frames import Frame, walk

GOLDEN = Path(__file__).resolve().parents[1] / "golden"
AS_IT_IS, PAYLOADS = 0, 1
CHOICES = range(0, 64, 2)
CUT = b"\xa5\x5a"


def main(directory: Path) -> None:
    """Write the seeds, each under every choice of what is asked for."""
    directory.mkdir(parents=True, exist_ok=True)
    for file in GOLDEN.glob("*.swz"):
        data = file.read_bytes()
        payloads = [part.payload for part in walk(data) if isinstance(part, Frame) and part.process]
        for choice in CHOICES:
            (directory / f"{file.stem}-{choice}").write_bytes(bytes([AS_IT_IS | choice]) + data)
            (directory / f"{file.stem}-{choice}-payloads").write_bytes(bytes([PAYLOADS | choice]) + CUT.join(payloads))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
