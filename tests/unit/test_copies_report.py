"""What is said of copies of a job: sentences, table, texts for schedulers, JSON and page, from one analysis."""

import json
import re

import pytest
from slicewise.analysis.capacity.capacity import given as given_capacity
from slicewise.analysis.copies.copies import copies
from slicewise.digest.digest import read_digest
from slicewise.digest.shared import read_digests
from slicewise.report.copies import copies_words
from slicewise.report.copies.copies_page import copies_page
from slicewise.report.copies.copies_words import copies_record, copies_table
from slicewise.report.page import html_of
from support.command_line import slicewise_command
from support.runs import MIB, write_run, wrote


@pytest.fixture
def job(tmp_path):
    """In I/O for half of 24 s at 60 MiB/s."""
    return write_run(tmp_path / "sim", 24, [{at: wrote(60, 1.0) for at in range(0, 24, 2)}])


@pytest.fixture
def seen(tmp_path):
    rows = [{at: wrote(50, 0.99) for at in range(20)}]
    return [write_run(tmp_path / f"pair-{place}", 20, rows, begin=1000) for place in (1, 2)]


def test_the_first_sentence_says_how_many_and_what_they_lose(job):
    headline = copies_words.opening(copies(read_digest(job), capacity=given_capacity(150 * MIB)))[0]
    assert re.fullmatch(
        r"(\d) copies of sim may run side by side before each loses more than 10 %: "
        r"\1 lose [\d.]+ % \[[\d.]+-[\d.]+\], (\d) would lose [\d.]+ % \[[\d.]+-[\d.]+\]\. Confidence: (high|medium)\.",
        headline,
    )


def test_one_none_and_at_least(job, seen, tmp_path):
    digest = read_digest(job)
    assert copies_words.headline(copies(digest, capacity=given_capacity(60 * MIB))).startswith(
        "Only one sim may run at a time before each loses more than 10 %: 2 would lose "
    )
    other = write_run(tmp_path / "post", 20, [{at: wrote(80, 0.99) for at in range(20)}], program="/opt/post")
    beside = copies(digest, beside=[read_digest(other)], capacity=given_capacity(80 * MIB))
    assert copies_words.headline(beside).startswith(
        "Not even one sim may run beside post before it loses more than 10 %"
    )
    rows = [{at: wrote(59.9, 0.99) for at in range(20)}]
    easy = [write_run(tmp_path / f"easy-{place}", 20, rows, begin=2000) for place in (1, 2)]
    found = copies(digest, seen=read_digests(easy))
    assert copies_words.headline(found).startswith("At least ")
    assert any("was never seen full" in line for line in copies_words.opening(found))


def test_evidence_names_the_demand_the_share_of_time_and_the_capacity(job, seen):
    said = copies_words.evidence(copies(read_digest(job), seen=read_digests(seen)))
    assert said.startswith("sim spends 50.0 % of its runtime in I/O on /scratch and moves 60.0 MiB/s [")
    assert "/scratch serves 100 MiB/s" in said
    assert said.endswith("what jobs wrote together in the slices that several filled, in 1 run.")


def test_limits_for_slurm_and_lustre(job):
    found = copies(read_digest(job), capacity=given_capacity(150 * MIB))
    assert copies_words.licence(found) == [
        "# slurm.conf, added to its line of licences if it has one; then: scontrol reconfigure",
        f"Licenses=simulation_scratch:{found.most}",
        "# each job of this kind",
        "sbatch -L simulation_scratch:1 ...",
    ]
    rate = min(60.0, 150 / found.most)
    assert copies_words.rate_per_copy(found) == pytest.approx(rate * MIB)
    assert copies_words.token_bucket_rule(found)[-2:] == [
        'lctl set_param ost.OSS.ost_io.nrs_policies="tbf jobid"',
        f'lctl set_param ost.OSS.ost_io.nrs_tbf_rule="start simulation jobid={{simulation.*}} rate={int(rate / 4)}"',
    ]


def test_names_cannot_break_out_of_a_rule(tmp_path):
    nasty = write_run(tmp_path / "j", 20, [{at: wrote(60, 1.0) for at in range(10)}], program='/opt/a"; rm -rf ~}')
    found = copies(read_digest(nasty), capacity=given_capacity(300 * MIB))
    rule = copies_words.token_bucket_rule(found)[-1]
    assert re.fullmatch(r'lctl set_param \S+="start \w+ jobid=\{[\w.+*-]+\.\*\} rate=\d+"', rule)
    assert re.fullmatch(r"Licenses=\w+:\d+", copies_words.licence(found)[1])


def test_the_table_goes_a_bit_beyond_the_limit(job):
    found = copies(read_digest(job), capacity=given_capacity(300 * MIB))
    table = copies_table(found)
    assert len(table.rows) == found.most + 2
    assert [row[-1].text for row in table.rows].index("the most") == found.most - 1
    assert len(copies_table(found, 3).rows) == 3


def test_json_and_page(job, seen):
    found = copies(read_digest(job), seen=read_digests(seen))
    record = copies_record(found, None)
    assert {"copies", "copies_low", "copies_high", "demand", "io_share", "capacity", "rows", "slurm", "lustre"} <= set(
        record
    )
    assert record["capacity"]["source"] == "jobs side by side"
    page = copies_page(found, [])
    assert sum(section.chart is not None for section in page.sections) == 1
    assert "Licenses=simulation_scratch:" in html_of(page)


def test_the_command(job, seen, tmp_path):
    done = slicewise_command("predict", "--copies", job, "--seen", seen[0], "--seen", seen[1], "--most-loss", "20")
    assert done.status == 0, done.errors
    assert "before each loses more than 20 %" in done.text
    assert "sbatch -L simulation_scratch:1" in done.text
    assert (tmp_path / "copies-sim.html").exists()
    as_json = json.loads(slicewise_command("predict", "--copies", job, "--capacity", "150MiB/s", "--json").output)
    assert as_json["capacity"]["mib_s"] == 150
    for arguments in ([], ["--capacity", "150"], ["--capacity", "fast"]):
        refused = slicewise_command("predict", "--copies", job, *arguments)
        assert (refused.status, refused.errors.count("\n")) == (2, 1)
