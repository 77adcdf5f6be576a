"""Writes docs/foretold.md: `python -m testbed.foretell_page CAMPAIGNS PAGE`.

The page foretells every run of several jobs in the recordings of `testbed.blame_plans`, from runs of each job alone.
The law is the one that explains the other runs best. Runs of the same jobs, repeats too, are left out there.
"""

from __future__ import annotations

import functools
import sys
import textwrap
from dataclasses import dataclass
from pathlib import Path

from slicewise.analysis.campaign.told import Aims, Told, counts_within, figures_of_told
from slicewise.analysis.foretell import foretold
from slicewise.analysis.foretell.foretold import AloneRun, SeenJob, SeenRun
from slicewise.analysis.foretell.held_out import held_out
from slicewise.analysis.foretell.laws import Laws
from slicewise.report.foretell.foretell_words import law_words
from slicewise.text import words

from testbed import blame_validation as recorded
from testbed import validation
from testbed.blame_plans import JOBS, STORAGES, recording_of
from testbed.blame_validation import Recorded
from testbed.markdown import table

# Largest and mean error of runtimes that are aimed at.
AIM = (0.20, 0.07)
AIMS = Aims(*AIM)
COVERAGE_AIM = (0.90, 0.98)
TITLE = """# Foretold runs, measured

How well `slicewise foretell` tells what jobs take side by side, from a run of each alone. The jobs are those of
the recordings that `slicewise blame` is held against ([validation.md](validation.md) says how they were made): about a
minute each alone, default settings of the clients, reads and writes, calls of 16 KiB to 1 MiB, jobs that compute in
between or come in bursts, a data loader, a storm of small files, fio, IOR and tar; two or three at a time, in slices of
1 s and of 4 s, on GlusterFS and sshfs behind a link of 200 Mbit/s, and on a disk whose reads and writes are limited
apart. Each run is foretold by a law that has not seen these jobs together: neither this run nor a repeat of it.
What a storage serves at most is taken from runs alone. How wide intervals are follows a formula that was chosen
among nine on these recordings and those of [validation.md](validation.md#as-users-meet-it), and combinations counted
as degrees of freedom by the first six of those: its form is not held out.

What a job took is by its own clock where it has one, else its I/O time span in the profile. RE is (foretold - took) /
took. All runs are here of which each job was recorded alone on the same file system. Six are left out for want of
that: on GlusterFS a reader beside a job that hardly does anything; on the disk those of a second day (three jobs at a
time, two that keep a pace, two that read), when its file system had been made anew. `make foretold-page` writes this
page from the packed recordings (`tests/golden/campaigns`).
"""


@dataclass(frozen=True, kw_only=True)
class Outcome(Told):
    """A job of a run; alone: as long as it took by itself (s)."""

    run: Recorded
    alone: float
    laws: Laws


@functools.cache
def outcomes(directory: Path) -> list[Outcome]:
    """Every job of every run of several, where each was recorded alone too."""
    recorded_runs, seen, served = _seen(directory)
    return [
        Outcome(
            runs=run.text,
            place=job.seen.job,
            jobs=len(one.jobs),
            took=job.seen.seconds,
            seconds=job.seconds,
            doubt=job.doubt,
            is_warned=job.is_warned,
            is_off_in_time=job.is_off_in_time,
            run=run,
            alone=job.seen.alone.seconds,
            laws=one.laws,
        )
        for run, one in zip(recorded_runs, held_out(seen, served), strict=True)
        for job in one.jobs
    ]


