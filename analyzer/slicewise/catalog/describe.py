"""The catalog's page of the documentation, made from its schema: `python -m slicewise.catalog.describe`."""

from dataclasses import replace

from slicewise.catalog.schema import FRAMES, KEY_COLUMN, MORE_OF_JOBS, MORE_OF_STORAGES, NAMES, NOT_KEPT
from slicewise.digest.describe import folded, sections
from slicewise.digest.schema import FRAMES as DIGEST_FRAMES
from slicewise.digest.schema import Frame

OPENING = """# The catalog

A catalog holds all jobs of a site in one directory of Parquet files. It keeps most tables of a job's
[digest](digest.md), here called frames. There is no server. Slicewise, polars, DuckDB and Spark read the files as they
are.

## How do I fill one?

```sh
slicewise catalog ingest /site/catalog /scratch/*/slicewise
```

Each job comes in once, even if copies of its profile lie in several places. Of two profiles of one job the catalog
keeps the more complete one, so you may ingest a job while it runs, and again later. Unchanged profiles are not read
again. A profile that cannot be read is named on standard error (exit status 1); what a damaged one lacks is in the
table `damage`. An ingest that is killed leaves a whole catalog; a second one waits for the first.

## How do I ask it?

- `slicewise catalog list`, `show`, `overlaps`, `worst`, `quality` and `page`
  ([options.md](options.md#slicewise-catalog)). `prune` removes old jobs.
  [operating.md](operating.md#keep-all-jobs-in-a-catalog) says how large a
  catalog gets, and how fast it answers.
- With `SLICEWISE_CATALOG=/site/catalog`, every command that takes a PROFILE takes the name of a job as well, for
  instance `slicewise blame 48213`. `blame` then looks in the catalog for neighbours and for [quiet
  runs](glossary.md#quiet-run), and says which it found. So do `compare`, `report`, `size` and `expect`. `size` also
  reads the job's profile, which must still exist.
- Several jobs may have one name. Then use a job's key: the 16 hexadecimal digits that `list --json` and `show` give.
  They are the number in the column `key`, with zeros in front.

A catalog does not keep everything of a profile. It leaves out these frames: {left_out}. It also
leaves out calls that failed, counters by layer, counters of pipes, sockets and devices, and the texts that explain
counters. If the profile still
exists and has not changed, commands read these figures from the profile. Otherwise `report` says that the
figures are missing. `slicewise storage size` and `slicewise export` need the profile.

## What lies where?

```
CATALOG/catalog.json                                        the format's number, and whether names are hashed
CATALOG/day=2026-11-22/batch=1f.../jobs.parquet             one file a frame; a frame without rows has none
CATALOG/day=2026-11-22/batch=1f.../process_slices.parquet
CATALOG/day=2026-11-22/batch=1f.../_batch.json              their rows and checksums, and when its jobs ran
CATALOG/day=2026-11-22/batch=1f.../_jobs.index              which names and keys are in it
```

All rows of a job lie under the day (UTC) on which the job began. The column `key` says which job a row belongs to, in
every frame. A batch holds the jobs that one ingest brought. When a day has more than eight batches, the next ingest
merges them. Rows of `jobs` and `job_slices` are sorted by time, rows of all other frames by key.

If `catalog.json` is damaged, write it anew as below. `names` is `"hash"` if the catalog was made with `--names hash`:
then there is a file with the salt beside it. `shows_names` is `true` if it was made with `--show-names`; if in doubt,
write `false`, which shows less.

```json
{"format": 1, "names": "plain", "shows_names": false}
```

## What if a bit changes on the disk?

No number from a damaged file is shown: the command ends with exit status 2 and one line that names the file.
`_batch.json` holds the CRC-32 of each file of its batch. A command compares the files that it needs once a day and user
(`~/.cache/slicewise/checked`), `slicewise catalog verify` all of them each time, and an ingest what it copies from
older batches. polars, DuckDB and Spark compare nothing: run `verify` before.

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

Only the owner can read a new catalog (mode 700). With `--names hash`, given when the catalog is made and not to be
changed later, it stores hashes in place of users, job names and paths in these columns: {names}. A user's number
becomes another number, everything else a text. Not hashed are: programs' names without their paths, functions of call
sites, nodes, and file systems with their sources and mount points, even if a mount point holds a user's name.

The hashes are salted. The salt lies in the catalog with mode 600, so only the owner can read it. Nobody else can ask
for a job by its name, or check whether a name is in the catalog: other users ask by the job's key.

The owner may let others read the files ([operating.md](operating.md#keep-all-jobs-in-a-catalog) says how).
Then `blame` and `compare` tell them what their jobs' neighbours did, but not
who the neighbours were, unless the catalog was made with `--show-names`. This is no protection: whoever can read
the files can read all names in them that are not hashed.

## Which columns are there?

The frames have the columns of the [digest](digest.md), with `key` in front ({keyed}). `jobs` and `storages` have more
columns, and two frames are the catalog's own. `make docs` makes this page.
"""


def page() -> str:
    """The page: what a catalog is, and a table of columns for each frame."""
    names = ", ".join(f"`{frame}.{column}`" for frame, columns in NAMES.items() for column in columns)
    left_out = ", ".join(f"`{name}` ({what})" for name, what in NOT_KEPT.items())
    told = {"names": names, "left_out": left_out, "keyed": KEY_COLUMN.meaning}
    opening = OPENING
    for place, text in told.items():
        opening = opening.replace(f"{{{place}}}", text)
    return folded("\n".join([opening, *sections(_own_columns())]))


def _own_columns() -> dict[str, Frame]:
    """What the digest's page does not have: the columns that come on top there, and the frames of a catalog alone."""
    more = {"jobs": MORE_OF_JOBS, "storages": MORE_OF_STORAGES}
    added = {name: replace(FRAMES[name], columns=columns) for name, columns in more.items()}
    return added | {name: frame for name, frame in FRAMES.items() if name not in DIGEST_FRAMES}


if __name__ == "__main__":
    print(page(), end="")
