"""Sampled texts of Lustre's servers: job_stats of 2.5 to 2.17, and exports by client, as lctl and cat print them. A
text may be cut, doubled, interleaved or hostile: what is not whole is left out and counted. Each line is looked at
once, and an entry that has not changed is not parsed again.
"""

from __future__ import annotations

import re
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from slicewise.constants import SECOND_NS
from slicewise.imports.served_counts import MOST, OF_METADATA, OPERATIONS, Readings, stamp_ns

# `obdfilter.lus-OST0000.job_stats=`, also in front of each line (lctl -H) or with a colon (-y); paths of cat and head.
HEAD = re.compile(
    rb"^\s*(?:==>\s*)?(?:\S*/)?(?:obdfilter|mdt|mds)[./](?P<target>[^=\s/]+?)[./]"
    rb"(?:job_stats|exports[./](?P<client>[^=\s/]+)[./](?:stats|nid_stats))(?:\s*<==)?\s*[=:]?(?P<rest>.*)$", re.DOTALL
)  # fmt: skip
JOB = re.compile(rb"^\s*-?\s*job_id:\s*(?P<job>.*?)\s*$", re.DOTALL)
TIME = re.compile(rb"^\s*(snapshot_time|start_time):?\s+(\d{1,20})(?:\.(\d+))?", re.MULTILINE)
KIND = re.compile(rb"^\s*(\w+):\s*\{\s*samples:\s*(\d{1,30})\s*(?:,\s*unit:\s*(\w+)\s*)?([^\n]*?)\}\s*$", re.MULTILINE)
SUM = re.compile(rb"\bsum:\s*(\d{1,30})(?![\w.])")
OF_CLIENT = re.compile(
    rb"^\s*(\w+)\s+(\d{1,30})\s+samples\s+\[(\w+)\](?:\s+(\d+)\s+(\d+)\s+(\d{1,30}))?[ \t\d]*$", re.MULTILINE
)
ESCAPE = re.compile(rb"\\x([0-9a-fA-F]{2})")
STARTS = (b"job_stats:", b"job_stats")
NO_KIND = (b"-", b"obdfilter", b"mdt")
LONGEST_LINE, LONGEST_HEAD = 1 << 16, 1 << 10
# The latest version has 28 kinds of counts on a metadata target.
MOST_KINDS = 256
# Clocks without a certain zone are off by so many whole quarters of an hour.
QUARTER_NS = 900 * SECOND_NS
DIGITS = frozenset(b"0123456789")
# What a shell on many servers (pdsh, clush, parallel --tag) puts before each line, where job_stats follow.
OF_HOST = re.compile(
    rb"^(?!job_id|\S*stats:)[\w.-]+(?:: |\t)(?=\s*- job_id:|job_stats:|(?:==>\s*)?(?:\S*/)?(?:obdfilter|mdt|mds)[./])",
    re.MULTILINE,
)
BY_HOST = re.compile(rb"^([\w.-]+)(?:: |\t)(.*)$", re.DOTALL)
CUT_STAMP = re.compile(rb"(\d{10}\.\d{3,9})\s*$")


@dataclass
class _TargetJob:
    """What is known of a job of a target: the text it had, the place of its last reading, and when it was last seen."""

    text: int
    place: int
    seen_ns: int


@dataclass
class _Target:
    number: int
    is_metadata: bool = False
    kinds: int = 0
    latest_ns: int = 0
    jobs: dict[bytes, _TargetJob] = field(default_factory=dict)


@dataclass
class _Entry:
    target: _Target
    name: bytes
    is_client: bool
    lines: list[bytes] = field(default_factory=list)
    is_cut: bool = False


def read_texts(head: bytes, lines: Iterable[bytes]) -> list[Readings]:
    """What a log says; of many servers' lines, each with its server before it, what each says."""
    if OF_HOST.search(head) is None:
        return [Texts().read(lines)]
    hosts: dict[bytes, Texts] = {}
    common = b""
    for line in lines:
        found = BY_HOST.match(line)
        if found is None:  # of the shell itself: the time, for all
            common = line if stamp_ns(line.decode("utf-8", "replace").strip()) else common
            for one in hosts.values():
                one.take(line)
            continue
        if found[1] not in hosts:
            hosts[found[1]] = Texts(found[1] + b":")
            hosts[found[1]].take(common)
        hosts[found[1]].take(found[2])
    return [one.end() for one in hosts.values()]


