"""Results of IO500 are read in each of their layouts, and what cannot be read is named with its reason."""

from pathlib import Path

import pytest
from slicewise.io500.ranks import laggards, slow_ranks
from slicewise.io500.results import read_results
from slicewise.io500.texts import PHASES, Unreadable, read_summary, require_phases
from support.io500_results import new_summary, old_summary, rank_table, rates_of, result_text, write_result

RATES = rates_of((1.0, 2.0), (4.0, 10.0))
EXTRA = {**RATES, "find": 1.5, "ior-rnd4K-easy-read": 0.25}


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        (new_summary(RATES), 300.0),
        (new_summary(EXTRA), 300.0),
        (old_summary(RATES), 30.5),
        (old_summary(RATES, unit="GiB/s"), 30.5),
        (result_text(RATES), 12.5),
        (result_text(RATES, has_run_section=False), 12.5),
        (result_text(EXTRA), 12.5),
    ],
)
def test_every_layout_gives_the_same_run(text, seconds):
    summary = read_summary(text)
    assert {name: summary.phases[name].rate for name in PHASES} == RATES
    assert all(summary.phases[name].seconds == seconds and summary.phases[name].is_valid for name in PHASES)
    assert not summary.trouble


def test_extra_phases_are_kept_and_scores_are_none():
    phases = read_summary(new_summary(EXTRA)).phases
    assert {"find", "ior-rnd4k-easy-read", "timestamp"} <= set(phases)
    assert not any("score" in name.lower() for name in phases)


@pytest.mark.parametrize(
    "text",
    [
        new_summary(RATES, invalid="ior-hard-read"),
        old_summary(RATES, invalid="ior-hard-read"),
        result_text(RATES).replace("[ior-hard-read]", "[ior-hard-read]\n; ERROR INVALID stonewall-time < 300s"),
    ],
)
def test_a_phase_that_io500_calls_invalid_is_read_and_marked(text):
    summary = read_summary(text)
    assert [phase.name for phase in summary.phases.values() if not phase.is_valid] == ["ior-hard-read"]
    assert summary.phases["ior-hard-read"].rate == 1.0


def test_units_are_those_that_the_line_says():
    text = old_summary(RATES).replace("1.000 GB/s", "1024.000 MiB/s").replace("2.000 kiops", "2000.000 iops")
    assert {name: read_summary(text).phases[name].rate for name in PHASES} == RATES


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "it is empty"),
        ("a\x00b", "binary"),
        ("hello\n", "no phase of IO500"),
        ("[ior-easy-write]\nscore = much\n", "score = much is no number"),
    ],
)
def test_what_is_no_summary_is_refused_with_its_reason(text, reason):
    with pytest.raises(Unreadable, match=reason):
        read_summary(text)


def test_missing_and_useless_phases_are_named():
    phases = dict(read_summary(new_summary(RATES)).phases)
    require_phases(phases)
    del phases["ior-hard-read"]
    with pytest.raises(Unreadable, match="ior-hard-read is missing"):
        require_phases(phases)
    with pytest.raises(Unreadable, match="ior-easy-write has no rate above 0"):
        require_phases(read_summary(new_summary({**RATES, "ior-easy-write": 0.0})).phases)


def test_a_line_that_is_not_understood_is_told_and_a_second_one_does_not_count():
    text = (
        new_summary(RATES) + "[RESULT] ior-easy-write fast GiB/s\n[RESULT] ior-easy-write 9.0 GiB/s : time 1 seconds\n"
    )
    summary = read_summary(text)
    assert summary.phases["ior-easy-write"].rate == 4.0
    assert len(summary.trouble) == 2
    assert "is not understood: [RESULT] ior-easy-write fast" in summary.trouble[0]


def test_directories_are_searched_and_all_that_is_not_read_is_listed(tmp_path):
    write_result(tmp_path / "a" / "results" / "2026.01.02-03.04.05", (1, 2), (4, 10))
    other = write_result(tmp_path / "b", (1, 2), (4, 10))
    (other / "._result_summary.txt").write_bytes(b"\x00\x05\x16\x07\x00\x02\x00\x00Mac OS X")
    broken = tmp_path / "c"
    broken.mkdir()
    (broken / "result_summary.txt").write_text(new_summary({"ior-easy-write": 1.0}))
    results = read_results([tmp_path, tmp_path / "nowhere"])
    assert [run.name for run in results.runs] == ["a/results/2026.01.02-03.04.05", "b"]
    assert results.runs[0].start is not None
    reasons = {Path(entry.path).relative_to(tmp_path).as_posix(): entry.reason for entry in results.unreadable}
    assert "AppleDouble" in reasons["b/._result_summary.txt"]
    assert reasons["c/result_summary.txt"].startswith(
        "ior-easy-read, ior-hard-write, ior-hard-read, mdtest-easy-write and 6 more are missing"
    )
    assert reasons["nowhere"] == "there is no such file or directory"
    assert len(reasons) == 3


