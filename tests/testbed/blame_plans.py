"""What jobs are recorded that lose time to each other, and in what company: the plans of `testbed.blame_campaign`.

All storages move about 23 MiB/s, so that a job's volume says how long it takes alone: about a minute, and twice as long
in company.
"""

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
    the second to begin at, {loader} and {load} the programs, {fio} a job file of fio. is_mpi: whether mpirun starts the
    other program. clock: "own" waits for {start} and prints a line with its own times; the others are started then, and
    what they print says the time in calls ("fio", "ior"), or they do nothing else ("runtime"). is_elsewhere: on another
    storage than the others.
    """

    processes: int
    words: str
    prepares: str = ""
    is_load: bool = True
    is_mpi: bool = False
    clock: str = "own"
    is_elsewhere: bool = False

    @property
    def program(self) -> str:
        """What must be installed for it."""
        return "mpirun.openmpi" if self.is_load else self.words.split()[0]

    @property
    def has_clock(self) -> bool:
        """Whether it waits for its start, and prints a line with its own times."""
        return self.clock == "own"


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


_WRITE = "--transfer 256K --fsync --remove --repeats 4"
_READ = "--transfer 256K --direct --read"
_LOADER = "/usr/bin/python3 -I {loader} {file}-samples"
_FIO = "fio --directory={file}-fio"
JOBS: dict[str, Job] = {
    "four": Job(4, f"{_WRITE} --volume 320M"),
    "twelve": Job(12, f"{_WRITE} --volume 320M"),
    "reader": Job(4, f"{_READ} --volume 66M --repeats 19", "{load} --transfer 256K --volume 66M {file}"),
    "computing": Job(2, "--transfer 1M --fsync --remove --volume 128M --repeats 4 --compute 0.2"),
    "phases": Job(4, "--transfer 256K --fsync --remove --volume 16M --repeats 28 --phases --compute 1.3"),
    "storm": Job(4, "--files 3400 --transfer 64K --compute 0.01"),
    "stream": Job(1, "--transfer 64K --fsync --remove --volume 300M --repeats 4"),
    "loader": Job(
        3, f"{_LOADER} --workers 3 --epochs 10 --compute 0.05 --start-at {{start}}", f"{_LOADER} --prepare 1200",
        is_load=False,
    ),
    "mixed": Job(4, "--transfer 512K --mixed 16K --fsync --remove --volume 300M --repeats 4"),
    "paced": Job(6, f"{_WRITE} --volume 112M --rate 1300K"),
    "steady": Job(4, f"{_WRITE} --volume 148M --rate 2600K"),
    "idle": Job(1, "--transfer 64K --remove --volume 4M --rate 64K"),
    "away": Job(2, f"{_WRITE} --volume 120M --rate 4M", is_elsewhere=True),
    # Programs that nobody tuned for.
    "fio": Job(
        3, f"{_FIO} --output-format=json {{fio}}", f"sh -c 'mkdir -p {{file}}-fio && {_FIO} --create_only=1 {{fio}}'",
        is_load=False, clock="fio",
    ),
    "tar": Job(
        1, "tar -cf {file}.tar -C {file}-tree .",
        "/usr/bin/python3 -I {loader} {file}-tree --prepare 4200 --size 262144", is_load=False, clock="runtime",
    ),
    "ior": Job(
        4, "ior -a POSIX -F -w -r -C -t 512k -b 80m -i 2 --posix.odirect -e -o {file}", is_load=False, is_mpi=True,
        clock="ior",
    ),
    "brief": Job(2, "--transfer 64K --remove --volume 2M --rate 1M"),  # for a test of the recorder
}  # fmt: skip


def _runs(*names: str, repeat: int = 1, slice_seconds: float = 1) -> list[Run]:
    return [Run(name, repeat, slice_seconds) for name in names]


# Most wanted first: what there was no time for is what stands last. A server's plan has two parts, which may be
# recorded at the same time on a testbed each.
_ON_A_SERVER = (
    (
        _runs("four", "four+four@20", "reader", "reader+four@20", "computing", "computing+four@20"),
        _runs("phases", "phases+four@20", "loader", "loader+four@20"),
        _runs("four", "reader", "computing", "phases", "loader", repeat=2),
        _runs("four", "computing", "computing+four@20", "four+four@20", slice_seconds=4),
        # Of three, two hurt; and what they do without each of them.
        _runs("computing+four@20+reader@35", "computing+reader@35", "four@20+reader@35"),
        _runs("four+away", "reader+away", "reader+idle"),
        _runs("phases+four@20", repeat=2),
        _runs("four", "computing", "reader", repeat=3),
        _runs("reader+four@20", "computing+four@20", "loader+four@20", repeat=2),
    ),
    (
        _runs("twelve", "four+twelve@15", "fio", "fio+four@20", "mixed", "mixed+four@20"),
        _runs("storm", "stream", "storm+stream@15", "paced", "steady", "paced+steady@20"),
        _runs("ior", "ior+four@20", "tar", "tar+four@15"),
        _runs("storm", "stream", "twelve", "mixed", "fio", "ior", "tar", "paced", "steady", repeat=2),
        [Run("four+four@20", 2, is_sampled=True)],
        _runs("twelve", "four+twelve@15", slice_seconds=4),
        _runs("storm+four@15", "paced+four@20"),
    ),
)
# The disk's limits of reading and of writing are apart: there a reader loses nothing to a writer.
_ON_A_DISK = (
    (
        _runs("four", "four+four@20", "reader", "reader+four@20", "computing", "computing+four@20"),
        _runs("twelve", "four+twelve@15", "fio", "fio+four@20", "phases", "phases+four@20"),
        _runs("four", "twelve", "reader", "computing", "fio", "phases", repeat=2),
        _runs("four", "computing", "computing+four@20", "four+twelve@15", slice_seconds=4),
        _runs("loader", "loader+reader@15", "mixed", "mixed+four@20"),
        _runs("computing+four@20+twelve@30", "computing+twelve@30", "four@20+twelve@30"),
        _runs("loader", "mixed", repeat=2),
        _runs("four+away", "paced", "steady", "paced+steady@20", "reader+reader@20"),
        _runs("four", "computing", "reader", repeat=3),
    ),
)
_IN_SHORT = (
    (
        _runs("four", "four+four@20", "reader", "reader+four@20", "computing", "computing+four@20"),
        _runs("twelve", "four+twelve@15", "loader", "loader+four@20"),
        _runs("four", "reader", "computing", "twelve", "loader", repeat=2),
        _runs("four", "computing", "computing+four@20", "four+twelve@15", slice_seconds=4),
        _runs("phases", "phases+four@20", "fio", "fio+four@20"),
        _runs("computing+four@20+reader@35", "computing+reader@35", "four@20+reader@35"),
        _runs("four+away", "reader+away"),
        _runs("phases", "fio", repeat=2),
        _runs("four", "computing", "reader", repeat=3),
    ),
)
_PARTS = {"glusterfs": _ON_A_SERVER, "disk": _ON_A_DISK, "sshfs-sync": _IN_SHORT, "sshfs": _IN_SHORT}
# The runs of each storage, by the parts of its plan.
PLANS: dict[str, list[list[Run]]] = {
    storage: [[run for runs in part for run in runs] for part in parts] for storage, parts in _PARTS.items()
}