class Texts:
    """The readings of one log, of one server (host) if targets have no names."""

    def __init__(self, host: bytes = b"") -> None:
        self.made = Readings()
        self._host = host
        self._targets: dict[tuple[bytes, bool], _Target] = {}
        self._job_numbers: dict[str, int] = {}
        self._time_ns = 0
        self._is_stamped, self._is_sure = False, True
        self._held: list[_Entry] = []
        self._entry: _Entry | None = None
        self._target: _Target | None = None
        self._met: set[int] = set()
        self._asked: set[tuple[int, bytes | None]] = set()
        self._unnamed = 0
        self._numbers_of_unnamed: dict[int, int] = {}
        self._is_repeated_head = self._is_in_front = False
        # Of samples whose clock's zone is not certain: how long before them a change was, at least.
        self._apart_ns: int | None = None

    def read(self, lines: Iterable[bytes]) -> Readings:
        for line in lines:
            self.take(line)
        return self.end()

    def take(self, line: bytes) -> None:
        entry = self._entry
        if entry is not None and (b"samples" in line or b"_time" in line) and not line.lstrip().startswith(NO_KIND):
            self._kind(entry, line)
        else:
            self._line(line)

    def end(self) -> Readings:
        self._end_sample()
        usual = max(Counter(self._numbers_of_unnamed.values()).items(), key=lambda one: one[::-1], default=(0, 0))[0]
        self.made.mixed.extend(time for time, number in self._numbers_of_unnamed.items() if number != usual)
        self.made.damaged += len(self.made.mixed)
        self._shift()
        return self.made

    def _kind(self, entry: _Entry, line: bytes) -> None:
        """A line of an entry. One that is not whole may have a time behind it: a log that went on after a full disk."""
        if line.startswith(b"snapshot_time:") and entry.lines and not entry.is_client:  # somebody's own, of the sample
            self._line(line)
            return
        entry.lines.append(line)
        end = line.rstrip()[-1:]
        is_whole = end == b"}" if b"{" in line else line.endswith(b"\n")
        if is_whole and len(entry.lines) <= MOST_KINDS:
            return
        entry.is_cut = True
        del entry.lines[MOST_KINDS:]
        if end.isdigit() and (found := CUT_STAMP.search(line)) is not None:
            stamp = stamp_ns(found[1].decode())
            if stamp is not None:
                self._stamp(*stamp)

    def _line(self, line: bytes) -> None:
        text = line.strip()
        if not text:
            return
        if text.startswith((b"-", b"job_id:")) and (found := JOB.match(text)) is not None:
            self._begin(found["job"])
        elif len(text) <= LONGEST_HEAD and (found := HEAD.match(text)) is not None:
            self._head(found, line)
        elif text.startswith(STARTS):
            self.made.is_any = True
            self._end_entry()
            if not self._is_repeated_head:
                self._unnamed_target()
            self._is_repeated_head = False
        else:
            stamp = stamp_ns(text.decode("utf-8", "replace")) if not DIGITS.isdisjoint(text[:40]) else None
            if stamp is not None:
                self._stamp(*stamp)
            elif text.endswith(b"="):  # another parameter
                self._end_entry()

    def _stamp(self, time_ns: int, is_sure: bool) -> None:
        self._end_sample()
        self._time_ns, self._is_stamped, self._is_sure = time_ns, True, is_sure

    def _head(self, found: re.Match[bytes], line: bytes) -> None:
        self.made.is_any = True
        client, rest = found["client"], found["rest"].strip()
        known = self._targets.get((found["target"], client is not None))
        is_prefix = bool(rest) and not rest.startswith(STARTS)
        is_same = known is not None and known is self._target
        is_same &= client is None or (self._entry is not None and self._entry.name == client)
        self._is_in_front &= is_same
        if is_same and (is_prefix or (self._is_in_front and not rest)):  # in front of each line, and of nothing at last
            self._is_in_front = True
            if b"job_id:" in rest and (job := JOB.match(rest)) is not None:
                self._begin(job["job"])
            elif self._entry is not None and rest:
                self._kind(self._entry, b"  " + rest + (b"\n" if line.endswith(b"\n") else b""))
            return
        self._end_entry()
        target = self._target_of(found["target"], client is not None)
        if found["target"].find(b"-MDT") >= 0 or b"mdt" in found[0][: found.start("target")]:
            target.is_metadata = True
        who = (target.number, client)
        if who in self._asked:  # another sample, and none of the time that the one before has
            self._end_sample()
        self._asked.add(who)
        self._enter(target)
        self._is_repeated_head = not rest.startswith(STARTS)
        if client is not None:
            self._is_repeated_head = False
            self._entry = _Entry(target, client, True)
            if is_prefix:
                self._entry.lines.append(b"  " + rest + b"\n")

    def _target_of(self, name: bytes, is_client: bool) -> _Target:
        key = (name, is_client)
        if key not in self._targets:
            self._targets[key] = _Target(len(self.made.targets))
            self.made.targets.append(name.decode("utf-8", "replace"))
        return self._targets[key]

    def _enter(self, target: _Target) -> None:
        self._target = target
        self._met.add(target.number)

    def _unnamed_target(self) -> None:
        self._enter(self._target_of(b"#%s%d" % (self._host, self._unnamed), False))
        self._unnamed += 1

    def _begin(self, name: bytes) -> None:
        self._end_entry(has_next=True)
        self.made.is_any = True
        if self._target is None:
            self._unnamed_target()
        if self._target is not None and name:
            self._entry = _Entry(self._target, name, False)
        else:
            self.made.damaged += 1

    def _end_entry(self, has_next: bool = False) -> None:
        """An entry behind which another one comes is whole; the last one of a target has as many kinds as others."""
        entry, self._entry = self._entry, None
        if entry is None:
            return
        if not entry.is_client:
            kinds = len(entry.lines)
            if has_next and not entry.is_cut:
                entry.target.kinds = kinds
            elif kinds < entry.target.kinds:
                entry.is_cut = True
            elif not entry.target.kinds:
                entry.target.kinds = kinds
        if entry.is_cut:
            self.made.damaged += 1
            self._met.discard(entry.target.number)
        elif self._is_stamped:
            self._take(entry)
        else:
            self._held.append(entry)

    def _end_sample(self) -> None:
        """What was held until the sample's time is known is taken: without one, that of its last change."""
        self._end_entry()
        if self._held:
            self._time_ns = max(_times(b"".join(entry.lines))[0] for entry in self._held)
            for entry in self._held:
                self._take(entry)
            if self._unnamed > 1:  # several targets, or several samples of one?
                began = Counter((entry.name, _times(b"".join(entry.lines))[1]) for entry in self._held)
                self.made.is_mixed |= any(count > 1 and start for (_, start), count in began.items())
        if self._time_ns and self._unnamed:
            self._numbers_of_unnamed[self._time_ns] = self._unnamed
        time, target = self.made.looks[1], self.made.looks[0]
        if self._time_ns:
            for number in self._met:
                target.append(number)
                time.append(self._time_ns)
        self._held, self._met, self._asked, self._unnamed, self._target = [], set(), set(), 0, None
        self._time_ns, self._is_stamped = 0, False

    def _take(self, entry: _Entry) -> None:
        text = b"".join(entry.lines)
        if entry.is_client:  # its snapshot is the time of looking
            text = b"\n".join(line for line in text.split(b"\n") if b"snapshot_time" not in line)
        target, time_ns = entry.target, self._time_ns
        if not time_ns:
            return
        known, digest = target.jobs.get(entry.name), hash(text)
        if known is not None and known.text == digest and time_ns >= target.latest_ns:
            known.seen_ns = time_ns
            target.latest_ns = time_ns
            return
        changed_ns, start_ns = _times(text)
        counts = _of_client(text, target) if entry.is_client else _of_job(text, target)
        if counts is None:
            self.made.damaged += 1
            return
        columns = self.made.columns
        if known is None:
            place = self._job_number(entry.name, has_start=start_ns > 0)
        else:
            place = columns[1][known.place]
            if columns[3][known.place] < known.seen_ns < time_ns:  # until then it had what it had
                last = [column[known.place] for column in columns]
                last[3] = known.seen_ns
                self._add(last)
        if not self._is_sure and known is not None and changed_ns:
            apart_ns = time_ns - changed_ns
            self._apart_ns = apart_ns if self._apart_ns is None else min(apart_ns, self._apart_ns)
        self._add([target.number, place, int(entry.is_client), time_ns, changed_ns, start_ns, *counts])
        at = len(columns[0]) - 1
        if known is None:
            target.jobs[entry.name] = _TargetJob(digest, at, time_ns)
        else:
            known.text, known.place, known.seen_ns = digest, at, time_ns
        target.latest_ns = max(target.latest_ns, time_ns)

    def _add(self, row: list[int]) -> None:
        for column, value in zip(self.made.columns, row, strict=True):
            column.append(value)

    def _job_number(self, raw: bytes, has_start: bool) -> int:
        name = job_name(raw, has_start)
        if name not in self._job_numbers:
            self._job_numbers[name] = len(self.made.jobs)
            self.made.jobs.append(name)
        return self._job_numbers[name]

    def _shift(self) -> None:
        """Clocks whose zone nobody knows are right by the servers' own: a change lies just before its reading."""
        off_ns = round((self._apart_ns or 0) / QUARTER_NS) * QUARTER_NS
        if not off_ns:
            return
        for times in (self.made.columns[3], self.made.looks[1], self.made.mixed):
            times[:] = array("q", (time - off_ns for time in times))


