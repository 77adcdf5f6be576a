"""Simulate what jobs would have gained or lost had they taken turns with their I/O."""

from __future__ import annotations

import gzip
import math
import zlib
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import RenderableType
from typer.core import TyperGroup

from slicewise.analysis.copies.known_capacity import KnownCapacity, fitted_capacity, given_capacity
from slicewise.analysis.policies.after_the_fact import after_the_fact
from slicewise.analysis.policies.claims import claims as held_against
from slicewise.analysis.policies.comparison import Comparison, compare, sweep
from slicewise.analysis.policies.job_log import read_job_log
from slicewise.analysis.policies.probability import ASSUMED_IO_SHARE, io_share_of, of_log, of_profiles
from slicewise.analysis.policies.replay import replay as decided_again
from slicewise.analysis.policies.simulation import IoPhase, PolicyJob
from slicewise.analysis.sharing.model_file import read_model
from slicewise.analysis.sharing.weights import Weighting
from slicewise.catalog.sources import read_digests
from slicewise.errors import UserError
from slicewise.kinds import POLICIES, Metric, Policy
from slicewise.profile.files import job_places
from slicewise.report.coverage.unseen import unseen_lines
from slicewise.report.page import joined_names, page_path, write_page
from slicewise.report.policy import policy_words, probability_words
from slicewise.report.policy.policy_json import after_the_fact_record, comparison_record
from slicewise.report.policy.policy_page import machine_facts, policy_page
from slicewise.report.policy.policy_tables import MOST_JOBS, checks_table, claims_table, costs_table, factors_table
from slicewise.report.policy.probability_page import probability_page
from slicewise.report.policy.probability_words import probability_record
from slicewise.report.tables import for_terminal, line_for_terminal
from slicewise.terminal.job_options import JobOption, job_option, require_names_of_their_own
from slicewise.terminal.output import AsJson, OutputFile, PageFile, write_json, write_text
from slicewise.text import amounts, words

JOB_FORM = "NAME,volume=V,processes=P,start=S[,cap=D][,unit=U]"
JOB_KEYS = ("volume", "processes", "start", "cap", "unit")
DISAGREES_STATUS = 1
GZIP_MAGIC = b"\x1f\x8b"


