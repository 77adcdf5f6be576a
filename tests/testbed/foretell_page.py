"""Writes docs/foretold.md: `python -m testbed.foretell_page CAMPAIGNS PAGE`.

The page foretells every run of several jobs in the recordings of `testbed.blame_plans`, from runs of each job alone.
The law is the one that explains the other runs best. Runs of the same jobs, repeats too, are left out there.
"""

from __future__ import annotations

import functools
import statistics
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from slicewise.analysis.foretell import foretold
from slicewise.analysis.foretell.foretold import AloneRun, SeenJob, SeenRun
from slicewise.analysis.foretell.held_out import held_out
from slicewise.analysis.foretell.laws import Laws
from slicewise.digest.describe import folded
from slicewise.report.foretell.foretell_words import law_words
from slicewise.text import words
from support.told import Aims, Told, counts_within, figures_of_told

from testbed import blame_validation as recorded
from testbed import usual_page, validation
from testbed.blame_plans import JOBS, STORAGES, recording_of
from testbed.blame_validation import Recorded
from testbed.markdown import table

# Largest and mean error of runtimes that are aimed at.
AIM = (0.20, 0.07)
AIMS = Aims(*AIM)
COVERAGE_AIM = (0.90, 0.98)
TITLE = """# Foretold runs, measured

How well does `slicewise foretell` predict what jobs take side by side, from a run of each job alone, if other runs of
several jobs on the same storage are known? This page compares its predictions with recorded runs. Without such other
runs, its answer is [a guess](models.md#how-wide-is-the-interval). `slicewise blame` is compared with the same runs in
[validation.md](validation.md#lost-time-and-blame), which also says how they were made.

- *Which jobs?* They take {alone} each alone. They read and write, in calls of 16 KiB to 1 MiB. Some compute in between,
  or come in bursts. There are a data loader, a storm of small files, fio, IOR and tar.
- *How many at a time?* Two or three, in slices of 1 s and of 4 s. The default of `slicewise run` is 4 s.
- *What are the names?* `four + four@20` are two jobs named `four`, of which the second begins 20 s after the first. The
  jobs are defined in `tests/testbed/blame_plans.py`: `four` and `twelve` write with 4 and 12 processes, `reader` reads
  with 4, `computing` and `phases` compute in between, `loader` is the data loader, `storm` the storm of small files.
  `stream` writes with one process, `mixed` in calls of two sizes; `paced` and `steady` keep to a rate.
- *On which storage?* Lustre, GPFS and BeeGFS were not tried. The storages are:

| storage | what it is |
|---|---|
| glusterfs | GlusterFS behind a link of 200 Mbit/s, without write-behind: each process has one request under way |
| sshfs | sshfs behind such a link, as it comes: the client takes writes into its memory first |
| sshfs-sync | the same, but the client waits for the answer to each write |
| disk | a file system in memory, whose reads and whose writes a control group limits to 23 MiB/s each |

The links are kind: their queues never drop, and TCP does not slow down by itself (`steady` in
`tests/testbed/nodes.py`). With links and clients as they come, errors are larger:
[as users meet it](validation.md#as-users-meet-it).

`make foretold-page` writes this page from the packed recordings (`tests/golden/campaigns`).
"""
READING = """## How do I read the tables?

| column | meaning |
|---|---|
| alone | what a run of this job alone took: the first one with slices of this length. The time of another run alone \
may differ: [how well they repeat](validation.md#how-well-do-standalone-runs-repeat) |
| took | what the job took beside the others: by its own clock; for fio, IOR and tar, which have none, by the I/O time \
span of its profile |
| foretold | the predicted time |
| between | its interval, which shall hold 95 % of the times. **outside**: the job took less or more than that |
| RE | the relative error: (foretold - took) / took. The bias is its mean |
| doubt told beforehand | before the run, `foretell` says why its prediction may be wrong. A doubt is about the run: \
all of its jobs have it. *metadata*, *law*: [in short](#in-short) says what these are |
| told while it ran | a look at the run before its end showed that the prediction would be wrong. If the time is \
within its interval all the same, the warning was false |
| told afterwards | the finished run itself shows that the law did not hold |

## What had a prediction seen?

- *Runs alone*, of each job. What a storage serves at most is taken from them.
- *Other runs of several jobs*, for the law. A law says how jobs share a storage. There are several, and the one that
  explains these runs best is taken. For each prediction the law is chosen anew: from the runs of this storage without
  the predicted run and its repeats. So a storage may have several laws on this page.
- *How do I read a law?* "Shares go by the bytes of the calls that are under way (of a call 128 KiB at most)": a job's
  share is proportional to these bytes, and a larger call counts as 128 KiB. Reads and writes *do not meet* if neither
  takes anything from the other. *Behind*: these calls are served after those.
- *How wide intervals are* was not held out: it was chosen among nine ways with these recordings and those of
  [validation.md](validation.md#as-users-meet-it) in view. When to look at a run was chosen on the recordings of
  validation.md, with these in view.
- *Missing* are the runs with a job of which there is no run alone on the same file system. On GlusterFS that is a
  reader beside a job that hardly does anything. On the disk these are the runs of a second session, which had a file
  system of its own (three jobs at a time, two that keep a pace, two that read).
"""
WIDTHS = """*RE* is the relative error: (foretold - took) / took. *End / end* says how wide intervals are: the upper end
over the lower end, in the median (and at most). Intervals and warnings were chosen with these recordings in view. On
recordings that were new, both aims were missed: [validation.md](validation.md#in-short) has figures.

A *doubt* is told before the run: *metadata*, if a job spends much of its time in metadata calls, which the laws hardly
describe; *law*, if the best law explains badly what was seen on this storage, or too little was seen, or memory takes
the first writes. A *warning* is told while the jobs run.
"""
# What of a time's doubt is seen in its words.
DOUBTS = {"metadata": lambda doubt: "metadata" in doubt, "law": lambda doubt: doubt and "metadata" not in doubt}


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
    alone = [one.alone for found in by_storage.values() for one in found]
    title = TITLE.replace("{alone}", f"{min(alone):.0f} to {max(alone):.0f} s")
    parts = [title, "## In short\n", _summary(by_storage), WIDTHS, _aims(by_storage), READING]
    for storage, found in by_storage.items():
        parts += [f"## {storage}\n", _laws(found), _jobs(found)]
    return folded("\n".join(parts))


