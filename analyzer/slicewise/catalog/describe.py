"""The catalog's page of the documentation, made from its schema: `python -m slicewise.catalog.describe`."""

from __future__ import annotations

from slicewise.catalog.schema import FRAMES, NAMES
from slicewise.digest.describe import folded, sections

OPENING = """# The catalog

A catalog holds all jobs of a site in one directory of Parquet files. It keeps the frames of [digest.md](digest.md) for
every job. There is no server. Slicewise, polars, DuckDB and Spark read the files as they are.

## How do I fill one?

```
slicewise catalog ingest /site/catalog /home/*/slicewise
```

The catalog is made if it is not there. Directories are searched all the way down. Each job comes in once, however often
and under whatever path it is met: a job is known by its processes, each of which has a unique id. If there are two
profiles of one job, the fuller one stays; so a job may be ingested while it runs, and again when it has ended. A
profile whose files have not changed is not read again.

- **A profile that cannot be read** is named on standard error and left out; the exit status is then 1. A profile of
  which a part is damaged comes in without that part, and `damage` says what is missing.
- **Killed at any moment**, an ingest leaves a whole catalog: run it again, and it goes on.
- **Two at once**: the second one waits until the first one is done.

## How do I ask it?

- `slicewise catalog list`, `show`, `overlaps`, `worst` and `quality`: [commands.md](commands.md) has their options.
- With `SLICEWISE_CATALOG=/site/catalog`, every command that takes a PROFILE takes the name of a job: `slicewise blame
  48213`. `blame`, `compare` and the others that look for neighbours and quiet runs find them in the catalog. `blame`
  says which these are. A quiet run is one of the same program, with as large calls and about as many bytes, during
  which nobody else used its file systems; runs on the job's own file systems come first.
- Where several jobs have one name, a job's key (16 hexadecimal digits, as `list --json` and `show` give it) stands
  for it.

What a catalog does not keep: sizes and latencies of calls, calls that failed, counters of single layers and of what is
no file, and what the profile itself says its counters mean. If the profile is still there and has not changed since,
these are read from it. Else `info` and `report` say that they are missing, and show no zeros in their place; `size`,
and `export` of a profile's tables, need the profile.

## What lies where?

```
CATALOG/catalog.json                                        the format's number, and whether names are hashed
CATALOG/day=2026-11-22/batch=1f.../jobs.parquet             one file a frame; a frame without rows has none
CATALOG/day=2026-11-22/batch=1f.../process_slices.parquet
CATALOG/day=2026-11-22/batch=1f.../_batch.json              how many rows they have, and when its jobs ran
CATALOG/day=2026-11-22/batch=1f.../_jobs.index              which names and keys are in it
```

All rows of a job lie in the day (UTC) on which the job began. `key` is the same number in all frames. A batch holds
the jobs that came in together. Batches of a day are put together when there are more than eight. Rows lie in the
order of their keys; those of `jobs` and `job_slices` in order of time.

## How do I read it without Slicewise?

```python
import polars as pl

jobs = pl.scan_parquet("CATALOG/day=*/batch=*/jobs.parquet", hive_partitioning=True)
busiest = jobs.filter(pl.col("day") == pl.date(2026, 11, 22)).top_k(10, by="write_bytes").collect()
```

```sql
-- DuckDB
SELECT job, program, write_bytes FROM read_parquet('CATALOG/day=*/batch=*/jobs.parquet', hive_partitioning = true)
WHERE day = '2026-11-22' ORDER BY write_bytes DESC LIMIT 10;
```

Spark reads the same pattern with `spark.read.option("basePath", "CATALOG").parquet(...)`.

## Who may read it?

A new catalog is its owner's alone (mode 700). `--names hash`, when it is made, stores hashes of names in place of them:
{names}. The hashes are salted, and the salt lies in the catalog with mode 600: whoever has
it can find out whether a name that he knows is there. A user who knows his own job's name may ask for it by that name
if he may read the salt, else by the job's key. Names of programs, nodes and file systems stay.

The owner may let others read the files. `blame` and `compare` then tell them what neighbours of their jobs did, and not
who these were, unless the catalog was made with `--show-names`. That is a courtesy and no lock: whoever can read the
files can read the names in them.

This page is made by `make docs`. All bytes, calls and times are on files unless a frame says otherwise.
"""


def page() -> str:
    """The page: what a catalog is, and a table of columns for each frame."""
    names = ", ".join(f"`{frame}.{column}`" for frame, columns in NAMES.items() for column in columns)
    return folded("\n".join([OPENING.replace("{names}", names), *sections(FRAMES)]))


if __name__ == "__main__":
    print(page(), end="")