class PolicyCommands(TyperGroup):
    """The group of policy's commands, of which `jobs` may be left out: `slicewise policy JOB...`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        is_named = bool(args) and args[0] in (*self.commands, "--help")
        return super().parse_args(ctx, args if is_named or not args else ["jobs", *args])


app = typer.Typer(cls=PolicyCommands, add_completion=False, invoke_without_command=True)
Only = Annotated[
    list[str] | None,
    typer.Option(
        "--policy", metavar="P", help=f"One of {', '.join(POLICIES)} (docs/policy.md); may be repeated. Else all."
    ),
]
MetricOption = Annotated[
    Metric,
    typer.Option(
        help="By which figure of all jobs a policy is judged. cpu_seconds: processes x seconds in I/O, with waits."
    ),
]
Delay = Annotated[
    float | None,
    typer.Option(
        metavar="SECONDS",
        min=0.0,
        help="How long `delay` lets a job wait. If it is not given, the best of 20 waits is taken.",
    ),
]


@app.callback()
def _policy(context: typer.Context) -> None:
    """Simulate what jobs would have gained or lost had they taken turns with their I/O.

    slicewise policy JOB... is slicewise policy jobs JOB... in short.
    """
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@app.command()
def jobs(
    job: Annotated[
        list[Path], typer.Argument(metavar="JOB...", help="Two jobs or more that ran at one time: their directories.")
    ],
    alone: Annotated[
        list[Path] | None,
        typer.Option(metavar="JOBDIR", help="A standalone run of one of the programs; may be repeated."),
    ] = None,
    capacity: Annotated[
        str | None,
        typer.Option(metavar="C", help="What the storage serves a second, as 2GiB/s; else as these jobs show."),
    ] = None,
    model: Annotated[
        Path | None, typer.Option("--fitted", metavar="M", help="A model that `model fit -o M` wrote.")
    ] = None,
    policy: Only = None,
    metric: MetricOption = "cpu_seconds",
    delay: Delay = None,
    html: PageFile = None,
    json: AsJson = False,
    output: OutputFile = None,
) -> None:
    """Say what each policy would have gained or lost for jobs that ran side by side, and for whom.

    Example: slicewise policy slicewise/sim slicewise/post --alone slicewise/sim-alone
    """
    places, standalone = job_places(job), job_places(alone or [])
    digests = read_digests([*places, *standalone])
    known, weighting = _known(capacity, model)
    found = after_the_fact(
        digests[: len(places)], digests[len(places) :], known, weighting, metric, _policies(policy), delay
    )
    comparison = found.comparison
    page = html or page_path(places[0], f"policy-{joined_names(one.plan.job for one in found.jobs)}")
    said = [policy_words.verdict_after(found), policy_words.for_whom(comparison, found.best), policy_words.fit(found)]
    write_page(
        policy_page(
            comparison,
            sweep(found.serves, [one.plan for one in found.jobs], comparison),
            f"Slicewise policies, {words.date_and_zone(min(one.run.job.start_ns for one in found.jobs))}",
            said,
            machine_facts(comparison, found.chosen),
            checks_table(found),
            policy_words.basis(found),
            unseen_lines([one.run.digest for one in found.jobs]),
        ),
        page,
    )
    if json:
        write_json(after_the_fact_record(found, page), output)
        return
    write_text(
        [
            *said,
            "",
            for_terminal(costs_table(comparison)),
            *_factors(comparison),
            "",
            for_terminal(checks_table(found)),
            "",
            *policy_words.basis(found),
            *_page_line(page),
        ],
        output,
    )


@app.command()
def simulate(
    capacity: Annotated[
        str, typer.Option(metavar="C", help="What the storage serves a second, as 2GiB/s, or as a plain number.")
    ],
    job: Annotated[
        list[str],
        typer.Option(
            metavar="JOB",
            help=f"{JOB_FORM}, once a job. Cap: the rate that it reaches alone; unit: how many bytes it writes "
            "between two moments at which it can be interrupted (a call, a file). If the capacity has a unit, amounts "
            "have one, too.",
        ),
    ],
    policy: Only = None,
    metric: MetricOption = "cpu_seconds",
    delay: Delay = None,
    html: PageFile = None,
    json: AsJson = False,
    output: OutputFile = None,
) -> None:
    """Simulate each policy for jobs that want to do I/O at given times, without profiles.

    Example: slicewise policy simulate --capacity 100MiB/s --job A,volume=2GiB,processes=2048,start=0
    --job B,volume=512MiB,processes=2048,start=14
    """
    rate, has_unit = amounts.amount(capacity, "--capacity", is_rate=True)
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
def probability(
    profiles: Annotated[
        list[Path] | None, typer.Argument(metavar="PROFILES", help="Directories of jobs' profiles.")
    ] = None,
    swf: Annotated[
        Path | None,
        typer.Option("--swf", metavar="FILE", help="A job log in the Standard Workload Format; .gz is unpacked."),
    ] = None,
    io_share: Annotated[
        float | None,
        typer.Option(
            metavar="PERCENT",
            min=0.0,
            max=100.0,
            help="The mean share of its time that a job is in I/O; else that of the profiles, else 5.",
        ),
    ] = None,
    html: PageFile = None,
    json: AsJson = False,
    output: OutputFile = None,
) -> None:
    """Say how often somebody else does I/O while a job does: what is expected, and what the slices show.

    Example: slicewise policy probability --swf machine.swf --io-share 5
    """
    places = job_places(profiles or [])
    digests = read_digests(places)
    given = None if io_share is None else io_share / 100
    log = read_job_log(_lines_of(swf), str(swf)) if swf is not None else None
    if log is None and not digests:
        raise UserError("give directories of profiles, or a job log: slicewise policy probability --swf FILE")
    if log is None:
        found = of_profiles(digests, given)
    elif given is not None:
        found = of_log(log.jobs, given)
    elif digests:
        found = of_log(log.jobs, io_share_of(digests), "profiles")
    else:
        found = of_log(log.jobs, ASSUMED_IO_SHARE, "assumed")
    page = html or (page_path(places[0], "policy-probability") if places else None)
    if page:
        write_page(
            probability_page(
                found, log, f"Slicewise policies, from {swf.name if swf else words.count(len(digests), 'profile')}"
            ),
            page,
        )
    if json:
        write_json(probability_record(found, log, page), output)
        return
    write_text(
        [
            probability_words.verdict(found),
            *probability_words.basis(found),
            "",
            for_terminal(probability_words.sizes_table(found)),
            "",
            for_terminal(probability_words.concurrent_table(found, probability_words.MOST_ROWS)),
            "",
            *probability_words.notes(found),
            *(probability_words.log_lines(log) if log else []),
            *_page_line(page),
        ],
        output,
    )


@app.command()
def replay(
    log: Annotated[Path, typer.Argument(metavar="LOG", help="A decision log of slicewise-collect coordinate.")],
    json: AsJson = False,
    output: OutputFile = None,
) -> None:
    """Check a coordinator's log: make every decision again, and say where it is not the policy's. Exit status 1 if not.

    Example: slicewise policy replay /var/log/slicewise-decisions.jsonl
    """
    found = decided_again(_lines_of(log), str(log))
    if json:
        write_json({"agrees": found.agrees, **asdict(found)}, output)
    else:
        write_text(list(policy_words.replay_lines(found, str(log))), output)
    if not found.agrees:
        raise typer.Exit(DISAGREES_STATUS)


@app.command()
def claims(
    log: Annotated[Path, typer.Argument(metavar="LOG", help="A decision log of slicewise-collect coordinate.")],
    job: Annotated[list[Path], typer.Argument(metavar="JOB...", help="Directories of jobs that took turns by it.")],
    secret_file: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The secret that the coordinator and its jobs shared.")
    ] = None,
    json: AsJson = False,
    output: OutputFile = None,
) -> None:
    """Compare what jobs told a coordinator with what their profiles say they moved.

    Example: slicewise policy claims /var/log/slicewise-decisions.jsonl slicewise/* --secret-file /etc/slicewise/secret
    """
    secret = b"" if secret_file is None else _content_of(secret_file)
    found = held_against(_lines_of(log), str(log), read_digests(job_places(job)), secret)
    if json:
        record = asdict(found)
        record["jobs"] = [
            row | {"is_far_off": one.is_far_off} for row, one in zip(record["jobs"], found.jobs, strict=True)
        ]
        write_json(record, output)
        return
    write_text([*policy_words.claims_lines(found, str(log)), "", for_terminal(claims_table(found))], output)


def _content_of(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror or error}; give another file") from error


def _lines_of(path: Path) -> list[str]:
    """The lines of a text file, unpacked where it is gzipped. Raises UserError where it cannot be read."""
    try:
        content = _content_of(path)
        is_packed = content.startswith(GZIP_MAGIC)
        return (gzip.decompress(content) if is_packed else content).decode(errors="replace").splitlines()
    except (OSError, EOFError, zlib.error) as error:
        raise UserError(f"{path}: is a damaged gzip file ({error}); fetch it again") from error


def _known(capacity: str | None, model: Path | None) -> tuple[KnownCapacity | None, Weighting | None]:
    """Capacity and weight as the user gives them."""
    fitted = read_model(model) if model is not None else None
    known = fitted_capacity(fitted) if fitted is not None else None
    if capacity is not None:
        known = given_capacity(amounts.rate(capacity, "--capacity"))
    return known, fitted.weight.chosen if fitted is not None else None


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