def test_an_empty_directory_is_no_silent_success(tmp_path):
    assert "no result_summary.txt or result.txt" in read_results([tmp_path]).unreadable[0].reason


def test_result_txt_stands_in_for_a_summary_and_fills_in_what_it_leaves_out(tmp_path):
    run = write_result(tmp_path / "run", (1, 2), (4, 10))
    (run / "result.txt").write_text(result_text(rates_of((7, 7), (8, 8)), api="MPIIO"))
    found = read_results([tmp_path]).runs[0]
    assert found.phases["ior-hard-write"].rate == 1.0
    assert (found.api, found.processes) == ("MPI-IO", 16)
    (run / "result_summary.txt").write_text("damaged")
    results = read_results([run / "result_summary.txt", run])
    assert results.runs[0].phases["ior-hard-write"].rate == 7.0
    assert [Path(entry.path).name for entry in results.unreadable] == ["result_summary.txt"]


def test_the_api_is_taken_from_iors_own_output(tmp_path):
    run = write_result(tmp_path / "run", (1, 2), (4, 10))
    (run / "ior_easy_write.txt").write_text("Began: Thu Jan  1 10:00:00 2026\n\tapi                = POSIX\n")
    (run / "ior-hard-write.txt").write_text("api                 : MPIIO (version=3)\n")
    found = read_results([run]).runs[0]
    assert (found.name, found.api) == ("run", "POSIX, hard MPI-IO")
    assert found.start is not None


def test_the_slow_ranks_are_those_that_stand_out():
    assert slow_ranks(dict.fromkeys(range(8), 100.0)) == {}
    assert slow_ranks({**{rank: 100.0 + rank for rank in range(8)}, 3: 25.0}) == {3: pytest.approx(104 / 25, rel=0.1)}
    assert slow_ranks({rank: 10.0 * (rank + 1) for rank in range(8)}) == {}


@pytest.mark.parametrize("phase", ["ior-easy-write", "mdtest-easy-write"])
def test_a_sick_node_is_named_by_the_file_that_knows_its_name(tmp_path, phase):
    run = write_result(tmp_path / "run", (2, 2.5), (1.5, 11))
    rates = {rank: 25.0 if rank in (4, 5) else 100.0 + rank for rank in range(12)}
    (run / f"{phase}.csv").write_text(rank_table(rates, phase))
    found = laggards(read_results([run]).runs[0])
    assert [lag.who for lag in found] == [("rank 4", "rank 5")]
    (run / f"{phase}.txt").write_text("".join(f"task {rank} on n{rank // 2:02}\n" for rank in range(12)))
    found = laggards(read_results([run]).runs[0])
    assert [(lag.phase, lag.who, lag.ranks) for lag in found] == [(phase, ("n02",), (4, 5))]
    assert found[0].slowness == pytest.approx(4.2, rel=0.05)


def test_nodes_are_counted_where_nothing_names_them(tmp_path):
    run = write_result(tmp_path / "run", (2, 2.5), (1.5, 11))
    done = {rank: 20 if rank in (2, 3) else 99 + rank % 2 for rank in range(8)}
    lines = [f"stonewall rank {rank}: {items} of 100 \n" for rank, items in done.items()]
    head = "mdtest-4.0.0 was launched with 8 total task(s) on 4 node(s)\nNodemap: "
    (run / "mdtest_hard_write.txt").write_text(f"{head}11000000\n{''.join(lines)}")
    assert laggards(read_results([run]).runs[0])[0].who == ("node 1 of 4",)
    (run / "mdtest_hard_write.txt").write_text(f"{head}10001000\n{''.join(lines)}")
    assert laggards(read_results([run]).runs[0])[0].who == ("rank 2 on node 2 of 4", "rank 3 on node 3 of 4")
