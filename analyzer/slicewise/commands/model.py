"""Models of how storage shares itself out among jobs: what they predict."""

from __future__ import annotations

import math
import re
from typing import Annotated, Literal

import typer

from slicewise.analysis.sharing import Schedule, SharingJob, share_out
from slicewise.errors import UserError
from slicewise.output import AsJson, OutputFile, write_json, write_text
from slicewise.report import words
from slicewise.report.tables import Cell, Column, Table, for_terminal

app = typer.Typer(add_completion=False, invoke_without_command=True)

Weight = Literal["processes", "nodes", "given"]
JOB_FORM = "NAME,volume=V,processes=P,nodes=N,start=S[,cap=D][,weight=W]"
JOB_KEYS = ("volume", "processes", "nodes", "start", "cap", "weight")
# What the value of --weight asks of a job.
WEIGHT_KEYS: dict[Weight, str] = {"processes": "processes", "nodes": "nodes", "given": "weight"}
PREFIXES = {prefix: 1000**power for power, prefix in enumerate(("", "k", "M", "G", "T", "P"))} | {
    f"{prefix}i": 1024 ** (power + 1) for power, prefix in enumerate(("K", "M", "G", "T", "P"))
}
UNIT = r"(?P<prefix>[kMGTP]?|[KMGTP]i)B(?P<rate>/s)?"
AMOUNT = re.compile(rf"(?P<number>[-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?)\s*(?:{UNIT})?")


@app.callback()
def _model(context: typer.Context) -> None:
    """Models of how storage shares itself out among jobs: what they predict."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@app.command()
def predict(
    capacity: Annotated[
        str, typer.Option(metavar="C", help="What the storage serves a second, as 100MiB/s, or as a plain number.")
    ],
    job: Annotated[
        list[str],
        typer.Option(
            metavar="JOB",
            help=f"{JOB_FORM}; once a job. Volume and cap (the rate that it reaches alone) have units, as 16GiB "
            "and 80MiB/s, where the capacity has, and are plain numbers where it is one. Start in seconds.",
        ),
    ],
    weight: Annotated[Weight, typer.Option(help="What a job's share goes by; given: its weight=W.")] = "processes",
    json: AsJson = False,
    output: OutputFile = None,
) -> None:
    """When jobs that share storage end: weighted max-min shares, solved anew whenever a job starts or ends."""
    rate, has_unit = _amount(capacity, "--capacity", is_rate=True)
    jobs = [_job(text, weight, has_unit) for text in job]
    names = [sharing_job.job for sharing_job in jobs]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise UserError(f"--job {twice}: is there twice; give each job a name of its own")
    try:
        schedule = share_out(rate, jobs)
    except ValueError as error:
        raise UserError(f"--capacity {capacity}: {error}") from error
    if json:
        write_json({"capacity": rate, "weight": weight, "jobs": schedule.jobs}, output)
    else:
        write_text([for_terminal(_table(jobs, schedule))], output)


def _table(jobs: list[SharingJob], schedule: Schedule) -> Table:
    table = Table(
        [
            Column("job", is_figure=False),
            *(Column(heading) for heading in ("weight", "start", "end", "together", "alone", "interference")),
        ]
    )
    for job, served in zip(jobs, schedule.jobs, strict=True):
        seconds = (job.start, served.end, served.t_co, served.t_alone)
        table.add(
            Cell(job.job),
            Cell(f"{job.weight:g}", job.weight),
            *(Cell(words.duration(value), value) for value in seconds),
            Cell(words.number(served.interference), served.interference),
        )
    return table


def _job(text: str, weight: Weight, has_unit: bool) -> SharingJob:
    """A job from the form that --job takes. Raises UserError with what is wrong and what is right."""
    name, *pairs = (part.strip() for part in text.split(","))
    option = f"--job {text}"
    if not name or "=" in name:
        raise UserError(f"{option}: has no name; the form is {JOB_FORM}")
    given: dict[str, str] = {}
    for pair in pairs:
        key, equals, value = (part.strip() for part in pair.partition("="))
        if not equals or key not in JOB_KEYS:
            raise UserError(f"{option}: {pair!r} is not understood; the form is {JOB_FORM}")
        if key in given:
            raise UserError(f"{option}: {key} is there twice; give it once")
        given[key] = value
    for key in ("volume", WEIGHT_KEYS[weight]):
        if key not in given:
            reason = f" (--weight {weight} goes by it)" if key == WEIGHT_KEYS[weight] else ""
            raise UserError(f"{option}: {key} is missing{reason}; the form is {JOB_FORM}")
    for key in ("processes", "nodes"):
        if key in given and not (given[key].isdecimal() and int(given[key])):
            raise UserError(f"{option}: {key}={given[key]} is not a count; give a whole number above 0")
    volume = _job_amount(given["volume"], f"{option}: volume", has_unit, is_rate=False)
    cap = _job_amount(given["cap"], f"{option}: cap", has_unit, is_rate=True) if "cap" in given else math.inf
    try:
        start = _number(given.get("start", "0"), f"{option}: start")
        return SharingJob(
            name, volume, _number(given[WEIGHT_KEYS[weight]], f"{option}: {WEIGHT_KEYS[weight]}"), cap, start
        )
    except ValueError as error:
        raise UserError(f"{option}: {error}") from error


def _number(text: str, what: str) -> float:
    try:
        return float(text)
    except ValueError as error:
        raise UserError(f"{what}={text} is not a number; give one such as 4 or 2.5") from error


def _job_amount(text: str, what: str, has_unit: bool, is_rate: bool) -> float:
    amount, is_in_bytes = _amount(text, what, is_rate)
    if is_in_bytes != has_unit:
        says, lacks = ("has a unit", "--capacity has none") if is_in_bytes else ("has no unit", "--capacity has one")
        raise UserError(f"{what}={text} {says} and {lacks}; give all amounts with units, or all as plain numbers")
    return amount


def _amount(text: str, what: str, is_rate: bool) -> tuple[float, bool]:
    """An amount in bytes (a rate: bytes a second), or a plain number; and whether it had a unit."""
    match = AMOUNT.fullmatch(text.strip())
    unit_fits = match and (match["prefix"] is None or bool(match["rate"]) == is_rate)
    if not match or not unit_fits:
        example = "100MiB/s" if is_rate else "16GiB"
        raise UserError(
            f"{what} {text} is not {'a rate' if is_rate else 'an amount'}; give one such as 1200 or {example}"
        )
    amount = float(match["number"]) * (PREFIXES[match["prefix"]] if match["prefix"] is not None else 1)
    return amount, match["prefix"] is not None