def _seen(directory: Path) -> tuple[list[Recorded], list[SeenRun], dict[foretold.Kind, float]]:
    everything = recorded.runs_of(directory)
    storage = foretold.storage_of([recorded.digest_of(directory / run.jobs[0].profile) for run in everything[:2]])
    alone: dict[str, list[AloneRun]] = {}
    for run in everything:
        if len(run.jobs) == 1:
            one = foretold.run_there(recorded.digest_of(directory / run.jobs[0].profile), storage)
            if one is not None:
                alone.setdefault(run.jobs[0].job, []).append(one)
    found, runs = list[SeenRun](), list[Recorded]()
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
        runs.append(run)
        found.append(SeenRun(seen))
    return runs, found, foretold.serves(one for each in alone.values() for one in each)


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
    figures = figures_of_told(found, AIMS.largest)
    return [
        storage,
        which,
        str(figures.count),
        words.percent(figures.mean),
        words.percent(figures.largest),
        words.signed_percent(figures.bias),
        words.percent(figures.within_share),
    ]


def _aims(by_storage: dict[str, list[Outcome]]) -> str:
    low, high = COVERAGE_AIM
    lines = [
        f"Aimed at are {100 * AIM[1]:.0f} % in the mean, {100 * AIM[0]:.0f} % at most, and "
        f"{100 * low:.0f} to {100 * high:.0f} % within the interval."
    ]
    for storage, found in by_storage.items():
        of_them = AIMS.missed(found)
        within = figures_of_told(found, AIMS.largest).within_share
        missed = [
            *(["the mean"] if "mean" in of_them else []),
            *(["the largest"] if "largest" in of_them else []),
            *([] if low <= within <= high else [f"the interval ({_in_words(found)})"]),
        ]
        lines.append(f"{storage}: {'missed by ' + words.listing(missed) if missed else 'met'}.")
    every = figures_of_told([one for found in by_storage.values() for one in found], AIMS.largest)
    outside, within_them = every.of_outside, every.of_within
    told = (
        f"{every.outside} of {every.count} times lie outside of their intervals. {outside.in_time} of them came with a "
        f"warning before the job ended (aim 9 in 10): {outside.beforehand} with a doubt beforehand, {outside.running} "
        f"while it ran; {outside.afterwards} were told afterwards. False warnings, of {every.within} times within: "
        f"{within_them.beforehand} beforehand, {within_them.running} while it ran. When a run is looked at was chosen "
        "on the recordings of validation.md, with these in view."
    )
    lines.append(textwrap.fill(told, 120))
    return "\n".join(lines) + "\n"


def _in_words(found: list[Outcome]) -> str:
    """How many of how many are within, and how many would be as aimed at."""
    fewest, most = counts_within(COVERAGE_AIM, len(found))
    figures = figures_of_told(found, AIMS.largest)
    chance = ", but where intervals hold 95 % that may be chance" if figures.is_as_intervals_say else ""
    return f"{figures.within} of {len(found)}; {fewest} to {most} would be as aimed at{chance}"


def _laws(found: list[Outcome]) -> str:
    laws = sorted({law_words(one.laws.chosen) for one in found})
    return "\n".join(
        ["Laws taken:\n", *(textwrap.fill(law, 120, initial_indent="- ", subsequent_indent="  ") for law in laws), ""]
    )


def _jobs(found: list[Outcome]) -> str:
    rows = [
        [
            f"{one.run.text}, {one.run.slice_seconds:g} s slices",
            one.place,
            f"{one.alone:.1f}",
            f"{one.took:.1f}",
            f"{one.seconds.value:.1f}",
            f"{one.seconds.low:.0f}-{one.seconds.high:.0f}" + ("" if one.is_within else " **outside**"),
            words.signed_percent(one.error),
            "metadata" if "metadata" in one.doubt else "no law fits" if one.doubt else "",
            *("yes" if told else "" for told in (one.is_off_in_time, one.is_warned)),
        ]
        for one in found
    ]
    headings = ["run", "job", "alone, s", "took, s", "foretold, s", "between", "RE"]
    return table([*headings, "doubt told beforehand", "told while it ran", "told afterwards"], rows)


def main() -> None:
    """Writes the page."""
    Path(sys.argv[2]).write_text(page(validation.unpacked(Path(sys.argv[1]))), encoding="utf-8")


if __name__ == "__main__":
    main()
