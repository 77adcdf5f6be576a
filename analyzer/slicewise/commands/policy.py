"""What would have changed if jobs had taken turns with their I/O: policies simulated after the fact."""

from __future__ import annotations

import math
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.console import RenderableType

from slicewise.analysis.policies.comparison import Comparison, compare, sweep
from slicewise.analysis.policies.decisions import POLICIES, Metric, Policy
from slicewise.analysis.policies.replay import replay as decided_again
from slicewise.analysis.policies.simulation import IoPhase, PolicyJob
from slicewise.errors import UserError
from slicewise.report.page import write_page
from slicewise.report.policy import policy_words
from slicewise.report.policy.policy_json import comparison_record
from slicewise.report.policy.policy_page import machine_facts, policy_page
from slicewise.report.policy.policy_tables import MOST_JOBS, costs_table, factors_table
from slicewise.report.tables import for_terminal, line_for_terminal
from slicewise.terminal.job_options import JobOption, amount, job_option, require_names_of_their_own
from slicewise.terminal.output import AsJson, OutputFile, PageFile, write_json, write_text

JOB_FORM = "NAME,volume=V,processes=P,start=S[,cap=D][,unit=U]"
JOB_KEYS = ("volume", "processes", "start", "cap", "unit")
DISAGREES_STATUS = 1


app = typer.Typer(add_completion=False, invoke_without_command=True)
MetricOption = Annotated[Metric, typer.Option(help="What a policy is judged by, of the whole machine.")]
Delay = Annotated[
    float | None,
    typer.Option(metavar="SECONDS", min=0.0, help="How long `delay` lets a job wait; else the best of 20 is taken."),
]


@app.callback()
def _policy(context: typer.Context) -> None:
    """What would have changed if jobs had taken turns with their I/O: policies simulated after the fact."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@app.command()
def simulate(
    capacity: Annotated[
        str, typer.Option(metavar="C", help="What the storage serves a second, as 2GiB/s, or as a plain number.")
    ],
    job: Annotated[
        list[str],
        typer.Option(
            metavar="JOB",
            help=f"{JOB_FORM}, once a job. Cap: the rate that it reaches alone; unit: it can be interrupted only after "
            "each so much (a call, a file). Amounts have units where the capacity has.",
        ),
    ],
    policy: Annotated[
        list[str] | None,
        typer.Option(metavar="P", help=f"Only this policy; may be repeated: {', '.join(POLICIES)}."),
    ] = None,
    metric: MetricOption = "cpu_seconds",
    delay: Delay = None,
    html: PageFile = None,
    json: AsJson = False,
    output: OutputFile = None,
) -> None:
    """Policies from figures alone: what each makes of jobs that want to do I/O at given times.

    Example: slicewise policy simulate --capacity 100MiB/s --job A,volume=2GiB,processes=2048,start=0
    --job B,volume=512MiB,processes=2048,start=14
    """
    rate, has_unit = amount(capacity, "--capacity", is_rate=True)
    jobs = [_policy_job(job_option(text, JOB_KEYS, JOB_FORM), has_unit) for text in job]
    require_names_of_their_own([one.job for one in jobs])
    try:
        found = compare(rate, jobs, metric, _policies(policy), delay)
    except ValueError as error:
        raise UserError(f"--capacity {capacity}: {error}") from error
    chosen = found.best.policy
    if html:
        page = policy_page(
            found,
            sweep(rate, jobs, found),
            "Slicewise policies, from figures alone",
            [policy_words.verdict(found), policy_words.for_whom(found, found.best)],
            machine_facts(found, chosen),
        )
        write_page(page, html)
    if json:
        write_json({**comparison_record(found, chosen), "page": html}, output)
        return
    write_text(
        [
            policy_words.verdict(found),
            policy_words.for_whom(found, found.best),
            "",
            for_terminal(costs_table(found)),
            *_factors(found),
            "",
            *policy_words.meanings(found),
            *_page_line(html),
        ],
        output,
    )


@app.command()
def replay(
    log: Annotated[Path, typer.Argument(metavar="LOG", help="A decision log of slicewise-collect coordinate.")],
    json: AsJson = False,
    output: OutputFile = None,
) -> None:
    """Decide a coordinator's log once more, and say whether every decision is the policy's. Exit status 1 if not.

    Example: slicewise policy replay /var/log/slicewise-decisions.jsonl
    """
    try:
        lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError as error:
        raise UserError(f"{log}: cannot be read: {error.strerror}; give a decision log") from error
    found = decided_again(lines, str(log))
    if json:
        write_json({"agrees": found.agrees, **asdict(found)}, output)
    else:
        write_text(list(policy_words.replay_lines(found, str(log))), output)
    if not found.agrees:
        raise typer.Exit(DISAGREES_STATUS)


def _factors(found: Comparison) -> list[RenderableType]:
    return ["", for_terminal(factors_table(found))] if len(found.undisturbed.jobs) <= MOST_JOBS else []


def _page_line(page: Path | None) -> list[RenderableType]:
    return [line_for_terminal(f"Page: {page}", is_folded=False)] if page else []


def _policies(names: list[str] | None) -> list[Policy]:
    unknown = next((name for name in names or [] if name not in POLICIES), None)
    if unknown is not None:
        raise UserError(f"--policy {unknown}: is no policy; give one of {', '.join(POLICIES)}")
    return [policy for policy in POLICIES if not names or policy in names]


def _policy_job(option: JobOption, has_unit: bool) -> PolicyJob:
    for key in ("volume", "processes", "start"):
        option.require(key)
    volume = option.amount_like_capacity("volume", has_unit, is_rate=False)
    cap = option.amount_like_capacity("cap", has_unit, is_rate=True) if "cap" in option.given else math.inf
    unit = option.amount_like_capacity("unit", has_unit, is_rate=False) if "unit" in option.given else 0.0
    processes = option.count("processes") or 1
    try:
        phases = (IoPhase(0.0, volume, cap),)
        return PolicyJob(option.name, processes, float(processes), option.number("start"), phases, unit=unit)
    except ValueError as error:
        raise UserError(f"{option.option}: {error}") from error
