"""What is said of who slowed a job down: the first sentences, the tables, JSON, and all of it without others' names."""

import json
import re
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from slicewise.analysis.blame.result import Baseline, Traffic
from slicewise.analysis.blame.uncontended import NOBODY
from slicewise.analysis.runs.storage import Storage
from slicewise.digest.digest import Digest
from slicewise.profile.reader import read_profile
from slicewise.report.blame import blame_words
from slicewise.report.blame.anonymous import anonymous, labels_of
from slicewise.report.blame.blame_page import kinds, neighbours_table, sources_table
from slicewise.report.blame.blame_record import blame_record
from slicewise.report.blame.explained import explanation
from support import blames
from support.blames import MIB, SCRATCH, SECOND, blame, estimate, neighbour, slices_and_shares, unknown
from support.jobs import write_competing_jobs

DOCUMENTED = (Path(__file__).resolve().parents[2] / "docs/commands.md").read_text()


ROOT = Storage(9, "ext4", "/dev/vda", "vm", "/")
NOT_SLOWED = blame(runtime_seconds=10.8, lost=estimate(0.1, -0.1, 0.3), is_claimed=False)
# Somebody used the storage from which it loaded its program.
ON_ROOT = blame(
    [neighbour(None, 0.0, storage=ROOT)],
    shares=slices_and_shares([neighbour(None)])[1].with_columns(storage=pl.lit(ROOT.number, pl.UInt64)),
    traffic=[Traffic(SCRATCH, 1, 1, "disk", own_ns=21 * SECOND), Traffic(ROOT, 1, 99, "disk", own_ns=SECOND // 10)],
)
# What is said of a blame, by which function; before or after "..." more may stand.
SAID = {
    "one neighbour": (blame(), blame_words.headline_with_confidence, [
        "small took 2.0 times as long as alone: 21.6 s instead of 10.7 s [10.6-10.9], because of large.   "
        "Confidence: high",
    ]),
    "and what it did": (blame(), blame_words.second_sentence, [
        "Of 21.6 s in I/O calls, 10.9 s were lost: 10.8 s while large wrote 28.8 MiB/s to /scratch, 0.1 s unexplained.",
    ]),
    "who may as well have cost nothing perhaps cost something": (
        blame([neighbour(lost=7.2), replace(neighbour("b", 3.6), lost=estimate(3.6, -2.4, 9.6))]),
        blame_words.second_sentence, ["...7.2 s while large...", "...perhaps 3.6 s while b..."],
    ),
    "one that explains all": (blame([neighbour(lost=10.88)]), blame_words.second_sentence, [
        "Of 21.6 s in I/O calls, 10.9 s were lost, all of it while large wrote 28.8 MiB/s to /scratch.",
    ]),
    "traffic without a profile is a neighbour": (
        blame([neighbour("large", 6.0), neighbour(None, 4.8)]),
        lambda told: f"{blame_words.headline(told)} {blame_words.second_sentence(told)}", [
            "..., because of large and programs without a profile. ...",
            "...4.8 s while programs without a profile wrote 28.8 MiB/s to /scratch...",
        ],
    ),
    "processes that end apart": (blame([neighbour(lost=8.0)], apart_seconds=2.5), blame_words.second_sentence, [
        "...2.5 s waiting for its own slowest process, 0.4 s unexplained.",
    ]),
    "little in percent": (blame(runtime_seconds=12.0), blame_words.headline, [
        "small took 12 % longer than alone: 12.0 s instead of 10.7 s...",
    ]),
    "no time alone": (blame(alone=estimate(0.0, 0.0, 0.1)), blame_words.headline, [
        "small took many times as long as alone: 21.6 s instead of 0 s ...",
    ]),
    "the first of many reasons": (
        unknown(unknown_because="no standalone run is known; only 3 slices were quiet; it varies too much"),
        blame_words.headline, [
            "Unknown whether small was slowed down: no standalone run is known, and this run by itself does not tell.",
        ],
    ),
    "a loss that could be none": (NOT_SLOWED, lambda told: "\n".join(blame_words.opening(told)), [
        "small was not slowed down measurably: it took 10.8 s, and alone it takes 10.7 s [10.6-10.9].\n"
        "large used /scratch at the same time, and did it no measurable harm.",
    ]),
    "and nobody there": (replace(NOT_SLOWED, neighbours=[]), blame_words.second_sentence, [
        "No other profile shows anybody on its storage at that time.",
    ]),
    "and nobody but where it loaded its program": (
        replace(ON_ROOT, is_claimed=False), blame_words.second_sentence, [
            "No other profile shows anybody on its storage at that time.",
        ],
    ),
    "what it lost at most": (
        unknown(waits="one process", io_seconds=1.04), blame_words.second_sentence, [
            "It lost at most 1.04 s of its 21.6 s in I/O calls, which took no longer. large used ...",
        ],
    ),
    "and nothing of ranks, which wait for each other": (unknown(io_seconds=1.04), blame_words.second_sentence, [
        "large used ...",
    ]),
    "a loss that is large if it is one": (
        blame(lost=estimate(5.0, -3.0, 13.0), alone=estimate(16.6, 8.6, 24.6), is_claimed=False, confidence="low"),
        lambda told: "\n".join(blame_words.opening(told)), [
            "small may have been slowed down: it took 21.6 s, and alone it takes 16.6 s [8.60-24.6], "
            "which is too uncertain to tell.\nlarge used /scratch at the same time.",
        ],
    ),
    "faster than alone": (
        blame([], runtime_seconds=9.8, lost=estimate(-0.9, -1.1, -0.7), is_claimed=False),
        lambda told: "\n".join(blame_words.opening(told)), [
            "small was not slowed down: it took 9.80 s, less than the 10.7 s [10.6-10.9] that it takes alone.",
        ],
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", SAID)
def test_what_is_said(case):
    told, say, expected = SAID[case]
    for said in expected:
        assert re.fullmatch(re.escape(said).replace(re.escape("..."), ".*"), say(told), re.DOTALL), say(told)


def test_what_its_own_processes_cost_each_other_is_said_where_it_is_much():
    said = "Of its own I/O, about 6.10 s [5.00-7.20] are its own 2 processes waiting for each other (an estimate)."
    told = blame(own_processes=blames.each_other())
    assert said in blame_words.further_lines(told)
    assert blame_record(told, None)["own_processes_seconds"] == told.own_processes.seconds
    for little in (None, blames.each_other(1.0, 0.9, 1.1), blames.each_other(6.1, 0.0, 12.0)):
        assert "waiting for each other" not in " ".join(blame_words.further_lines(blame(own_processes=little)))


def test_who_used_only_what_the_job_hardly_did_has_no_row():
    assert [row[0].text for row in neighbours_table(ON_ROOT).rows] == ["unexplained"]


def test_next_to_nothing_in_a_wide_interval_is_nothing():
    assert blame_words.estimate(estimate(8.9e-16, -2.61, 2.61)) == "0 s [-2.61 to 2.61]"
    assert blame_words.estimate(estimate(0.01, -2.61, 2.61)) == "0.0100 s [-2.61 to 2.61]"


def test_several_neighbours_are_told_the_worst_first_and_those_without_weight_together():
    reader = neighbour("reader", 3.0, read_bytes=300 * MIB, write_bytes=0)
    storm = neighbour("storm", 6.0, write_bytes=0, meta_ops=30_000)
    told = blame([reader, storm, neighbour("a", 0.9), neighbour("b", 0.9), neighbour("c", 0.1)])
    assert blame_words.headline(told).endswith(", because of storm, reader, a and 1 other job.")
    assert blame_words.second_sentence(told) == (
        "Of 21.6 s in I/O calls, 10.9 s were lost: 6.0 s while storm made 2,000 metadata calls a second on /scratch, "
        "3.0 s while reader read 20.0 MiB/s from /scratch, 0.9 s while a wrote 28.8 MiB/s to /scratch, "
        "1.0 s while 2 other neighbours used the same storage."
    )


def test_who_may_as_well_have_cost_nothing_is_no_reason():
    doubtful = replace(neighbour(None), lost=estimate(1.5, -0.3, 3.3))
    told = blame([neighbour("large", 9.4), doubtful])
    assert blame_words.headline(told).endswith("], because of large.")
    assert "1.5 s while programs without a profile" in blame_words.second_sentence(told)
    much = replace(doubtful, lost=estimate(3.0, -0.3, 6.3))
    assert blame_words.headline(blame([much])).endswith("], and no profile shows why.")
    assert "perhaps 3.0 s while programs without a profile" in blame_words.second_sentence(blame([much]))
    named = replace(neighbour("large"), lost=estimate(9.0, -0.3, 18.3))
    assert blame_words.headline(blame([named])).endswith("].")  # nor does a profile that shows somebody show nobody
    assert "perhaps 9.0 s while large" in blame_words.second_sentence(blame([named]))
    part = blame([neighbour("large", 4.0), replace(much, lost=estimate(6.0, -0.3, 12.3))])
    assert blame_words.headline(part).endswith("], partly because of large.")
    each = [replace(neighbour(name), lost=estimate(5.0, -0.3, 10.3)) for name in ("a", "b")]
    assert blame_words.headline(blame(each)).endswith("], because of its neighbours together.")


def test_a_loss_that_nobody_explains():
    alone = blame([])
    assert blame_words.headline(alone).endswith(
        "10.7 s [10.6-10.9]: its storage was slower, and no other job is known to have used it then."
    )
    by_line = blame([], baseline=replace(alone.baseline, source="line"))
    assert blame_words.headline(by_line).endswith(", but no other job is known to have used its storage then.")
    assert blame_words.second_sentence(alone) == "Of 21.6 s in I/O calls, 10.9 s were lost, all of it unexplained."
    partly = blame([neighbour(lost=4.0)])
    assert blame_words.headline(partly).endswith(", partly because of large.")


def test_what_was_made_up_elsewhere_is_told_where_it_matters():
    told = blame([neighbour(lost=12.0)])
    assert blame_words.second_sentence(told).endswith(", less 1.1 s made up at other times.")
    assert "made up" not in blame_words.second_sentence(blame([neighbour(lost=10.92)]))
    unequal = blame([neighbour(lost=12.0)], apart_seconds=-1.1)
    assert blame_words.second_sentence(unequal).endswith(", less 1.1 s because its processes lost unequally.")


def test_long_runs_are_told_in_minutes_and_their_intervals_in_seconds():
    told = blame(
        [neighbour(lost=146.0)], runtime_seconds=618.0, io_seconds=600.0, lost=estimate(150.0, 140.0, 160.0),
        alone=estimate(468.0, 460.0, 474.0), unexplained_seconds=4.0,
    )  # fmt: skip
    assert "10 min 18 s instead of 7 min 48 s [460-474 s], because" in blame_words.headline(told)
    assert "Of 10 min in I/O calls, 150 s were lost: 146 s while large" in blame_words.second_sentence(told)


def test_unknown_says_why_and_the_one_step_that_would_tell():
    assert blame_words.headline_with_confidence(unknown()) == (
        "Unknown whether small was slowed down: no standalone run was found, and large was active throughout.   "
        "Confidence: unknown"
    )
    step = "To find out: run small once alone: slicewise run --job small-alone -- ./postproc"
    shared = "large used the same file system at the same time."
    assert blame_words.second_sentence(unknown()) == f"{shared} {step}"


def test_a_job_that_had_its_storage_to_itself():
    nobody = f"no standalone run is known, and {NOBODY}"
    told = unknown(shares=blame([]).shares, next_step="", unknown_because=nobody)
    assert blame_words.opening(told) == [
        "Nobody is known to have slowed small down: no profile shows anybody else on its file systems."
    ]
    running = replace(told, is_running=True)
    assert blame_words.second_sentence(running).startswith("Other jobs that still run too are known only by what ")
    idle = unknown(shares=blame([]).shares, slices=blame().slices.clear(), unknown_because="it made no calls on files")
    assert blame_words.headline(idle) == "Unknown whether small was slowed down: it made no calls on files."


def test_a_job_that_still_runs():
    told = blame(is_running=True, as_of_ns=blames.START_NS + 17_000_000_000)
    assert blame_words.headline(told).startswith(
        "small (still running; as of 22:13:37) took 2.0 times as long as alone: 21.6 s so far instead of "
    )
    assert "whether small (still running; as of 22:13:20) was" in blame_words.headline(
        unknown(is_running=True, as_of_ns=blames.START_NS)
    )


def test_a_number_for_a_name_comes_with_its_program():
    job = replace(blame().job, job="48190")
    told = blame([neighbour("48213")], job=job)
    assert blame_words.headline(told).startswith("48190 (postproc) took ")
    assert blame_words.headline(told).endswith("because of 48213 (simulation).")


def test_a_model_that_contradicts_the_blame_beyond_both_intervals_is_told():
    assert list(blame_words.disagreements(blame())) == []
    told = blame([neighbour(without_it_end=estimate(14.5, 14.2, 14.8))])
    assert list(blame_words.disagreements(told)) == [
        "Two ways to see large disagree: 10.8 s [10.6-11.0] were lost while it was active, but by the model of "
        "sharing small would have ended 7.10 s [6.80-7.40] sooner without it."
    ]


def test_further_lines():
    told = blame(
        contradiction="standalone runs say 10.7 s and quiet slices 14 s", missing=[f"rank {rank}" for rank in range(6)],
        next_step="run small once alone", notes=["the clocks of two nodes differ by 1 s"],
    )  # fmt: skip
    assert blame_words.further_lines(told) == [
        "standalone runs say 10.7 s and quiet slices 14 s.",
        "Profiles explain 97 % of the 891 MiB that moved on /scratch meanwhile.",
        "Missing: the profile of rank 0, rank 1, rank 2, rank 3 and 2 more. What happened there is in no figure.",
        "the clocks of two nodes differ by 1 s.",
        "To be surer: run small once alone.",
    ]
    assert blame_words.traffic_line(Traffic(SCRATCH, 9, None, "")) == ""
    trifle = Traffic(SCRATCH, 4096, None, "")
    assert blame_words.worth_telling([trifle, *blame().traffic]) == blame().traffic
    assert blame_words.traffic_line(Traffic(SCRATCH, 4096, 4096, "")).startswith("Profiles explain all of the 4 KiB ")


@pytest.mark.parametrize(
    ("source", "runs", "line"),
    [
        ("standalone runs", ["a"], "Alone: from its standalone run a."),
        ("standalone runs", ["a", "b"], "Alone: from its standalone runs a and b."),
        ("other sizes", ["a"], "Alone: estimated from a, of the same program in other sizes."),
        ("quiet slices", [], "Alone: from the parts of this very run in which nobody else used the storage."),
    ],
)
def test_what_the_time_alone_is_from(source, runs, line):
    assert blame_words.baseline_line(blame(baseline=blames.baseline(source=source, runs=runs))) == line


def test_the_table_has_a_row_a_neighbour_and_one_for_the_rest():
    told = blame([neighbour("large", 8.0), neighbour("b", 1.0), neighbour(None, 1.0)])
    table = neighbours_table(told, most=1)
    assert [row[0].text for row in table.rows] == ["large simulation", "2 other neighbours", "unexplained"]
    assert [cell.text for cell in table.rows[0][1:]] == [
        "8.00 [7.80-8.20]", "22:13:20 - 22:13:35", "writes", "432 MiB", "22:13:30",
    ]  # fmt: skip
    assert [row[1].text for row in table.rows[1:]] == ["2.0", "0.9"]
    assert table.columns[-1].heading == "without it, small ends at"


def test_several_storages_have_a_column():
    elsewhere = replace(SCRATCH, number=8, point="/home")
    table = neighbours_table(blame([neighbour(), neighbour("b", 1.0, storage=elsewhere)]))
    assert [row[3].text for row in table.rows[:2]] == ["/scratch", "/home"]


def test_kinds_of_calls_that_waited():
    assert kinds(neighbour()) == "writes"
    assert kinds(neighbour(kinds={"read": 3.0, "meta": 1.0, "write": 0.001})) == "reads 3.00 s, metadata calls 1.00 s"
    assert kinds(neighbour(kinds={})) == "-"


def test_sources_are_told_with_what_spoke_against_them():
    rows = [[cell.text for cell in row] for row in sources_table(blame()).rows]
    assert rows == [
        ["standalone runs of the same size", "10.7 s", "[10.6-10.9]", "high", "this one counts: small-alone"],
        ["slices of this run without company", "-", "-", "-", "only 3 slices were quiet"],
    ]


def test_every_number_is_explained():
    text = "\n".join(explanation(blame()))
    for part in (
        "Runtime: 21.6 s", "10.7 s [10.6-10.9] of I/O, from small-alone", "only 3 slices were quiet",
        "Lost of the runtime: 10.9 s [10.7-11.0]", "Lost to large: 10.8 s", "Without large, all", "864 MiB in profiles",
        "Confidence: high",
    ):  # fmt: skip
        assert part in text
    assert "no standalone run was found" in "\n".join(explanation(unknown()))


@pytest.mark.parametrize(
    ("exponent", "said"), [(1.1, "take turns"), (2.0, "partly get in each other's way"), (32.0, "hardly meet")]
)
def test_how_a_storage_serves_several_kinds_at_once(exponent, said):
    traffic = [Traffic(SCRATCH, 9 * MIB, None, "", exponent, 12)]
    assert any(f"metadata calls {said} (exponent " in line for line in explanation(blame(traffic=traffic)))


def test_json_has_its_documented_keys():
    record = blame_record(blame([neighbour(), neighbour(None, 0.1)]), Path("blame.html"))
    keys = {
        "job", "runtime_seconds", "io_seconds", "alone_seconds", "lost_seconds", "slowdown", "confidence",
        "is_running", "neighbours", "unexplained_seconds", "unknown_because", "baseline",
    }  # fmt: skip
    assert keys <= set(record)
    assert record["unknown_because"] is None
    first, unprofiled = record["neighbours"]
    assert {"job", "lost_seconds", "storage", "kinds", "without_it_end_seconds"} <= set(first)
    assert (first["job"], first["without_it_end_seconds"], unprofiled["job"]) == ("large", 10.9, None)
    assert sum(each["lost_seconds"].value for each in record["neighbours"]) + record["unexplained_seconds"] == (
        pytest.approx(record["lost_seconds"].value)
    )
    for key in (
        *record,
        *first,
        *record["baseline"],
        *record["traffic"][0],
        *record["slices"][0],
        *record["shares"][0],
    ):
        assert f"`{key}`" in DOCUMENTED, key


def test_an_unknown_blame_has_null_where_nothing_is_known():
    record = blame_record(unknown(), None)
    for key in ("alone_seconds", "lost_seconds", "slowdown", "baseline", "unexplained_seconds", "page"):
        assert record[key] is None
    assert record["unknown_because"].startswith("no standalone run")
    assert record["confidence"] == "unknown"


@pytest.fixture(scope="module")
def digests(tmp_path_factory):
    """48190 (postproc on n6) beside 48213 (simulation on n1 to n5)."""
    paths = write_competing_jobs(tmp_path_factory.mktemp("jobs"), "secretive", "own-job")
    return [Digest(read_profile(path)) for path in paths]


def test_others_names_are_hidden_and_their_numbers_kept(digests):
    secret, own = digests
    told = blame(
        [neighbour("secretive", 8.0), neighbour(None, 2.0)],
        job=replace(blame().job, job="own-job"),
        unknown_because="secretive was active",
        missing=[f"{secret.path}/n2.swz"],
        notes=["secretive-2 and /opt/simulation ran on n1; own-job (postproc) on n6"],
        sources=[Baseline("line", None, "unknown", "secretive never changed its rate")],
    )
    hidden = anonymous(told, own, [secret])
    text = json.dumps(blame_record(hidden, None), default=str) + "\n".join(
        [*blame_words.opening(hidden), *blame_words.further_lines(hidden), *explanation(hidden)]
    )
    for name in ("secretive", "simulation", str(secret.path), '"n1', "n1;"):
        assert name not in text
    assert "own-job (postproc) on n6" in text
    assert hidden.neighbours[0].job == "another job (A)"
    assert hidden.neighbours[1].job is None
    assert hidden.neighbours[0].lost == told.neighbours[0].lost
    assert hidden.sources[0].source == "line"
    assert blame_words.headline(hidden).endswith("because of another job (A) and programs without a profile.")
    assert set(hidden.shares["neighbour"].drop_nulls()) == {"another job (A)"}


def test_a_name_that_is_a_common_word_hides_no_more_than_itself(digests):
    secret, own = digests
    told = blame([neighbour("a")], notes=["a was a faraway job: it was not"])
    assert anonymous(told, own, [secret]).notes == ["another job (A) was another job (A) faraway job: it was not"]


def test_labels_go_on_after_z():
    labels = list(labels_of(str(place) for place in range(28)).values())
    assert [re.search(r"\((\w+)\)", label)[1] for label in labels[-3:]] == ["Z", "AA", "AB"]
