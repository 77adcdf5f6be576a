"""What a job is to be compared with: those named, and where none are, what lies beside its profile.

Paths in, digests out.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import polars as pl

from slicewise.analysis.blame.blame import blame, losses
from slicewise.analysis.blame.on_nodes import waited, words_of_nodes
from slicewise.analysis.blame.result import HAD_COMPANY, Blame, RunTaken
from slicewise.analysis.blame.servers import let_clients_tell, let_servers_tell
from slicewise.analysis.calls import OF_JOBS, Rows, job_rows
from slicewise.analysis.runs.limits import has_limits, is_apart
from slicewise.analysis.runs.matching import company as in_company
from slicewise.catalog.kept import KeptDigest, KeptJob
from slicewise.catalog.neighbours import Neighbourhood, at_once
from slicewise.catalog.sources import counted_beside, find_nearby, kept_job, read_digests
from slicewise.catalog.store import Catalog
from slicewise.digest import large
from slicewise.digest.counters import know_each_other
from slicewise.digest.digest import SELDOM, Digest
from slicewise.digest.node_use import NO_PROCESSES, node_use
from slicewise.digest.shared import with_names_of_their_own
from slicewise.digest.surroundings import MOST_PROFILES, Nearby, Surroundings, job_directory
from slicewise.errors import UserError
from slicewise.text import words

MOST_NAMED = 6
# So many profiles in a directory are read and compared by the way.
MOST_BY_THE_WAY = 20
# Where all jobs are asked about at once, so many neighbours at most are asked for their frames.
FEW = 20


@dataclass(frozen=True)
class Case:
    """A job, those who may have slowed it down, its runs alone that were given, and those that were found. looked_at:
    how many profiles lie beside the job's; 0 where nobody looked. unread: those that cannot be read. catalog: where the
    job and what was looked for come from, if not from profiles. hides_names: whoever asks may not see others'. counted:
    what file servers counted by job, where that is given, and told: what was left out of it. same_as: those of `alone`
    that count as runs of the job's program, whatever they are called. with_company: names of runs of its program that
    were not taken, since they had company. at_once: reads what jobs took of their nodes that
    ran while it did (`node_use`).
    """

    job: Digest
    neighbours: Sequence[Digest]
    alone: Sequence[Digest]
    found: Sequence[Digest]
    looked_at: int
    unread: Sequence[Path] = ()
    catalog: Path | None = None
    hides_names: bool = False
    counted: pl.DataFrame | None = None
    told: Sequence[str] = ()
    same_as: frozenset[Path] = frozenset()
    with_company: Sequence[str] = ()
    at_once: Callable[[], pl.DataFrame] = NO_PROCESSES.clear

    def losses(self, rows: Rows) -> Blame | None:
        """What the job lost, to whom, and how sure that is; None: nothing tells. rows: has what the jobs did."""
        return losses(self.job, self.neighbours, self.alone, self.found, rows)

    def result(self, has_names: bool = True) -> Blame:
        """has_names: others may be named in its notes."""
        rows = RowsOfNeighbours()
        result = blame(
            self.job, self.neighbours, self.alone, self.found, rows, counted=self.counted, same_as=self.same_as
        )
        notes = [self._from_catalog()] if self.catalog is not None else []
        if self.looked_at > MOST_PROFILES:
            many = f"{self.looked_at:,} profiles lie beside this one"
            notes.append(f"{many}, too many to look for neighbours among them: name them")
        if self.unread:
            count = len(self.unread)
            what = f"{self.unread[0]} cannot be read and" if count == 1 else f"{count} profiles cannot be read and"
            notes.append(f"{what} may be missing among the neighbours: slicewise report --detail {self.unread[0]}")
        notes += self.told
        if any(waited(result)):
            notes += words_of_nodes(result, self.job, self.at_once(), has_names and not self.hides_names)
        passed_over = [RunTaken(job, False, HAD_COMPANY) for job in self.with_company]
        return replace(result, notes=[*result.notes, *notes], runs=[*result.runs, *passed_over])

    def _from_catalog(self) -> str:
        """Which jobs of the catalog were taken."""
        runs = words.listing([run.job for run in self.found])
        near = [other.job for other in self.neighbours]
        beside = f"beside it {words.some(near, MOST_NAMED)}" if near else "nobody beside it"
        quiet = f"standalone runs {runs}" if runs else "no standalone run of the same program"
        return f"From the catalog {self.catalog}: {beside}, and {quiet}"

    def others(self) -> list[Digest]:
        """The digests of other people. A run that was found is the job's owner's if the same user ran it."""
        user = self.job.jobs["user"].item()
        return [*self.neighbours, *(run for run in self.found if run.jobs["user"].item() != user)]


@dataclass(frozen=True)
class ByTheWay:
    """What lies beside a job, and the answer that this gives; None: no neighbours do, too many to be read by the way,
    or such that cannot be compared with it.
    """

    beside: Nearby
    case: Case | None = None
    result: Blame | None = None

    @property
    def lost_share(self) -> float:
        """The share of the job's time in I/O calls that is claimed to be lost."""
        return self.result.lost_share if self.result else 0.0


