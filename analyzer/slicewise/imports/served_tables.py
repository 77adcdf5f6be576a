"""What monitoring has kept of servers' counts by job: tables, Prometheus' answers, mmpmon's text."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from slicewise.constants import SECOND_NS
from slicewise.errors import UserError
from slicewise.imports.served_counts import MOST, OF_METADATA, OPERATIONS, READING_SCHEMA, SERVED_SCHEMA, stamp_ns
from slicewise.profile.servers import COUNTS

AMOUNTS = ("read_bytes", "write_bytes", "meta_ops", "read_ops", "write_ops")
# What others call a column, most certain first, in small letters and without the prefixes of Telegraf.
JOBS = ("jobid", "job_id", "job")
CLIENTS = ("client", "nid", "node")
TARGETS = ("target", "ost", "mdt", "name_1", "name", "device", "filesystem", "fs_name", "fs")
TIMES = ("time", "timestamp", "_time", "time_msec", "datetime", "date")
# Names of cumulative counts, by what they count; those of metadata add up.
OF_COUNT = {
    "read_bytes": (
        ["read_bytes_sum", "jobstats_read_bytes", "read_bytes_total", "lustre_job_read_bytes_total", "read_bytes"]
    ),
    "write_bytes": (
        ["write_bytes_sum", "jobstats_write_bytes", "write_bytes_total", "lustre_job_write_bytes_total", "write_bytes"]
    ),
    "read_ops": ["jobstats_read_calls", "lustre_job_read_samples_total", "read_calls", "read_ops", "reads"],
    "write_ops": ["jobstats_write_calls", "lustre_job_write_samples_total", "write_calls", "write_ops", "writes"],
}
# What Telegraf and LDMS put in front of an operation of a metadata target.
BEFORE_OPERATION = re.compile(r"^(?:jobstats_|md_|mdt_)")
PREFIX = re.compile(r"^(?:tag_|field_)")
# A text may begin with "[2026-11-27 ..." or "[root@oss1 ~]# lctl ...".
JSON = re.compile(rb"\s*(?:\{|\[\s*[\[{\]])")
MMPMON = re.compile(rb"(?:^|\s)_fs_io_s_\s")
NO_SERIES = "holds no series with {}; give what a range query of lustre_job_write_bytes_total and its kin answers"
OF_GPFS = {"read_bytes": "_br_", "write_bytes": "_bw_", "read_ops": "_rdc_", "write_ops": "_wc_"}
LOOK_SCHEMA = {"target": pl.String, "time_ns": pl.Int64}


@dataclass
class FileCounts:
    """What came of a file: readings and looks, or rows that are done. damaged: rows that say what no server has."""

    readings: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=READING_SCHEMA))
    rows: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=SERVED_SCHEMA))
    looks: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=LOOK_SCHEMA))
    damaged: int = 0


def is_table(head: bytes) -> bool:
    """Whether a text is a table with a line of names that we know some of."""
    line = head.split(b"\n", 1)[0].decode("utf-8-sig", "replace")
    names = {_plain(name) for name in re.split(r"[,;\t]", line)}
    return bool(names & {*JOBS, *CLIENTS}) or len(names & {*TIMES, "begin", "end"}) > 0 < line.count(",")


def _plain(name: str) -> str:
    return PREFIX.sub("", name.strip().lstrip("#").strip('"').strip().lower())


def csv_table(path: Path, text: bytes, what: str, separators: str = ",;\t") -> pl.DataFrame:
    """A table, all of it text, separated as its first line says. what: it has. Raises UserError where it is none."""
    head = text.split(b"\n", 1)[0].decode("utf-8", "replace")
    try:
        return pl.read_csv(
            text, infer_schema=False, separator=max(separators, key=head.count), encoding="utf8-lossy",
            truncate_ragged_lines=True,
        )  # fmt: skip
    except pl.exceptions.PolarsError as error:
        raise UserError(f"{path}: is no table of {what} ({_first_line(error)})") from None


def read_table(path: Path, text: bytes) -> FileCounts:
    """A table by its first line: begin, end, job and counts between; else time, job and counts until then, as
    Telegraf, LDMS and Prometheus write them. Raises UserError where neither is there.
    """
    table = csv_table(path, text.lstrip(b"\xef\xbb\xbf\r\n "), "counts")
    names = {_plain(name): name for name in reversed(table.columns)}
    if "begin" in names or "end" in names or not set(TIMES) & set(names):
        return _of_spans(path, table, names)
    return _of_counters(path, table, names)


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or ["unreadable"])[0]


def _of_spans(path: Path, table: pl.DataFrame, names: Mapping[str, str]) -> FileCounts:
    """begin, end (UNIX time, s), job or client, and any of target and AMOUNTS."""
    who = _first(names, (*JOBS, *CLIENTS))
    missing = [name for name in ("begin", "end") if name not in names] or ([] if who else ["job"])
    if missing:
        raise UserError(f"{path}: has no column {missing[0]}; its first line must name begin, end and job")
    target = _first(names, TARGETS)
    try:
        rows = table.select(
            target=pl.col(target).fill_null("") if target else pl.lit(""),
            job=pl.col(who).fill_null(""),
            begin_ns=_seconds(names["begin"]),
            end_ns=_seconds(names["end"]),
            **{name: _count(names[name]) if name in names else pl.lit(0, pl.Int64) for name in AMOUNTS},
            busy_ns=pl.lit(0, pl.Int64),
            is_client=pl.lit(not _first(names, JOBS)),
        ).select(pl.col(name).cast(dtype) for name, dtype in SERVED_SCHEMA.items())
    except pl.exceptions.PolarsError as error:
        raise UserError(f"{path}: is no table of counts ({_first_line(error)})") from None
    sound = rows.filter(
        pl.col("end_ns") > pl.col("begin_ns"),
        pl.col("begin_ns") >= 0,
        pl.all_horizontal(pl.col(AMOUNTS).is_between(0, MOST)),
        pl.col("job") != "",
    )
    return FileCounts(rows=sound, damaged=rows.height - sound.height)


def _of_counters(path: Path, table: pl.DataFrame, names: Mapping[str, str]) -> FileCounts:
    """A time, a job or client, and counts until then in columns; or a metric's name and its value."""
    who, time = _first(names, (*JOBS, *CLIENTS)), _first(names, TIMES)
    metric, value = _first(names, ("metric", "__name__", "measurement", "_field")), _first(names, ("value", "_value"))
    if not who or not time:
        raise UserError(f"{path}: has no column job; its first line must name a time, jobid and counts")
    target = _first(names, TARGETS)
    whole = [_time(text) for text in table[time].to_list()]
    if "time_usec" in names:  # of LDMS, those of the second, or of the millisecond
        unit = SECOND_NS // 1000 if time == names.get("time_msec") else SECOND_NS
        micros = table[names["time_usec"]].to_list()
        whole = [
            one and one // unit * unit + min(_whole(more or "") or 0, 10**6) * 1000
            for one, more in zip(whole, micros, strict=True)
        ]
    keys = pl.DataFrame(
        {
            "target": table[target].fill_null("") if target else [""] * table.height,
            "job": table[who].fill_null(""),
            "time_ns": pl.Series(whole, dtype=pl.Int64),
        }
    )
    if metric and value:
        operations = table[names["operation"]] if "operation" in names else pl.Series([""] * table.height)
        long = keys.with_columns(metric=table[metric], operation=operations.fill_null(""), value=table[value])
        return _of_series(path, long)
    columns = {name: next((names[one] for one in known if one in names), None) for name, known in OF_COUNT.items()}
    of_metadata = [
        names[name] for name in names if BEFORE_OPERATION.sub("", name).removesuffix(".samples") in OPERATIONS
    ]
    is_of_metadata = any(BEFORE_OPERATION.sub("", name) in OF_METADATA for name in names)
    if not any(columns.values()) and not is_of_metadata:
        raise UserError(f"{path}: has no column with counts; docs/imports.md has the names that are known")
    try:
        counts = table.select(
            **{name: _count(column, None) if column else pl.lit(None, pl.Int64) for name, column in columns.items()},
            meta_ops=_operations(of_metadata, names) if is_of_metadata else pl.lit(None, pl.Int64),
        )
    except pl.exceptions.PolarsError as error:
        raise UserError(f"{path}: is no table of counts ({_first_line(error)})") from None
    found = pl.concat([keys, counts], how="horizontal")
    is_of_telegraf = any(name.startswith("jobstats_") for name in names)
    return _of_readings(found, is_client=not _first(names, JOBS), is_dump=is_of_telegraf)