def _summary(by_storage: dict[str, list[Outcome]]) -> str:
    rows = []
    for storage, found in by_storage.items():
        kinds = {
            "all": found,
            "without a doubt told beforehand": [one for one in found if not one.doubt],
        }
        rows += [_row(storage, which, some) for which, some in kinds.items() if some]
    every = [one for found in by_storage.values() for one in found]
    for length in sorted({one.run.slice_seconds for one in every}):
        some = [one for one in every if one.run.slice_seconds == length]
        rows.append(_row("all", f"in slices of {length:g} s", some))
    headings = [
        "storage",
        "jobs",
        "count",
        "mean \\|RE\\|",
        "largest \\|RE\\|",
        "bias",
        "within the interval",
        "end / end",
    ]
    return table(headings, rows)


def _row(storage: str, which: str, found: list[Outcome]) -> list[str]:
    figures = figures_of_told(found, AIMS.largest)
    return [
        storage,
        which,
        str(figures.count),
        words.percent(figures.mean),
        words.percent(figures.largest),
        words.signed_percent(figures.bias),
        f"{figures.within} of {figures.count}",
        usual_page.width(figures),
    ]


def _aims(by_storage: dict[str, list[Outcome]]) -> str:
    low, high = COVERAGE_AIM
    lines = [
        "What to do with that:\n",
        "- Where the table has large errors, plan by the interval and not by the time alone.",
        *_of_doubts(by_storage),
        "",
        f"The aims are an error of {100 * AIM[1]:.0f} % in the mean and {100 * AIM[0]:.0f} % at most, and "
        f"{100 * low:.0f} to {100 * high:.0f} % of the times within their intervals. All times count, those with a "
        "doubt, too:\n",
    ]
    for storage, found in by_storage.items():
        of_them = AIMS.missed(found)
        within = figures_of_told(found, AIMS.largest).within_share
        missed = [
            *(["the mean error"] if "mean" in of_them else []),
            *(["the largest error"] if "largest" in of_them else []),
            *([] if low <= within <= high else [f"the share within the intervals{_in_words(found)}"]),
        ]
        lines.append(f"- {storage} {'misses the aim for ' + words.listing(missed) if missed else 'meets the aims'}.")
    every = figures_of_told([one for found in by_storage.values() for one in found], AIMS.largest)
    outside, within_them = every.of_outside, every.of_within
    lines += [
        "",
        f"{every.outside} of {every.count} times lie outside of their intervals. Was that told?\n",
        f"- By a warning while the job ran: {outside.running} of these {every.outside}. "
        f"{within_them.running} of the {every.within} times within had such a warning, too: a false one.",
        f"- By a doubt beforehand: {outside.beforehand} of these {every.outside}. {within_them.beforehand} of the "
        f"{every.within} times within were doubted, too.",
        f"- By one or the other, before the job ended: {outside.in_time} of these {every.outside} (aim: 9 in 10).",
        f"- By the finished run: {outside.afterwards} of these {every.outside}.",
    ]
    return "\n".join(lines) + "\n"


