"""What jobs are recorded that lose time to each other, and in what company: the plans of `testbed.blame_campaign`.

All storages move about 23 MiB/s, so that a job's volume says how long it takes alone: mostly 20 to 30 s, and twice as
long in company.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

LINK = "200mbit"
LIMIT_MIB_S = 23
SERVERS = ("glusterfs", "sshfs-sync", "sshfs")
DISK = "disk"
STORAGES = (*SERVERS, DISK)


def recording_of(storage: str) -> str:
    """The name of a storage's recordings among campaigns."""
    return f"blame-{storage}"


@dataclass(frozen=True)
class Job:
    """A job: words of slicewise-load and the processes that it has, or another program's command line.

    In words and in `prepares` (a command line, done beforehand without Slicewise) {file} is a path of its own, {start}
    the second to begin at, {loader} and {load} the programs. clock: whether it waits for {start} and prints a line with
    its own times; else it is started then. is_elsewhere: on another storage than the others.
    """

    processes: int
    words: str
    prepares: str = ""
    is_load: bool = True
    has_clock: bool = True
    is_elsewhere: bool = False


@dataclass(frozen=True)
class Member:
    """A job of a run, and how many seconds after the run's start it begins."""

    name: str
    delay: float

    @property
    def job(self) -> Job:
        return JOBS[self.name]


@dataclass(frozen=True)
class Run:
    """Jobs that are together: "reader+four@6". is_sampled: a collector samples the server too."""

    text: str
    repeat: int = 1
    slice_seconds: float = 1
    is_sampled: bool = False

    @property
    def name(self) -> str:
        """What its profiles' names begin with."""
        text = self.text.replace("@", "after")
        return f"{text}-{self.slice_seconds:g}s-{self.repeat}"

    @property
    def members(self) -> list[Member]:
        found = []
        for text in self.text.split("+"):
            match = re.fullmatch(r"([a-z]+)(?:@([\d.]+))?", text)
            assert match is not None, text
            assert match[1] in JOBS, text
            found.append(Member(match[1], float(match[2] or 0)))
        return found


_WRITE = "--transfer 256K --fsync --remove"
_READ = "--transfer 256K --direct --read"
_LOADER = "/usr/bin/python3 -I {loader} {file}-samples"
JOBS: dict[str, Job] = {
    "four": Job(4, f"{_WRITE} --volume 528M"),
    "long": Job(4, f"{_WRITE} --volume 880M"),
    "twelve": Job(12, f"{_WRITE} --volume 528M"),
    "reader": Job(4, f"{_READ} --volume 66M --repeats 8", "{load} --transfer 256K --volume 66M {file}"),
    "computing": Job(2, "--transfer 1M --fsync --remove --volume 192M --compute 0.2"),
    "phases": Job(4, f"{_WRITE} --volume 16M --repeats 13 --phases --compute 1.3"),
    "storm": Job(4, "--files 1200 --transfer 64K --compute 0.01"),
    "stream": Job(1, "--transfer 64K --fsync --remove --volume 400M"),
    "loader": Job(
        3,
        f"{_LOADER} --workers 3 --epochs 3 --compute 0.05 --start-at {{start}}",
        f"{_LOADER} --prepare 1200",
        is_load=False,
    ),
    "mixed": Job(4, "--transfer 512K --mixed 16K --fsync --remove --volume 528M"),
    "paced": Job(6, f"{_WRITE} --volume 204M --rate 1300K"),
    "steady": Job(4, f"{_WRITE} --volume 264M --rate 2600K"),
    "idle": Job(1, "--transfer 64K --remove --volume 2M --rate 64K"),
    "away": Job(2, f"{_WRITE} --volume 240M --rate 4M", is_elsewhere=True),
    "tar": Job(
        1, "tar -cf {file}.tar -C {file}-tree .",
        "/usr/bin/python3 -I {loader} {file}-tree --prepare 1600", is_load=False, has_clock=False,
    ),
    "brief": Job(2, "--transfer 64K --remove --volume 2M --rate 1M"),  # for a test of the recorder
}  # fmt: skip

