"""Writes docs/foretold.md: `python -m testbed.foretell_page CAMPAIGNS PAGE`.

The page foretells every run of several jobs in the recordings of `testbed.blame_plans`, from runs of each job alone.
The law is the one that explains the other runs best. Runs of the same jobs, repeats too, are left out there.
"""

from __future__ import annotations

import functools
import math
import statistics
import sys
import textwrap
from dataclasses import dataclass
from pathlib import Path

from slicewise.analysis.foretell import foretold
from slicewise.analysis.foretell.foretold import AloneRun, SeenJob, SeenRun
from slicewise.analysis.foretell.laws import Law, Laws, laws_of
from slicewise.estimate import Estimate
from slicewise.report.foretell.foretell_words import law_words
from slicewise.text import words

from testbed import blame_validation as recorded
from testbed import validation
from testbed.against import Against
from testbed.blame_plans import JOBS, STORAGES, recording_of
from testbed.blame_validation import Recorded
from testbed.markdown import table

# Largest and mean error of runtimes that are aimed at.
AIM = (0.20, 0.07)
COVERAGE_AIM = (0.90, 0.98)
TITLE = """# Foretold runs, measured

How well `slicewise foretell` tells what jobs take side by side, from a run of each alone. The jobs are those of
the recordings that `slicewise blame` is held against ([validation.md](validation.md) says how they were made): about a
minute each alone, default settings of the clients, reads and writes, calls of 16 KiB to 1 MiB, jobs that compute in
between or come in bursts, a data loader, a storm of small files, fio, IOR and tar; two or three at a time, in slices of
1 s and of 4 s, on GlusterFS and sshfs behind a link of 200 Mbit/s, and on a disk whose reads and writes are limited
apart. Each run is foretold by a law that has not seen these jobs together: neither this run nor a repeat of it.
What a storage serves at most is taken from runs alone. How wide intervals are follows a formula that was chosen
among nine on these recordings and those of [validation.md](validation.md#as-users-meet-it): its form is not held out.

What a job took is by its own clock where it has one, else its I/O time span in the profile. RE is (foretold - took) /
took. All runs are here of which each job was recorded alone on the same file system. Six are left out for want of
that: on GlusterFS a reader beside a job that hardly does anything; on the disk those of a second day (three jobs at a
time, two that keep a pace, two that read), when its file system had been made anew. `make foretold-page` writes this
page from the packed recordings (`tests/golden/campaigns`).
"""


@dataclass(frozen=True)
class Outcome(Against):
    """A job of a run. took: s; seconds: as foretold; doubt: what was said against it beforehand."""

    run: Recorded
    job: str
    alone: float
    took: float
    seconds: Estimate
    laws: Laws
    doubt: str


@functools.cache
def outcomes(directory: Path) -> list[Outcome]:
    """Every job of every run of several, where each was recorded alone too."""
    runs, served = _seen(directory)
    tried = foretold.tried_on([seen for _, seen in runs], served)
    found = []
    for run, seen in runs:
        others = [other.sizes for _, other in runs if other.sizes != seen.sizes]
        laws = laws_of(_of_others(tried, runs, seen), others)
        plans = [(one.alone, one.start) for one in seen.jobs]
        known = foretold.times_of(seen, [other for _, other in runs], tried)
        seconds = foretold.foretold_seconds(plans, served, laws, known)
        for one, value in zip(seen.jobs, seconds, strict=True):
            beside = [other.alone for other in seen.jobs if other is not one]
            doubt = foretold.doubt_of(one.alone, beside, laws)
            found.append(Outcome(run, one.job, one.alone.seconds, one.seconds, value, laws, doubt))
    return found


def _of_others(
    tried: dict[Law, list[list[float]]], runs: list[tuple[Recorded, SeenRun]], left_out: SeenRun
) -> dict[Law, list[list[float]]]:
    kept = [place for place, (_, seen) in enumerate(runs) if seen.sizes != left_out.sizes]
    return {law: [errors[place] for place in kept] for law, errors in tried.items()}


def _seen(directory: Path) -> tuple[list[tuple[Recorded, SeenRun]], dict[foretold.Kind, float]]:
    everything = recorded.runs_of(directory)
    storage = foretold.storage_of([recorded.digest_of(directory / run.jobs[0].profile) for run in everything[:2]])
    alone: dict[str, list[AloneRun]] = {}
    for run in everything:
        if len(run.jobs) == 1:
            one = foretold.run_there(recorded.digest_of(directory / run.jobs[0].profile), storage)
            if one is not None:
                alone.setdefault(run.jobs[0].job, []).append(one)
    found = []
    for run in everything:
        jobs = [job for job in run.jobs if not JOBS[job.job].is_elsewhere]
        if len(jobs) < 2 or any(job.job not in alone for job in jobs):
            continue
        everywhere = [foretold.run_there(recorded.digest_of(directory / job.profile), storage) for job in jobs]
        there = [one for one in everywhere if one is not None]
        if len(there) < len(jobs):
            continue
        origin = min(one.span[0] for one in there)
        seen = [
            SeenJob(
                job.job,
                (one.span[0] - origin) / 1e9,
                job.seconds if JOBS[job.job].has_clock else one.seconds,
                min(alone[job.job], key=lambda other: other.digest.slice_ns != one.digest.slice_ns),
                one,
            )
            for job, one in zip(jobs, there, strict=True)
        ]
        found.append((run, SeenRun(seen)))
    return found, foretold.serves(one for runs in alone.values() for one in runs)


