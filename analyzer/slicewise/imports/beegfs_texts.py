"""What `beegfs-ctl --clientstats --interval=N` of BeeGFS 7 prints: counts since the batch before, by client, in six
digits, a time before each line. Its first batch is of all time.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

import polars as pl

from slicewise.errors import UserError
from slicewise.imports.served_counts import MOST, SERVED_SCHEMA, stamp_ns
from slicewise.imports.served_tables import FileCounts
from slicewise.profile.servers import COUNTS

BATCH = re.compile(rb"^(?P<stamp>[^\n=]{0,100})={6} (?P<at>\d{1,10}) s ={6}[ \t\r]*$", re.MULTILINE)
ROW = re.compile(
    rb"^(?:\S.{0,99}?\s)?(?P<client>\d{1,3}(?:\.\d{1,3}){3})\s+(?P<counts>-?[\d.]\S* \[.*\])\s*$", re.DOTALL
)
# Counts of users (--userstats), and of hosts by name (--names), which look alike.
OTHER_ROW = re.compile(rb"^(?:\S.{0,99}?\s)?(?P<name>[\w.-]+)\s+-?[\d.]\S* \[sum\]", re.DOTALL)
COUNT = re.compile(rb"(?<![\d.])(-?\d{1,30}(?:\.\d{1,30})?(?:e[+-]?\d{1,3})?) \[(Mi)?([\w-]+)(/s)?\]")
SUM, NO_ADDRESS = b"Sum:", "counts no addresses of clients; give what beegfs-ctl --clientstats says without --names"
BYTES = {b"B-rd": "read_bytes", b"B-wr": "write_bytes"}
REQUESTS = {b"ops-rd": "read_ops", b"ops-wr": "write_ops"}
# What clients and servers tell each other, and what `df` asks.
NO_OPERATIONS = frozenset({b"sum", b"ack", b"sChDrct", b"hrtbeat", b"mdsInf", b"statfs"})
# Of data servers alone.
OF_STORAGE = frozenset({*BYTES, *REQUESTS, b"fsync", b"getFSize", b"storInf"})
STORAGE, META = "beegfs/storage", "beegfs/meta"


def read_beegfs(path: Path, lines: Iterable[bytes]) -> FileCounts:
    """What clients did between two batches. Raises UserError where a batch has no time, or no client an address."""
    rows: list[dict[str, object]] = []
    damaged, seconds, is_storage, is_other = 0, 0, False, False
    before_ns = now_ns = at = 0
    for line in lines:
        if (batch := BATCH.match(line)) is not None:
            stamp = stamp_ns(batch["stamp"].decode("utf-8", "replace"))
            if stamp is None:
                raise UserError(f"{path}: has no times; put one before each line: beegfs-ctl ... | ts %.s")
            before_ns, now_ns = (now_ns, stamp[0]) if int(batch["at"]) else (0, stamp[0])
            seconds, at = int(batch["at"]) - at, int(batch["at"])
        elif (row := ROW.match(line)) is not None:
            if not 0 < before_ns < now_ns:
                continue
            counts, named = _counts(row["counts"], seconds)
            is_storage |= not OF_STORAGE.isdisjoint(named)
            if counts is None:
                damaged += 1
            else:
                rows.append({"job": row["client"].decode(), "begin_ns": before_ns, "end_ns": now_ns, **counts})
        elif (other := OTHER_ROW.match(line)) is not None:
            is_other |= other["name"] + b":" != SUM and SUM not in line
    if is_other:
        raise UserError(f"{path}: {NO_ADDRESS}")
    full = pl.DataFrame(rows, SERVED_SCHEMA).with_columns(
        target=pl.lit(STORAGE if is_storage else META),
        meta_ops=pl.lit(0, pl.Int64) if is_storage else pl.col("meta_ops"),  # there they are the metadata servers' own
        busy_ns=pl.lit(0, pl.Int64),
        is_client=pl.lit(True),
    )
    return FileCounts(rows=full.filter(pl.any_horizontal(pl.col(COUNTS) > 0)), damaged=damaged)


def _counts(text: bytes, seconds: int) -> tuple[dict[str, int] | None, set[bytes]]:
    """The counts of a line, and their names. None: a server was away, so that some are no counts of an interval."""
    counts = dict.fromkeys((*BYTES.values(), *REQUESTS.values(), "meta_ops"), 0.0)
    named = set()
    for value, is_mib, name, is_rate in COUNT.findall(text):
        named.add(name)
        amount = float(value) * (1 << 20 if is_mib else 1) * (seconds if is_rate else 1)
        if not 0 <= amount <= MOST:
            return None, named
        if name in BYTES or name in REQUESTS:
            counts[(BYTES | REQUESTS)[name]] += amount
        elif name not in NO_OPERATIONS:
            counts["meta_ops"] += amount
    return {name: round(amount) for name, amount in counts.items()}, named