def _of_doubts(by_storage: dict[str, list[Outcome]]) -> list[str]:
    """What doubts told beforehand are worth."""
    every = [one for found in by_storage.values() for one in found]
    lines = []
    for kind, is_it in DOUBTS.items():
        if doubted := [one for one in every if is_it(one.doubt)]:
            lines.append(f"- A doubt about *{kind}* beforehand: {_off_of(doubted)}")
    lines.append(f"- No doubt: {_off_of([one for one in every if not one.doubt])}")
    worse = [
        f"On {storage}, the {len(told)} times without a doubt are off by {words.percent(statistics.mean(told))} in the "
        f"mean, and the {len(doubted)} doubted ones by {words.percent(statistics.mean(doubted))}."
        for storage, found in by_storage.items()
        if (doubted := [abs(one.error) for one in found if one.doubt])
        and (told := [abs(one.error) for one in found if not one.doubt])
        and statistics.mean(told) > statistics.mean(doubted)
    ]
    if worse:
        lines.append(f"- {' '.join(worse)} So doubts say nothing there.")
    return lines


def _off_of(some: list[Outcome]) -> str:
    """How many of these times are off, in a sentence."""
    off, far = sum(not one.is_within for one in some), sum(abs(one.error) > AIMS.largest for one in some)
    return (
        f"{words.count(len(some), 'time')}; {off or 'none'} of them outside of the interval, {far or 'none'} off by "
        f"more than {100 * AIMS.largest:.0f} %."
    )


def _in_words(found: list[Outcome]) -> str:
    """How many of how many are within, and how many would be as aimed at."""
    fewest, most = counts_within(COVERAGE_AIM, len(found))
    figures = figures_of_told(found, AIMS.largest)
    asked = f"{fewest}" if fewest == most else f"{fewest} to {most}"
    what = "intervals may be too wide" if figures.within > most else "too few"
    chance = ", or it is chance" if figures.is_as_intervals_say else ""
    return f" ({figures.within} of {len(found)} in place of {asked}: {what}{chance})"


def _laws(found: list[Outcome]) -> str:
    laws = Counter(law_words(one.laws.chosen) for one in found)
    of_times = sorted((law, words.count(count, "time")) for law, count in laws.items())
    return "\n".join(["Laws taken:\n", *(f"- for {times}: {law}" for law, times in of_times), ""])


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
            "metadata" if "metadata" in one.doubt else "law" if one.doubt else "",
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
