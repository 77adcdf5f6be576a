"""What is recorded as users meet it: TCP and clients as they come, a queue that drops, jobs of half a minute and more.

`PLANS` has the arguments of `testbed.campaign` by the name of the recording, which may be made in several sessions
(--first, --folder).
"""

from dataclasses import dataclass

from slicewise.analysis.runs.campaign import CampaignDirection

REPEATS = 3


@dataclass(frozen=True)
class Usual:
    """A recording. what: is not kind about it; sessions: of its runs, short ones; is_held_out: made after the laws and
    their intervals were fixed, which nobody has changed since because of it.
    """

    what: str
    server: str
    sessions: tuple[str, ...]
    volume_mib: int
    options: tuple[str, ...]
    link: str = "100mbit"
    slice_seconds: float = 1
    is_held_out: bool = False

    @property
    def direction(self) -> CampaignDirection:
        """What the model of sharing looks at: reads, where there are any."""
        return "read" if any("--read" in option for option in self.options) else "write"

    @property
    def runs(self) -> str:
        """All of them, in the order of the sessions."""
        return " ".join(self.sessions)

    def arguments(self, runs: str) -> list[str]:
        """Of `testbed.campaign`, without where."""
        given = [
            "--server", self.server, "--network", "usual", "--link", self.link, "--slice", f"{self.slice_seconds:g}",
        ]  # fmt: skip
        return [*given, "--volume", str(self.volume_mib), "--runs", runs, *self.options]


_NODES = ("2 4/2 6/3 2+6/3", "4/2+6/3 2+4/2+6/3", "2+4/2+4/2+6/3 2+6/3+4@10!")
_READERS = (
    "2~reads 6/3~reads 4/2~writes",
    "2~reads+6/3~reads 2~reads+4/2~writes",
    "6/3~reads+4/2~writes 2~reads+6/3~reads+4/2~writes",
    "4/2~reads 4/2~reads+6/3~reads 2~reads+4/2~reads",
)
_LARGE = ("1 31/4 8", "1+31/4", "8+31/4", "1+8 1+8+31/4")
_ON_A_DISK = (
    "2~writes 6/3~writes 4/2~reads",
    "2~writes+6/3~writes 2~writes+4/2~reads",
    "6/3~writes+4/2~reads 2~writes+6/3~writes+4/2~reads",
)
_KINDS = ("--kind=reads=--read", "--kind=writes=")
_CALLS = "--load=--fsync --transfer 256K"
PLANS: dict[str, Usual] = {
    "usual-nodes": Usual(
        "two to four jobs on one to three nodes each; once beside a job that nobody profiled",
        "glusterfs-usual", _NODES, 256, (_CALLS,),
    ),
    "usual-shared": Usual(
        "two to four jobs on one to three nodes each, a file a job; once beside a job that nobody profiled",
        "sshfs", _NODES, 256, (f"{_CALLS} --shared",),
    ),
    "usual-seeks": Usual(
        "a file a job, on a device that is slower with each further node that is at it",
        "sshfs-seeks",
        ("1 2/2 3/3 1+2/2", "1+3/3 2/2+3/3 2/2+2/2", "1+2/2+3/3"), 192, (f"{_CALLS} --shared",), "1gbit",
    ),
    "usual-sizes": Usual(
        "calls of 4 KiB, 64 KiB and 4 MiB beside each other",
        "glusterfs-usual",
        (
            "4~small 4~medium 4~large 4~small+4~large",
            "4~small+4~medium 4~medium+4~large",
            "4~small+4~medium+4~large 4~small+4~large@10",
        ),
        256,
        ("--load=--fsync", "--kind=small=--transfer 4K", "--kind=medium=--transfer 64K", "--kind=large=--transfer 4M"),
    ),
    "usual-checkpoints": Usual(
        "checkpoints of 64 MiB every 20 s, of 45 MiB every 11 s, and a job that writes all the time",
        "sshfs",
        (
            "4~slow 4~fast 4~steady",
            "4~slow+4~steady 4~fast+4~steady",
            "4~slow+4~fast 4~slow+4~fast+4~steady",
        ),
        384,
        (
            "--load=--fsync --transfer 256K",
            "--kind=slow=--volume 64M --phases --compute 14 --repeats 3",
            "--kind=fast=--volume 45M --phases --compute 7 --repeats 5",
            "--kind=steady=",
        ),
        slice_seconds=4,
    ),
    "usual-servers": Usual(
        "one or two processes beside 6 and 12 on three nodes; two servers, each file on one of them", "glusterfs-usual",
        ("1 2 12/3 1+12/3", "6/3 2+12/3 1+6/3", "1+2+12/3 2+6/3"), 192, (_CALLS, "--servers", "2"), "60mbit",
    ),
    "usual-reads": Usual(
        "readers beside readers and beside a writer, each a minute alone",
        "glusterfs-usual", _READERS, 704, (_CALLS, *_KINDS), slice_seconds=4, is_held_out=True,
    ),
    "usual-large": Usual(
        "one process beside 8 and beside 31 on four nodes, each job a minute alone",
        "glusterfs-usual", _LARGE, 704, (_CALLS,), slice_seconds=4, is_held_out=True,
    ),
    "usual-disk": Usual(
        "writers and a reader, each a minute alone, on a server whose disk is slower than its link",
        "glusterfs-disk", _ON_A_DISK, 704, (_CALLS, *_KINDS), "1gbit", slice_seconds=4, is_held_out=True,
    ),
    "usual-synced": Usual(
        "the same, but the server answers a write when the disk has it",
        "glusterfs-disk-sync", _ON_A_DISK, 704, (_CALLS, *_KINDS), "1gbit", slice_seconds=4, is_held_out=True,
    ),
}  # fmt: skip