def page(campaigns: Path) -> str:
    """The page's text."""
    by_storage = {storage: outcomes(campaigns / recording_of(storage)) for storage in STORAGES}
    parts = [TITLE, "## In short\n", _summary(by_storage), _aims(by_storage)]
    for storage, found in by_storage.items():
        parts += [f"## {storage}\n", _laws(found), _jobs(found)]
    return "\n".join(parts)


def _summary(by_storage: dict[str, list[Outcome]]) -> str:
    rows = []
    for storage, found in by_storage.items():
        told = [one for one in found if not one.doubt]
        rows += [_row(storage, "all", found)]
        rows += [_row(storage, "without a doubt told beforehand", told)] if told and len(told) < len(found) else []
    return table(["storage", "jobs", "count", "mean \\|RE\\|", "largest \\|RE\\|", "bias", "within the interval"], rows)


def _row(storage: str, which: str, found: list[Outcome]) -> list[str]:
    errors = [one.error for one in found]
    return [
        storage,
        which,
        str(len(found)),
        words.percent(statistics.mean(map(abs, errors))),
        words.percent(max(map(abs, errors))),
        words.signed_percent(statistics.mean(errors)),
        words.percent(statistics.mean(one.is_within for one in found)),
    ]


def _aims(by_storage: dict[str, list[Outcome]]) -> str:
    lines = [
        f"Aimed at are {100 * AIM[1]:.0f} % in the mean, {100 * AIM[0]:.0f} % at most, and "
        f"{100 * COVERAGE_AIM[0]:.0f} to {100 * COVERAGE_AIM[1]:.0f} % within the interval."
    ]
    for storage, found in by_storage.items():
        errors = [abs(one.error) for one in found]
        within = statistics.mean(one.is_within for one in found)
        missed = [
            *(["the mean"] if statistics.mean(errors) > AIM[1] else []),
            *(["the largest"] if max(errors) > AIM[0] else []),
            *([] if COVERAGE_AIM[0] <= within <= COVERAGE_AIM[1] else [f"the interval ({_in_words(found)})"]),
        ]
        lines.append(f"{storage}: {'missed by ' + words.listing(missed) if missed else 'met'}.")
    every = [one for found in by_storage.values() for one in found]
    outside, within_them = ([one for one in every if one.is_within == is_in] for is_in in (False, True))
    told = (
        f"{len(outside)} of {len(every)} times lie outside of their intervals. Of "
        f"{sum(bool(one.doubt) for one in outside)} of them a doubt was told beforehand, and of "
        f"{sum(bool(one.doubt) for one in within_them)} of the {len(within_them)} within; of the others only the run "
        "itself shows it."
    )
    lines.append(textwrap.fill(told, 120))
    return "\n".join(lines) + "\n"


def _in_words(found: list[Outcome]) -> str:
    """How many of how many are within, and how many would be as aimed at."""
    fewest, most = math.ceil(COVERAGE_AIM[0] * len(found)), math.floor(COVERAGE_AIM[1] * len(found))
    return f"{sum(one.is_within for one in found)} of {len(found)}; {fewest} to {most} would be as aimed at"


def _laws(found: list[Outcome]) -> str:
    laws = sorted({law_words(one.laws.chosen) for one in found})
    return "\n".join(
        ["Laws taken:\n", *(textwrap.fill(law, 120, initial_indent="- ", subsequent_indent="  ") for law in laws), ""]
    )


def _jobs(found: list[Outcome]) -> str:
    rows = [
        [
            f"{one.run.text}, {one.run.slice_seconds:g} s slices",
            one.job,
            f"{one.alone:.1f}",
            f"{one.took:.1f}",
            f"{one.seconds.value:.1f}",
            f"{one.seconds.low:.0f}-{one.seconds.high:.0f}" + ("" if one.is_within else " **outside**"),
            words.signed_percent(one.error),
            "metadata" if "metadata" in one.doubt else "no law fits" if one.doubt else "",
        ]
        for one in found
    ]
    return table(["run", "job", "alone, s", "took, s", "foretold, s", "between", "RE", "doubt told"], rows)


def main() -> None:
    """Writes the page."""
    Path(sys.argv[2]).write_text(page(validation.unpacked(Path(sys.argv[1]))), encoding="utf-8")


if __name__ == "__main__":
    main()