def _operations(columns: Sequence[str], names: Mapping[str, str]) -> pl.Expr:
    """The sum of metadata operations; empty in rows of data targets, which have no such columns."""
    of_target = [
        column
        for column in columns
        if _plain(column).removeprefix("jobstats_") not in ("punch", "sync", "setattr", "getattr")
    ]
    every = pl.sum_horizontal(_count(column) for column in columns)
    return pl.when(pl.all_horizontal(pl.col(column).is_null() for column in of_target)).then(None).otherwise(every)


def _first(names: Mapping[str, str], wanted: Iterable[str]) -> str:
    return next((names[name] for name in wanted if name in names), "")


def _seconds(column: str) -> pl.Expr:
    """Seconds as ns, digit by digit: a float would round them."""
    text = pl.col(column).str.strip_chars()
    whole = text.str.extract(r"^(-?\d{1,12})(?:\.\d*)?$").cast(pl.Int64)
    part = text.str.extract(r"^-?\d+\.(\d{1,9})").fill_null("0").str.pad_end(9, "0").cast(pl.Int64)
    is_number = text.is_null() | text.str.contains(r"^-?\d{1,12}(?:\.\d*)?$")
    return pl.when(is_number).then(whole * SECOND_NS + part).otherwise(text.cast(pl.Int64))


