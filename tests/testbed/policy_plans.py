"""What pairs of jobs take turns on the testbed, and when: the plans of `testbed.policy_campaign`.

A job is launched once for each policy and works in phases. Its first one has no company: it is the phase alone, and the
coordinator learns from it what a phase of this job is like. In the others the second job begins dt after the first.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from slicewise.kinds import Metric, Policy

# What a link of LINK_MBIT carries, by what jobs alone reach (tests/golden/measured).
CAPACITY_MIB_S, LINK_MBIT = 45.5, 400
# After so long without I/O a phase is over for the coordinator: far longer than a call takes, and short beside a phase.
IDLE_SECONDS = 0.25
ONCE = "once"


@dataclass(frozen=True)
class Shape:
    """A job: its processes, and what all of them together write in a phase."""

    processes: int
    volume_mib: int


@dataclass(frozen=True)
class Turns:
    """A policy, and what it is given: the metric of `dynamic`, the seconds of `delay`."""

    policy: Policy
    metric: Metric = "cpu_seconds"

    @property
    def name(self) -> str:
        return f"{self.policy}-{self.metric}" if self.policy == "dynamic" else self.policy


@dataclass(frozen=True)
class Scenario:
    """Two jobs. offsets: seconds from the first one's beginning to the second one's, a phase each. pause: between the
    last phase of one dt and the first one of the next, so that the coordinator and both jobs know them apart.
    is_first_alone: whether the first job has a phase without company, too. server: one of `testbed.servers`.
    most_late: a phase that begins so much later than planned is in another company than it should be, and its run is
    done again.
    """

    name: str
    first: Shape
    second: Shape
    offsets: tuple[float, ...]
    delay: float
    turns: tuple[Turns, ...]
    pause: float = 2.5
    is_first_alone: bool = True
    slice_seconds: float = 0.5
    server: str = "glusterfs"
    link_mbit: int = LINK_MBIT
    transfer_kib: int = 256
    most_late: float = 0.3
    warm_up_mib: int = 6  # of a dozen files of each mount, beforehand

    @property
    def capacity(self) -> float:
        """MiB/s."""
        return CAPACITY_MIB_S * self.link_mbit / LINK_MBIT

    def seconds(self, shape: Shape) -> float:
        """What a phase takes alone, as far as a plan needs to know."""
        return shape.volume_mib / self.capacity

    def weight(self, shape: Shape) -> float:
        """What the server's shares go by: processes, or mounts (tests/golden/measured); each job has one of these."""
        return float(shape.processes) if self.server == "glusterfs" else 1.0

    def starts(self) -> tuple[list[float], list[float]]:
        """When the phases of both begin, if nothing holds them up (s)."""
        first = [0.0] if self.is_first_alone else []
        second = [round(self.seconds(self.first) + self.pause, 1) if first else 0.0]
        free = second[0] + self.seconds(self.second) + self.pause
        for offset in self.offsets:
            first.append(round(free - min(offset, 0.0), 1))
            second.append(round(first[-1] + offset, 3))
            begin, last = min(first[-1], second[-1]), max(first[-1], second[-1])
            free = (
                max(begin + self.seconds(self.first) + self.seconds(self.second), last + self.seconds(self.second))
                + self.pause
            )
        return first, second

    def once(self, offset: float) -> Scenario:
        """At one dt and without turns, with slices that are short beside the shortest phase: for the profiles."""
        turns = (Turns("interfere"),)
        name = f"{self.name}-{ONCE}"
        return replace(self, name=name, offsets=(offset,), turns=turns, is_first_alone=False, slice_seconds=0.1)


_FIXED = tuple(Turns(policy) for policy in ("interfere", "fcfs", "interrupt", "delay"))
_ALL = (*_FIXED, Turns("dynamic"), Turns("set10"))
SCENARIOS = {
    scenario.name: scenario
    for scenario in (
        Scenario("equal", Shape(4, 448), Shape(4, 448), (-8, -4, 0, 2, 4, 8), 5, _ALL),
        # By CPU seconds the large job is worth interrupting until 9.8 s after its beginning.
        Scenario(
            "large-small", Shape(8, 1088), Shape(1, 80), (-1, 2, 6, 9, 11, 16, 22), 1,
            (*_ALL, Turns("dynamic", "sum_interference")),
        ),
        # As many processes, and four times as much to write: worth interrupting until 11.6 s.
        Scenario("four-to-one", Shape(4, 704), Shape(4, 176), (2, 6, 10, 13, 15), 2, _ALL),
        # Writes that no call waits for, up to 8 MiB of them, and shares by mount.
        Scenario(
            "write-back", Shape(8, 1088), Shape(1, 80), (2, 9, 16, 22), 1,
            (Turns("interfere"), Turns("fcfs"), Turns("interrupt"), Turns("dynamic")), server="sshfs",
        ),
        # For a test of the recorder: so slow that the link is the bottleneck on any machine.
        Scenario(
            "brief", Shape(4, 24), Shape(1, 4), (0.7,), 1, (Turns("interfere"), Turns("interrupt")), 1.3, False,
            link_mbit=100, transfer_kib=64, most_late=1, warm_up_mib=1,
        ),
    )
}  # fmt: skip
RECORDED = ("equal", "large-small", "four-to-one", "write-back")
ONCE_AT = {"equal": 4, "large-small": 6, "four-to-one": 6}
SCENARIOS |= {once.name: once for name, offset in ONCE_AT.items() for once in [SCENARIOS[name].once(offset)]}
