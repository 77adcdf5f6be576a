"""What a catalog tells of a recorded campaign's jobs is what their files tell."""

import os
from pathlib import Path

import pytest
from slicewise.analysis.blame.case import case_of, kept_case
from slicewise.analysis.blame.result import Blame
from slicewise.analysis.site.at_once import NeighbourhoodOfMany
from slicewise.analysis.site.worst import runs_alone
from slicewise.catalog.kept import find_job
from slicewise.digest.surroundings import Surroundings
from slicewise.profile.files import job_places
from support.catalogs import catalog_of
from support.consistency import contradictions
from testbed import recordings

# The process that has read these campaigns.
pytestmark = pytest.mark.xdist_group("campaigns")

ARCHIVES = Path(__file__).parent / "campaigns"
# Those of policies lie in no directory of their own, and beside each other.
POLICIES = "policies"
ARCHIVED = {archive.name.removesuffix(".tar.xz") for archive in ARCHIVES.glob("*.tar.xz")}
# Recorded as one that is there is: `make soak` asks about them as well, and for more random cases.
LIKE_OTHERS = {
    "cephfs": ("glusterfs", "glusterfs-shared", "sshfs", "sshfs-shared"),  # the longest of all, of up to 185 jobs each
    "blame-sshfs": ("blame-sshfs-sync", "blame-glusterfs"),
    "delta-turns": ("delta-glusterfs", "delta-slow"),
    "usual-sizes": ("one-size", "usual-large", "usual-nodes"),
    "usual-disk": ("usual-reads",),
    "usual-shared": ("usual-seeks",),
}
IS_SOAK = int(os.environ.get("PROPERTY_EXAMPLES", "0")) >= 100
LATER = set() if IS_SOAK else {name for names in LIKE_OTHERS.values() for name in names}
NAMES = sorted({POLICIES if name.startswith(POLICIES) else name for name in ARCHIVED} - LATER)
# So many jobs of each campaign are asked about, by files and by the catalog.
ASKED = 2
LAST = 1 << 62
DIGITS = 6


@pytest.mark.parametrize("name", NAMES)
def test_a_catalog_says_what_the_files_say(name: str, tmp_path: Path) -> None:
    where = recordings.unpacked(ARCHIVES)
    is_apart = name != POLICIES
    jobs = job_places([where / name]) if is_apart else sorted({profile.parent for profile in where.glob("*/*.swz")})
    catalog = catalog_of(tmp_path / "site", *jobs)
    many = NeighbourhoodOfMany(catalog, catalog.batches(), 0, LAST, runs_alone(catalog, catalog.batches()))
    beside = set(many.jobs_with_company(catalog.days())["key"])
    around = Surroundings()
    for place in jobs[:: -(-len(jobs) // ASKED)]:
        of_files = case_of(place, surroundings=around).result()
        kept = find_job(catalog, place.name)
        of_catalog = kept_case(catalog, kept)[0].result()
        assert _told(of_catalog) == _told(of_files)
        assert [*contradictions(of_files), *contradictions(of_catalog)] == []
        # As all jobs of a day are asked that had company.
        if kept.key not in beside:
            assert not of_files.is_claimed
            continue
        of_many = kept_case(catalog, kept, around=many)[0].losses(many)
        if of_files.lost is None:
            assert of_many is None
        else:
            assert of_many is not None
            assert _told(of_many) == _told(of_files)


def _told(blame: Blame) -> tuple[object, ...]:
    """What a job lost, to whom, and how that is known; to what does not hang on the order of sums."""
    lost = blame.lost and tuple(round(value, DIGITS) for value in (blame.lost.value, blame.lost.low, blame.lost.high))
    costs = {one.job: round(one.lost.value, DIGITS) for one in blame.neighbours}
    return blame.is_claimed, blame.confidence, blame.baseline and blame.baseline.source, lost, costs
