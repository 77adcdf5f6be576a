"""Simulate what jobs would have gained or lost had they taken turns with their I/O."""

import gzip
import math
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from rich.console import RenderableType

from slicewise.analysis.blame.case import read_with_runs
from slicewise.analysis.capacity import capacity as capacities
from slicewise.analysis.capacity.capacity import Capacity
from slicewise.analysis.policies.after_the_fact import after_the_fact
from slicewise.analysis.policies.comparison import PolicyComparison, compare, sweep
from slicewise.analysis.policies.probability import ASSUMED_IO_SHARE, io_share_of, of_log, of_profiles, read_job_log
from slicewise.analysis.policies.simulation import IoPhase, PolicyJob
from slicewise.analysis.runs.matching import that_fit
from slicewise.analysis.sharing.model import read_model
from slicewise.analysis.sharing.weights import Weighting
from slicewise.catalog.sources import read_digests
from slicewise.errors import UserError, mended_by
from slicewise.kinds import POLICIES, Metric, Policy
from slicewise.profile.files import job_places
from slicewise.report.coverage.unseen import unseen_lines
from slicewise.report.page import joined_names, page_path, write_page
from slicewise.report.policy import policy_report, probability_words
from slicewise.report.policy.probability_words import probability_page, probability_record
from slicewise.report.tables import for_terminal
from slicewise.terminal.job_options import POLICY_FORM, JobOption, job_option, require_names_of_their_own
from slicewise.terminal.output import page_line, write_answer
from slicewise.text import amounts, words

JOB_KEYS = ("volume", "processes", "start", "cap", "unit", "period", "phases")
GZIP_MAGIC = b"\x1f\x8b"


def jobs(
    job: list[Path],
    alone: list[Path],
    capacity: str | None,
    model: Path | None,
    policy: list[Policy],
    metric: Metric,
    delay: float | None,
    html: Path | None,
) -> None:
    places, given = job_places(job), job_places(alone)
    digests, standalone, runs = read_with_runs(places, given)
    standalone += that_fit(runs, digests)
    known, weighting = _known(capacity, model)
    found = after_the_fact(digests, standalone, known, weighting, metric, policy or POLICIES, delay)
    comparison = found.comparison
    page = html or page_path(places[0], f"policy-{joined_names(one.plan.job for one in found.jobs)}")
    whom = policy_report.for_whom(comparison, found.best)
    said = [policy_report.verdict_after(found), whom, policy_report.fit(found)]
    write_page(
        policy_report.policy_page(
            comparison,
            sweep(found.given_to, [one.plan for one in found.jobs], comparison),
            f"Slicewise policies, {words.date_and_zone(min(one.run.job.start_ns for one in found.jobs))}",
            said,
            policy_report.machine_facts(comparison, found.chosen),
            policy_report.checks_table(found),
            policy_report.basis(found),
            unseen_lines([one.run.digest for one in found.jobs]),
        ),
        page,
    )
    lines: list[RenderableType] = [for_terminal(policy_report.checks_table(found)), "", *policy_report.basis(found)]
    _answer(lambda: policy_report.after_the_fact_record(found, page), comparison, said, lines, page)


def simulate(
    capacity: str, job: list[str], policy: list[Policy], metric: Metric, delay: float | None, html: Path | None
) -> None:
    rate, has_unit = amounts.amount(capacity, "--capacity", is_rate=True)
    jobs = [_policy_job(job_option(text, JOB_KEYS, POLICY_FORM), rate, has_unit) for text in job]
    require_names_of_their_own([one.job for one in jobs])
    try:
        found = compare(rate, jobs, metric, policy or POLICIES, delay)
    except ValueError as error:
        raise UserError(f"--capacity {capacity}: {error}") from error
    chosen = found.best.policy
    said = [policy_report.verdict(found), policy_report.for_whom(found, found.best)]
    if html:
        page = policy_report.policy_page(
            found,
            sweep(rate, jobs, found),
            "Slicewise policies, from figures alone",
            said,
            policy_report.machine_facts(found, chosen),
        )
        write_page(page, html)
    lines = policy_report.meanings(found)
    _answer(lambda: {**policy_report.comparison_record(found, chosen), "page": html}, found, said, lines, html)


def probability(profiles: list[Path], swf: Path | None, io_share: float | None, html: Path | None) -> None:
    places = job_places(profiles)
    digests = read_digests(places)
    given = None if io_share is None else io_share / 100
    log = read_job_log(_lines_of(swf), str(swf)) if swf is not None else None
    if log is None and not digests:
        raise UserError("give directories of profiles, or a job log: slicewise turns probability --swf FILE")
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
        source = swf.name if swf else words.count(len(digests), "profile")
        write_page(probability_page(found, log, f"Slicewise policies, from {source}"), page)
    write_answer(
        lambda: probability_record(found, log, page),
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
            *([page_line(page)] if page else []),
        ],
    )


def _lines_of(path: Path) -> list[str]:
    with mended_by(f"{path}: cannot be read", "give another file"):
        content = path.read_bytes()
    try:
        is_packed = content.startswith(GZIP_MAGIC)
        return (gzip.decompress(content) if is_packed else content).decode(errors="replace").splitlines()
    except (OSError, EOFError, zlib.error) as error:
        raise UserError(f"{path}: is a damaged gzip file ({error}); fetch it again") from error


def _known(capacity: str | None, model: Path | None) -> tuple[Capacity | None, Weighting | None]:
    fitted = read_model(model) if model is not None else None
    known = capacities.fitted(fitted.capacity) if fitted is not None else None
    if capacity is not None:
        known = capacities.given(amounts.rate(capacity, "--capacity"))
    return known, fitted.weight.chosen if fitted is not None else None


def _answer(
    record: Callable[[], Any],
    found: PolicyComparison,
    said: Sequence[str],
    more: Sequence[RenderableType],
    page: Path | None,
) -> None:
    tables = [policy_report.costs_table(found)]
    if len(found.undisturbed.jobs) <= policy_report.MOST_JOBS:
        tables.append(policy_report.factors_table(found))
    shown = [part for table in tables for part in (for_terminal(table), "")]
    write_answer(record, [*said, "", *shown, *more, *([page_line(page)] if page else [])])


def _policy_job(option: JobOption, rate: float, has_unit: bool) -> PolicyJob:
    for key in ("volume", "processes", "start"):
        option.require(key)
    volume = option.amount_like_capacity("volume", has_unit, is_rate=False)
    cap = option.amount_like_capacity("cap", has_unit, is_rate=True) if "cap" in option.given else math.inf
    unit = option.amount_like_capacity("unit", has_unit, is_rate=False) if "unit" in option.given else 0.0
    processes, period = option.count("processes") or 1, option.number("period", "0")
    count = option.count("phases") or 1
    between = period - volume / min(rate, cap) if count > 1 and min(rate, cap) > 0 else 0.0
    try:
        phases = (IoPhase(0.0, volume, cap), *[IoPhase(between, volume, cap)] * (count - 1))
        return PolicyJob(
            option.name, processes, float(processes), option.number("start"), phases, unit=unit, period=period
        )
    except ValueError as error:
        raise UserError(f"{option.option}: {error}") from error
