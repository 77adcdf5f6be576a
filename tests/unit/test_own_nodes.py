"""Of clients that servers counted, those that are nodes of profiled jobs: by name, by address, of several nodes."""

import polars as pl
import pytest
from slicewise.catalog.clients import at_work, beside_served, clients, once
from slicewise.catalog.schema import KEY
from slicewise.digest.processes import unknown_node

MIB, SECOND = 1 << 20, 10**9


class Catalog:
    """As much of one as is asked. jobs: name, nodes, first and last second, MiB a second; clients have no nodes."""

    def __init__(self, path, *jobs):
        self.path, self.keys = path, {name: number for number, (name, *_) in enumerate(jobs)}
        about, ran, did = [], [], []
        for number, (_, nodes, *spans) in enumerate(jobs):
            first, last = spans[0][0], spans[-1][1]
            about.append((number, "profile" if nodes else "servers", first * SECOND, last * SECOND))
            ran += [(number, node) for node in nodes or [jobs[number][0]]]
            for begin, end, rate in spans:
                did += [
                    (number, 7, at * SECOND, (at + 1) * SECOND, 0, int(rate * MIB), 0, 0, 1) for at in range(begin, end)
                ]
        self.frames = {
            "jobs": pl.LazyFrame(about, ("key", "source", "start_ns", "end_ns"), orient="row"),
            "processes": pl.LazyFrame(ran, ("key", "node"), orient="row"),
            "job_slices": pl.LazyFrame(
                did,
                (
                    "key", "storage", "begin_ns", "end_ns", "read_bytes", "write_bytes", "read_ops", "write_ops",
                    "meta_ops",
                ),
                orient="row",
            ),
        }  # fmt: skip
        self.frames = {name: frame.cast({KEY: pl.UInt64}) for name, frame in self.frames.items()}
        self.frames["job_slices"] = self.frames["job_slices"].cast({"storage": pl.UInt64})

    def scan(self, name, batches):
        return self.frames[name]

    def left(self):
        """What is left of each client, in MiB, and the jobs with others beside them."""
        rows = once(self, [], self.frames["job_slices"]).collect()
        sums = {key: own["write_bytes"].sum() / MIB for (key,), own in rows.group_by(KEY)}
        beside = beside_served(self, [])[KEY].to_list()
        names = {number: name for name, number in self.keys.items()}
        served = clients(self, [])[KEY].to_list()
        return {names[one]: pytest.approx(sums.get(one, 0)) for one in served}, {names[one] for one in beside}


A_JOB = ("a", ["n1"], (10, 20, 5))
OTHER = ("b", ["n2"], (10, 20, 5))
TWO_CLIENTS = [(f"10.0.0.{at}", [], (10, 20, 5)) for at in (1, 2)]
# Jobs and clients, what is left of each client, and which jobs had others beside them.
EXPLAINED = {
    "by the name of a node": (
        [("a", ["n1.site"], (10, 20, 5)), ("n1", [], (10, 20, 5.1)), ("n2", [], (12, 15, 9))],
        {"n1": 0, "n2": 27}, {"a"},
    ),
    "what a node moved beyond its jobs is left": ([A_JOB, ("n1", [], (10, 20, 9))], {"n1": 90}, {"a"}),
    "two jobs of one node explain it together": (
        [A_JOB, ("b", ["n1"], (12, 22, 4)), ("n1", [], (2, 4, 1), (10, 12, 5), (12, 20, 9), (20, 22, 4))],
        {"n1": 2}, set(),
    ),
    "of two addresses the one that moved as much": (
        [A_JOB, ("10.0.0.1", [], (10, 20, 5)), ("10.0.0.2", [], (5, 20, 9))], {"10.0.0.1": 0, "10.0.0.2": 135}, {"a"}
    ),
    "of two that moved as much neither": ([A_JOB, *TWO_CLIENTS], {"10.0.0.1": 50, "10.0.0.2": 50}, {"a"}),
    "two jobs whose nodes have addresses": ([A_JOB, OTHER, *TWO_CLIENTS], {"10.0.0.1": 0, "10.0.0.2": 0}, set()),
}  # fmt: skip


@pytest.mark.parametrize("how", EXPLAINED)
def test_clients_that_are_nodes_of_jobs(tmp_path, how):
    jobs, left, beside = EXPLAINED[how]
    assert Catalog(tmp_path, *jobs).left() == (left, beside)


def test_the_nodes_of_a_job_by_addresses(tmp_path):
    """And a client that moved next to nothing, which makes no company."""
    four = [(f"10.0.0.{number}", [], (10, 20, 2)) for number in range(4)]
    job = ("a", [f"n{number}" for number in range(4)], (10, 20, 8))
    assert Catalog(tmp_path, job, *four).left() == ({name: 0 for name, *_ in four}, set())
    little = ("10.0.0.9", [], (12, 13, 1))
    left, beside = Catalog(tmp_path / "little", job, *four, little).left()
    assert (left["10.0.0.9"], beside) == (1, set())


def test_jobs_that_servers_know_by_name_are_no_clients(tmp_path):
    catalog = Catalog(tmp_path, ("a", ["n1"], (10, 20, 5)), ("4716", [], (10, 20, 5)))
    catalog.frames["processes"] = catalog.frames["processes"].with_columns(
        node=pl.col("node").replace("4716", unknown_node())
    )
    assert clients(catalog, []).is_empty()
    assert once(catalog, [], catalog.frames["job_slices"]).collect().height == 20


def test_a_job_that_did_next_to_nothing_is_no_company(tmp_path):
    """Nor one that ended before; requests count as bytes do."""
    job, few, early, much = (
        ("a", ["n1"], (10, 20, 5)), ("lfs", [], (11, 12, 1)), ("b", [], (0, 10, 5)), ("c", [], (15, 18, 2)),
    )  # fmt: skip
    storm = ("storm", [], (10, 20, 0))
    for others, beside in (([few, early], set()), ([few, much], {"a"}), ([storm], {"a"})):
        catalog = Catalog(tmp_path, job, *others)
        of_jobs = pl.col("node").replace([name for name, *_ in others], unknown_node())
        catalog.frames["processes"] = catalog.frames["processes"].with_columns(node=of_jobs)
        assert catalog.left() == ({}, beside)


def test_a_client_that_keeps_alive_is_not_at_work(tmp_path):
    idle = ("10.0.0.9", [], (0, 30, 1 / 1024))
    catalog = Catalog(tmp_path, ("a", ["n1"], (10, 20, 5)), ("n1", [], (10, 20, 5)), idle)
    rows = at_work(catalog, [], catalog.frames["job_slices"]).collect()
    assert rows[KEY].unique().to_list() == [catalog.keys["a"]]
    assert catalog.left()[0]["10.0.0.9"] == 30 / 1024