def by_the_way(profile: Path, surroundings: Surroundings) -> ByTheWay:
    """What `blame` would say of a job, for an answer about the job by itself."""
    surroundings.together_of = _together
    beside = find_nearby(profile, surroundings)
    if not beside.neighbours or beside.looked_at > MOST_BY_THE_WAY:
        return ByTheWay(beside)
    try:
        case = case_of(profile, surroundings=surroundings)
        return ByTheWay(beside, case, case.result())
    except UserError:
        return ByTheWay(beside)


def case_of(
    job: Path, neighbours: Sequence[Path] = (), alone: Sequence[Path] = (), surroundings: Surroundings | None = None
) -> Case:
    """A job's case. What is not given is looked for beside the job. Raises UserError for what cannot be read.

    surroundings: those of several jobs in one directory, which is then read once.
    """
    kept = kept_job(job)
    if kept is not None:
        return kept_case(*kept, neighbours, alone)[0]
    around = surroundings or Surroundings()
    around.together_of = _together
    beside = Nearby([], [], 0) if neighbours and alone else around.nearby(job)
    company = [around.place(one) for one in neighbours] or beside.neighbours
    quiet = [] if alone else [run for run in beside.quiet if not _is_in(run, company)]
    apart = [] if alone else _apart_among(job, beside, around)
    quiet += [run for run in apart if not _is_in(run, company)]
    large = {place: found for place in company if (found := large_neighbour(place)) is not None}
    # Read together, so that no two of them have one name.
    places = [around.place(job), *company, *alone, *quiet]
    read = iter(read_digests([place for place in places if place not in large]))
    own, *rest = [large[place] if place in large else next(read) for place in places]
    if large:
        for digest in (own, *rest):
            digest.job = digest.own_name
        with_names_of_their_own([own, *rest])
        know_each_other([own, *rest])
    ends = len(company), len(company) + len(alone)
    passed_over = [] if alone else [place.name for place in beside.with_company if place not in apart]
    counted, told = counted_beside(own, rest[len(company) :], job)
    if counted is not None:
        let_servers_tell(counted, [own, *rest])
    return Case(
        own,
        rest[: ends[0]],
        rest[ends[0] : ends[1]],
        rest[ends[1] :],
        beside.looked_at,
        beside.unread,
        counted=counted,
        told=told,
        with_company=passed_over,
        at_once=partial(node_use, around.at_once(job)),
    )


def _apart_among(job: Path, beside: Nearby, around: Surroundings) -> list[Path]:
    """The job's runs that had company, from which limits of control groups kept them apart. Few jobs have limits."""
    if not beside.with_company or not has_limits(read_digests([around.place(job)])[0]):
        return []
    return [
        run
        for run in beside.with_company
        if is_apart(read_digests([run])[0], read_digests(around.nearby(run).neighbours))
    ]


def _kept_apart(catalog: Catalog, job: KeptJob) -> list[KeptJob]:
    """The same of a job that a catalog keeps."""
    around = Neighbourhood(catalog)
    return [
        run
        for run in around.runs_like_it(job, had_company=True)
        if is_apart(KeptDigest(catalog, run), [KeptDigest(catalog, one) for one in around.neighbours_of(run)])
    ]


