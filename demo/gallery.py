"""Pictures of pages for docs/gallery, of profiles that were recorded for the tests (tests/golden/campaigns).

Run by `make gallery` as `python -m gallery FOLDER`, with tests/ and demo/ on the path. The pages are made anew each
time, so that the pictures show what commands write today.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from support.browser import Browser
from support.command_line import slicewise_command

CAMPAIGNS = Path(__file__).resolve().parents[1] / "tests/golden/campaigns"
DRAWN = "document.documentElement.dataset.drawn || !document.getElementById('trouble').hidden"
HEIGHT = 1000
QUALITY = 60  # of webp, in per cent


@dataclass(frozen=True)
class Picture:
    """What is on it, the command that writes its page, how wide the window is, and in which colours."""

    name: str
    said: str
    command: tuple[str, ...]
    width: int = 1400
    colours: str = "light"
    at: str = ""  # what the window is scrolled to, as CSS selects it


JOB, NEIGHBOUR, ALONE = "four+fourafter20-1s-1-1", "four+fourafter20-1s-1-2", "four-1s-1-1"
PICTURES = (
    Picture("blame", "Who slowed a job down, by how much, and what to do", ("blame", JOB)),
    Picture("blame-time", "Seconds lost in each slice, in dark colours", ("blame", JOB), colours="dark", at="#s2"),
    Picture("blame-phone", "The same answer on a small screen", ("blame", JOB), width=400),
    Picture("overlap", "Two jobs on one time axis", ("overlap", JOB, NEIGHBOUR, "--alone", ALONE)),
    Picture("report", "What one job did", ("report", JOB), at="#s1"),
    Picture("compare", "Why two runs took another time", ("compare", ALONE, JOB)),
)


def main(folder: Path) -> None:
    """Write the pictures and the page that shows them."""
    with tempfile.TemporaryDirectory(prefix="slicewise-gallery-") as scratch, Browser(timeout=120) as window:
        shutil.unpack_archive(CAMPAIGNS / "blame-glusterfs.tar.xz", scratch)
        jobs = Path(scratch) / "blame-glusterfs"
        folder.mkdir(parents=True, exist_ok=True)
        for picture in PICTURES:
            page = Path(scratch) / f"{picture.name}.html"
            command, *rest = picture.command
            names = [word if word.startswith("-") else jobs / word for word in rest]
            done = slicewise_command(command, *names, "--html", page)
            if done.status != 0:
                sys.exit(f"gallery: {done.errors}")
            window.resize(picture.width, HEIGHT)
            window.prefer(picture.colours)
            window.open(page, DRAWN)
            if picture.at:
                window.evaluate(f"document.querySelector('{picture.at}').scrollIntoView()")
            window.picture(folder / f"{picture.name}.webp", QUALITY)
    (folder / "README.md").write_text(page_of_pictures(), encoding="utf-8")


def page_of_pictures() -> str:
    """docs/gallery/README.md."""
    lines = [
        "# Gallery", "",
        "Pages that Slicewise writes, of two jobs that shared GlusterFS. `make gallery` makes the pictures",
        "anew.",
    ]  # fmt: skip
    for picture in PICTURES:
        typed = f"slicewise {' '.join(picture.command)}"
        lines += ["", f"## {picture.said}", "", f"`{typed}`", "", f"![{picture.said}]({picture.name}.webp)"]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main(Path(sys.argv[1]))
