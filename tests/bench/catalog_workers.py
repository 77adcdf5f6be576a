"""What a day costs on 1, 4 and 16 Dask workers: CPU seconds of all of them, of the busiest, and of the command itself.

    make bench-catalog-workers                              a day of 20,000 jobs, and 2,000 profiles
    make bench-catalog-workers WORKERS="--jobs 100000"      as large as the aims speak of

The workers are processes of this machine. With fewer cores than workers the wall seconds say little; what the busiest
worker and the command take together is what they would be on as many cores at least. `balance` is the mean worker's CPU
seconds by those of the busiest: 1 where all work as long.
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from bench.profiles import Shape, build
from distributed import Client
from slicewise.analysis.site.worst import worst
from slicewise.catalog.answers import ANSWERS
from slicewise.catalog.find import JobFiles, places
from slicewise.catalog.ingest import ingest
from slicewise.catalog.store import Catalog
from slicewise.catalog.workers import Workers
from slicewise.running.dask_workers import DaskWorkers, local_cluster
from support.site_days import write_days

COUNTS = (1, 4, 16)
PROFILES = Shape(4, 45, jobs=2000)
LAST_NS = 1 << 62


def used() -> tuple[float, float]:
    """CPU seconds of this process, and how many MiB it had at most."""
    (most,) = (line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
    return time.process_time(), int(most.split()[1]) / 1024


def _client(cluster: Any) -> Any:
    return Client(cluster.scheduler_address)  # type: ignore[no-untyped-call]


def taken_in(catalog: Catalog, profiles: Sequence[JobFiles], workers: Workers) -> None:
    """Profiles come into a catalog."""
    ingest(catalog, profiles, workers=workers)


def measure(what: str, count: int, work: Callable[[Workers], Any]) -> None:
    """Some work on so many workers."""
    with local_cluster(count) as cluster, _client(cluster) as client:
        workers = DaskWorkers(cluster.scheduler_address)
        before, began, own = client.run(used), time.perf_counter(), used()[0]
        work(workers)
        wall, own = time.perf_counter() - began, used()[0] - own
        after = client.run(used)
        workers.close()
    each = [after[name][0] - before[name][0] for name in after]
    most = max(memory for _, memory in after.values())
    print(
        f"{what:28} {count:3} workers: {sum(each):6.1f} s of CPU, the busiest {max(each):6.1f} s (balance "
        f"{sum(each) / count / max(each):.2f}), the command {own:5.1f} s; a worker {most:5.0f} MiB at most; "
        f"wall {wall:6.1f} s",
        flush=True,
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=20_000, help="of the synthetic day")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        directory = Path(temporary)
        build(directory / "profiles", PROFILES)
        profiles = places([directory / "profiles"])
        day = write_days(directory / "day", 1, options.jobs, processes=2)
        for count in COUNTS:
            catalog = Catalog.make(directory / f"catalog-{count}")
            measure("ingest of 2,000 profiles", count, partial(taken_in, catalog, profiles))
            for kept in (day.path / ANSWERS).glob("*"):
                kept.unlink()
            measure("blame of all jobs of a day", count, lambda workers: worst(day, 0, LAST_NS, None, workers))
    return 0


if __name__ == "__main__":
    sys.exit(main())