def _count(column: str, missing: int | None = 0) -> pl.Expr:
    """A whole number, also as 1.5e+09, 42i or 42u; none where the field is empty."""
    text = pl.col(column).str.strip_chars().str.replace(r"^(\d+)[iu]$", "$1")
    empty = text.is_null() | (text == "") | (text.str.to_lowercase() == "nan")
    number = pl.when(text.str.contains(r"^\d{1,18}$")).then(text).otherwise(None).cast(pl.Int64)
    other = pl.when(empty | number.is_not_null()).then(pl.lit("0")).otherwise(text).cast(pl.Float64, strict=False)
    plausible = pl.when(other.is_between(0, float(MOST))).then(other).otherwise(-1.0).round().cast(pl.Int64)
    return pl.when(empty).then(pl.lit(missing, pl.Int64)).otherwise(pl.coalesce(number, plausible))


def _time(text: str | None) -> int | None:
    stamp = stamp_ns(text) if text else None
    return stamp[0] if stamp is not None else None


def _of_readings(found: pl.DataFrame, is_client: bool = False, is_dump: bool = False) -> FileCounts:
    """found: target, job, time_ns and some of COUNTS, null where a row says nothing of it. is_dump: at each time there
    are all jobs of a target, so that a job that is new there began since the time before.
    """
    rows = found.with_columns(
        *(pl.lit(None, pl.Int64).alias(name) for name in COUNTS if name not in found.columns),
        is_client=pl.lit(is_client),
        changed_ns=pl.lit(0, pl.Int64),
        start_ns=pl.lit(0, pl.Int64),
    ).select(pl.col(name).cast(dtype) for name, dtype in READING_SCHEMA.items())
    is_odd = pl.any_horizontal(~pl.col(COUNTS).is_between(0, MOST)).fill_null(False)
    sound = rows.filter(~is_odd, pl.col("time_ns").is_not_null(), pl.col("job") != "")
    times = sound.filter(is_dump).select("target", "time_ns").unique().sort("target", "time_ns")
    # What is a second apart is of one look.
    looks = times.remove((pl.col("time_ns").diff().over("target") <= SECOND_NS).fill_null(False))
    # Several rows of one job, target and time say different counts.
    at_once = sound.group_by("target", "job", "is_client", "time_ns", maintain_order=True).agg(
        pl.col("changed_ns", "start_ns", *COUNTS).max()
    )
    return FileCounts(at_once.select(*READING_SCHEMA), looks=looks, damaged=rows.height - sound.height)