def _times(text: bytes) -> tuple[int, int]:
    """When an entry changed last, and when it began; 0: it does not say."""
    found = {name: min(int(whole) * SECOND_NS + int((part or b"0")[:9].ljust(9, b"0")), (1 << 62) - 1)
             for name, whole, part in TIME.findall(text)}  # fmt: skip
    return found.get(b"snapshot_time", 0), found.get(b"start_time", 0)


def _of_job(text: bytes, target: _Target) -> list[int] | None:
    """An entry's counts in the order of COUNTS; None: numbers that no server has."""
    moved = {b"read": [0, 0, 0], b"write": [0, 0, 0]}  # bytes, operations, µs
    operations, is_metadata = 0, target.is_metadata
    kinds = KIND.findall(text)
    if len(kinds) != text.count(b"samples:"):
        return None
    for kind, samples, unit, rest in kinds:
        count, total = int(samples), SUM.search(rest)
        if total is None and b"sum:" in rest:
            return None
        amount = int(total[1]) if total is not None else 0
        way = kind[:-6] if kind.endswith(b"_bytes") else kind
        if way in moved:
            # Of 2.5 `read` has bytes; later ones have `read_bytes`, on metadata targets of 2.12 in `reqs`.
            if way is not kind or unit == b"bytes":
                moved[way][0], moved[way][1] = amount, max(count, moved[way][1])
            else:
                moved[way][1], moved[way][2] = max(count, moved[way][1]), amount if unit == b"usecs" else 0
            continue
        name = kind.decode("ascii", "replace")
        is_metadata |= name in OF_METADATA
        operations += count if name in OPERATIONS else 0
    return _counts(moved, operations if is_metadata else 0)


