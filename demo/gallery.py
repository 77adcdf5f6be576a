"""Pictures of pages for docs/gallery, of profiles that were recorded for the tests (tests/golden/campaigns).

Run by `make gallery` as `python -m gallery FOLDER`, with tests/ and demo/ on the path. The pages are made anew each
time, so that the pictures show what commands write today.
"""

from __future__ import annotations

import contextlib
import shutil
import sys
import tempfile
import textwrap
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
    seen: str  # what it shows, for those who cannot see it as well
    command: tuple[str, ...]
    width: int = 1400
    colours: str = "light"
    at: str = ""  # what the window is scrolled to, as CSS selects it


JOB, NEIGHBOUR, ALONE = "four+fourafter20-1s-1-1", "four+fourafter20-1s-1-2", "four-1s-1-1"
PICTURES = (
    Picture(
        "blame", "Who slowed a job down, by how much, and what to do",
        "The job took 1.6 times as long as alone. The page says what to do next, and where the runtime went.",
        ("blame", JOB),
    ),
    Picture(
        "blame-time", "When it lost the time (dark colours)",
        "From above: what the job moved, and what it would have moved alone (dashed); how busy its neighbour kept the "
        "storage; and the seconds lost in each slice.",
        ("blame", JOB), colours="dark", at="#s2",
    ),
    Picture(
        "blame-phone", "The same answer on a small screen", "Nothing is cut off.", ("blame", JOB), width=400,
    ),
    Picture(
        "overlap", "Two jobs on one time axis",
        "What both jobs wrote, stacked. The dashed line is the capacity, 22.8 MiB/s.",
        ("overlap", JOB, NEIGHBOUR, "--alone", ALONE),
    ),
    Picture(
        "report", "What one job did",
        "Its throughput, its metadata calls, and how long tasks of its node waited.",
        ("report", JOB), at="#s1",
    ),
    Picture(
        "compare", "Why one run took longer than another",
        "Each bar is a part of the difference: here the time lost to a neighbour.",
        ("compare", ALONE, JOB),
    ),
)  # fmt: skip
# The jobs of one testbed: others ran on other testbeds at the same time, whose storages have the same names.
SHOWN = ("four+fourafter20-1s-1-", "four-1s-")


def main(folder: Path) -> None:
    """Write the pictures and the page that shows them."""
    with tempfile.TemporaryDirectory(prefix="slicewise-gallery-") as scratch, Browser(timeout=120) as window:
        shutil.unpack_archive(CAMPAIGNS / "blame-glusterfs.tar.xz", scratch)
        jobs = Path(scratch) / "slicewise"
        jobs.mkdir()
        for place in (Path(scratch) / "blame-glusterfs").iterdir():
            if place.name.startswith(SHOWN):
                place.rename(jobs / place.name)
        folder = folder.resolve()
        folder.mkdir(parents=True, exist_ok=True)
        for picture in PICTURES:
            page = Path(scratch) / f"{picture.name}.html"
            command, *rest = picture.command
            with contextlib.chdir(jobs):  # so pages name the jobs as whoever types the command does
                done = slicewise_command(command, *rest, "--html", page)
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
        "Pages that Slicewise writes. Two equal jobs of 4 processes wrote to one GlusterFS server. The second",
        "one began 20 s after the first: they are jobs 1 and 2 (the last number) of the run",
        "`four+fourafter20-1s-1`. `four-1s-1-1` is such a job alone. `make gallery` makes the pictures anew.",
    ]  # fmt: skip
    for picture in PICTURES:
        typed = f"slicewise {' '.join(picture.command)}"
        seen = textwrap.wrap(picture.seen, 100)
        lines += ["", f"## {picture.said}", "", f"`{typed}`", "", *seen, "", f"![Page]({picture.name}.webp)"]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main(Path(sys.argv[1]))