def _of_series(path: Path, long: pl.DataFrame) -> FileCounts:
    """long: target, job, time_ns, metric, operation, value (text)."""
    of_metric = {other: name for name, known in OF_COUNT.items() for other in known}
    if long.is_empty():
        return _of_readings(pl.DataFrame(schema={"target": pl.String, "job": pl.String, "time_ns": pl.Int64}))
    metric = pl.col("metric").str.to_lowercase()
    # Of data targets, what Lustre calls by the same names is for bytes' sake.
    operation = (
        pl.when(metric == "lustre_job_stats_total").then("operation").otherwise(metric.str.replace("^jobstats_", ""))
    )
    known = long.with_columns(
        count=pl.when(operation.is_in(OPERATIONS))
        .then(pl.lit("meta_ops"))
        .otherwise(metric.replace_strict(of_metric, default=None)),
        of_series=pl.concat_str("metric", "operation", separator="\0"),
        amount=_count("value", None),
    ).drop_nulls("count")
    if known.is_empty():
        raise UserError(f"{path}: {NO_SERIES.format('a known name')}")
    of_metadata = long.filter(operation.is_in(OF_METADATA))["target"].unique()
    known = known.filter(
        (pl.col("count") != "meta_ops")
        | pl.col("target").is_in(of_metadata.implode())
        | pl.col("target").str.contains("-MDT", literal=True)
    )
    # Operations are counted apart, and each may begin anew by itself; between two readings of all the last one holds.
    keys = ("target", "job", "count")
    last = known.group_by(*keys, "of_series", "time_ns", maintain_order=True).agg(pl.col("amount").max())
    sums = last.group_by(*keys, "time_ns", maintain_order=True).agg(pl.col("amount").sum())
    wide = sums.pivot(on="count", index=["target", "job", "time_ns"], values="amount", aggregate_function="max")
    return _of_readings(wide, is_dump=True)


def _together(path: Path, parts: Iterable[pl.DataFrame | None]) -> pl.DataFrame:
    """Of `_long`, all that say anything. Raises UserError where none does."""
    long = [part for part in parts if part is not None]
    if not long:
        raise UserError(f"{path}: {NO_SERIES.format('a label jobid')}")
    return pl.concat(long)


def _long(metric: str, labels: Mapping[str, str], values: Iterable[tuple[Any, Any]]) -> pl.DataFrame | None:
    job = labels.get("jobid") or labels.get("job_id")
    if not job or not isinstance(metric, str):
        return None
    pairs = [(_time(str(time)), None if value is None else str(value)) for time, value in values]
    pairs = [(time, value) for time, value in pairs if time is not None and value]
    return pl.DataFrame(
        {
            "target": str(labels.get("target") or labels.get("ost") or labels.get("mdt") or ""),
            "job": str(job),
            "time_ns": pl.Series([time for time, _ in pairs], dtype=pl.Int64),
            "metric": metric,
            "operation": str(labels.get("operation", "")),
            "value": pl.Series([value for _, value in pairs], dtype=pl.String),
        }
    )


def read_json(path: Path, text: bytes) -> FileCounts:
    """Prometheus' answer to a range query, or several in one list. Raises UserError where it is none."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UserError(
            f"{path}: is no JSON that can be read ({_first_line(error)}); give the answer of a range query"
        ) from None
    return _of_series(path, _together(path, _results(found)))


def _results(found: Any) -> Iterable[pl.DataFrame | None]:
    if isinstance(found, list):
        for one in found:
            yield from _results(one)
    elif isinstance(found, dict) and isinstance(found.get("metric"), dict):
        labels = {str(name): str(value) for name, value in found["metric"].items()}
        values = found.get("values") or ([found["value"]] if "value" in found else [])
        pairs = [tuple(pair) for pair in values if isinstance(pair, list) and len(pair) == 2]
        yield _long(labels.get("__name__", ""), labels, pairs)
    elif isinstance(found, dict):
        yield from _results(found.get("data", found.get("result", [])) if "data" in found or "result" in found else [])


def read_mmpmon(path: Path, text: bytes) -> FileCounts:
    """GPFS: what `mmpmon -p` said of fs_io_s. A node is a client, a file system the target."""
    rows: list[dict[str, Any]] = []
    for line in text.decode("utf-8", "replace").splitlines():
        if "_fs_io_s_" in line:
            words = line.split()
            fields = dict(zip(words[1::2], words[2::2], strict=False))
            operations = [_whole(fields.get(name, "")) for name in ("_oc_", "_cc_", "_dir_", "_iu_")]
            counts = {name: _whole(fields.get(other, "")) for name, other in OF_GPFS.items()}
            rows.append(
                {
                    "target": fields.get("_fs_", ""),
                    "job": fields.get("_nn_", ""),
                    "time_ns": _time(f"{fields.get('_t_', '')}.{fields.get('_tu_', '0').zfill(6)}"),
                    "meta_ops": None if None in operations else sum(one or 0 for one in operations),
                    **counts,
                }
            )
    return _of_readings(pl.DataFrame(rows), is_client=True)


def _whole(text: str) -> int | None:
    return min(int(text), MOST + 1) if text.isdecimal() and len(text) < 40 else None