def _of_client(text: bytes, target: _Target) -> list[int] | None:
    moved = {b"read": [0, 0, 0], b"write": [0, 0, 0]}
    operations = 0
    for kind, samples, unit, _, _, total in OF_CLIENT.findall(text):
        way = kind[:-6] if kind.endswith(b"_bytes") else kind
        if way in moved:
            amount = int(total or 0)
            if unit == b"bytes" or way is not kind:
                moved[way][0], moved[way][1] = amount, int(samples)
            elif unit in (b"usec", b"usecs"):
                moved[way][2] = amount
        elif (name := kind.decode("ascii", "replace")) in OPERATIONS:
            operations += int(samples)
            target.is_metadata |= name in OF_METADATA
    return _counts(moved, operations if target.is_metadata else 0)


def _counts(moved: dict[bytes, list[int]], operations: int) -> list[int] | None:
    read, write = moved[b"read"], moved[b"write"]
    counts = [read[0], write[0], read[1], write[1], operations, min((read[2] + write[2]) * 1000, MOST)]
    return counts if max(counts) <= MOST else None


def job_name(raw: bytes, is_escaped: bool = True) -> str:
    """A job's name as its user gave it: since 2.15 what is no letter is written as \\xHH, byte by byte, in quotes."""
    if len(raw) > 1 and raw[0] == raw[-1] and raw[:1] in (b'"', b"'"):
        raw = raw[1:-1]
    return ESCAPE.sub(lambda found: bytes([int(found[1], 16)]), raw).decode("utf-8", "replace")


def lines_of(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """Lines with their ends, none longer than LONGEST_LINE: the rest of such a one is a line of its own."""
    rest = b""
    for chunk in chunks:
        *whole, rest = (rest + chunk).split(b"\n")
        for line in whole:
            yield line + b"\n"
        while len(rest) > LONGEST_LINE:
            yield rest[:LONGEST_LINE]
            rest = rest[LONGEST_LINE:]
    if rest:
        yield rest