def kept_case(
    catalog: Catalog,
    job: KeptJob,
    neighbours: Sequence[Path] = (),
    alone: Sequence[Path] = (),
    around: Neighbourhood | None = None,
) -> tuple[Case, dict[str, KeptJob]]:
    """The case of a job that a catalog keeps; what is not given is looked for there, and of neighbours that were found
    it is told by name which jobs they are. around: looks for them, if that is not the catalog itself.
    """
    look = around or Neighbourhood(catalog)
    company = [] if neighbours else look.neighbours_of(job)
    beside = {one.key for one in company}
    quiet = [] if alone else [run for run in look.quiet_runs(job) if run.key not in beside]
    given = read_digests([*neighbours, *alone])
    cache = look.cache(job, company, quiet)
    own = KeptDigest(catalog, job, cache)
    # A catalog looks for them by what all processes of a job did, and blame goes by those that matter.
    looked_at = [KeptDigest(catalog, one, cache) for one in company]
    near = [*given[: len(neighbours)], *in_company(own, looked_at)]
    runs, found = given[len(neighbours) :], [KeptDigest(catalog, one, cache) for one in quiet]
    if not alone and has_limits(own):
        found += [KeptDigest(catalog, one) for one in _kept_apart(catalog, job) if one.key not in beside]
    with_names_of_their_own([own, *near, *runs, *found])
    if around is None or (len(near) <= FEW and not own.node_slices.is_empty()):
        know_each_other([own, *near])
    names = {digest.job: one for digest, one in zip(looked_at, company, strict=True) if digest in near}
    counted, told = counted_beside(own, [*runs, *found]) if around is None else (None, [])
    if counted is not None:
        let_servers_tell(counted, [own, *near, *runs, *found])
    else:
        let_clients_tell([own, *near])
    case = Case(
        own,
        near,
        runs,
        found,
        0,
        catalog=catalog.path,
        hides_names=not catalog.shows_names,
        counted=counted,
        told=told,
        at_once=partial(at_once, catalog, job),
    )
    return case, names


def read_with_runs(
    jobs: Sequence[Path], alone: Sequence[Path]
) -> tuple[list[Digest], list[Digest], list[list[Digest]]]:
    """Jobs, their standalone runs that are given, and where none are, those that blame finds for each job: beside it,
    or in the catalog that keeps it. All are read together, as blame reads them: each knows what the others moved.
    """
    around, own_places = Surroundings(), {job_directory(job) for job in jobs}
    places: list[list[Path]] = [[] for _ in jobs]
    kept: list[list[Digest]] = [[] for _ in jobs]
    for at, job in enumerate([] if alone else jobs):
        found = kept_job(job)
        if found is None:
            there = around.nearby(job)
            quiet = dict.fromkeys([*there.quiet, *_apart_among(job, there, around)])
            places[at] = [run for run in quiet if job_directory(run) not in own_places]
        else:
            catalog, own = found
            apart = _kept_apart(catalog, own) if has_limits(KeptDigest(catalog, own)) else []
            kept[at] = [KeptDigest(catalog, run) for run in [*Neighbourhood(catalog).quiet_runs(own), *apart]]
    every = list(dict.fromkeys(place for some in places for place in some))
    read = read_digests([*jobs, *alone, *every], without=SELDOM)
    given, found_runs = read[len(jobs) : len(jobs) + len(alone)], read[len(jobs) + len(alone) :]
    of_place = dict(zip(every, found_runs, strict=True))
    runs = [[*(of_place[place] for place in some), *known] for some, known in zip(places, kept, strict=True)]
    return read[: len(jobs)], given, runs


def _is_in(place: Path, places: Sequence[Path]) -> bool:
    return any(place.resolve() == other.resolve() for other in places)


def large_neighbour(place: Path) -> Digest | None:
    """The digest of a neighbour that is large; None of any other."""
    return large.large_neighbour(place, _together)


def _together(digest: Digest) -> pl.DataFrame:
    return job_rows([digest], digest.slice_ns).drop("job")


class RowsOfNeighbours(Rows):
    """What jobs did, of large neighbours as it is known. Where nodes were sampled, what they counted changes it."""

    def of(self, digests: Sequence[Digest], grid_ns: int) -> pl.DataFrame:
        """As `job_rows`."""
        known = {
            digest.job: digest.together
            for digest in digests
            if digest.together is not None and digest.slice_ns == grid_ns
        }
        if not known or any(not digest.node_slices.is_empty() for digest in digests):
            return job_rows(digests, grid_ns)
        read = job_rows([digest for digest in digests if digest.job not in known], grid_ns).partition_by(
            "job", as_dict=True
        )
        nothing = job_rows([], grid_ns)
        return pl.concat(
            known[one.job].select(pl.lit(one.job).alias("job"), *OF_JOBS)
            if one.job in known
            else read.get((one.job,), nothing)
            for one in digests
        )