# Most wanted first: what there was no time for is what stands last.
_ON_A_SERVER = (
    [Run(name, 1) for name in ("four", "twelve", "reader", "computing", "phases")],
    [Run(text) for text in ("four+four@8", "four+twelve@4", "reader+four@6", "computing+four@6", "phases+four@6")],
    [Run(name, 1) for name in ("storm", "stream", "loader", "mixed", "paced", "steady")],
    [
        Run(text)
        for text in (
            "storm+stream@4",
            "storm+four@6",
            "loader+four@6",
            "mixed+four@6",
            "paced+steady@6",
            "paced+four@6",
        )
    ],
    [Run(name, 2) for name in ("four", "twelve", "reader", "computing", "phases")],
    [Run(name, 2) for name in ("storm", "stream", "loader", "mixed", "paced", "steady")],
    # Of three, two hurt; and what they do without each of them.
    [Run(text) for text in ("reader+four@6+idle", "computing+four@6+reader@12", "computing+reader@12")],
    [Run(text) for text in ("four+away", "reader+away", "computing+four@6+away", "phases+away")],
    [Run("long", 1)],
    [Run(text, slice_seconds=4) for text in ("long+four@26", "computing+four@6", "four+twelve@4", "phases+four@6")],
    [Run("four+four@8", 2, is_sampled=True), Run("four@6+reader@12"), Run("reader+idle"), Run("long", 2)],
    [Run(text, 2) for text in ("reader+four@6", "computing+four@6", "phases+four@6", "storm+stream@4", "mixed+four@6")],
    [Run(name, 3) for name in ("reader", "storm", "loader", "phases", "computing", "four")],
    [Run("tar", 1), Run("tar+four@3"), Run("tar", 2)],
    # A minute and more.
    [Run("long+long@10"), Run("long+long@10", slice_seconds=4)],
)
# The disk's limits of reading and of writing are apart: there a reader loses nothing to a writer.
_ON_A_DISK = (
    [Run(name, 1) for name in ("four", "twelve", "reader", "computing", "phases")],
    [Run(text) for text in ("four+four@8", "four+twelve@4", "reader+four@6", "computing+four@6", "phases+four@6")],
    [Run(name, 1) for name in ("loader", "mixed", "paced", "steady")],
    [Run(text) for text in ("loader+reader@6", "mixed+four@6", "paced+steady@6", "paced+four@6")],
    [Run(name, 2) for name in ("four", "twelve", "reader", "computing", "phases")],
    [Run(name, 2) for name in ("loader", "mixed", "paced", "steady")],
    [
        Run(text)
        for text in ("reader+reader@8", "computing+four@6+twelve@12", "computing+twelve@12", "four@6+twelve@12")
    ],
    [Run(text) for text in ("four+away", "reader+away", "computing+four@6+away", "four+four@8+idle")],
    [Run("long", 1)],
    [Run(text, slice_seconds=4) for text in ("long+four@26", "computing+four@6", "four+twelve@4", "phases+four@6")],
    [Run("long", 2)],
    [Run(name, 3) for name in ("computing", "phases", "loader", "paced", "steady", "four", "reader", "mixed")],
    # A minute and more.
    [Run("long+long@10"), Run("long+long@10", slice_seconds=4)],
)
_IN_SHORT = (
    [Run(name, 1) for name in ("four", "twelve", "reader", "computing", "phases", "loader")],
    [Run(text) for text in ("four+four@8", "four+twelve@4", "reader+four@6", "computing+four@6", "phases+four@6")],
    [Run(text) for text in ("loader+four@6", "computing+four@6+reader@12", "computing+reader@12")],
    [Run(name, 2) for name in ("four", "twelve", "reader", "computing", "phases", "loader")],
    [Run(text) for text in ("four+away", "reader+away")],
    [Run(text, slice_seconds=4) for text in ("four+twelve@4", "computing+four@6")],
)
PLANS: dict[str, list[Run]] = {
    storage: [run for runs in parts for run in runs]
    for storage, parts in {
        "glusterfs": _ON_A_SERVER,
        "disk": _ON_A_DISK,
        "sshfs-sync": _IN_SHORT,
        "sshfs": _IN_SHORT,
    }.items()
}
