"""Two pages of the documentation: the digest's frames, made from the schema (`python -m slicewise.digest.describe`),
and its functions, made from their docstrings (`python -m slicewise.digest.describe python`).
"""

from __future__ import annotations

import importlib
import inspect
import sys
import textwrap
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from types import ModuleType

from slicewise.digest import activity, full, nodes
from slicewise.digest.digest import Digest
from slicewise.digest.schema import FRAMES, Frame

OPENING = """# The digest

A digest is a job's profile as a set of tables. In Python each table is a polars data frame, and so these pages call it
a *frame*. `slicewise.read(PATH)` gives a digest ([python.md](python.md)). Analyses and charts take a job's figures from
these frames, not from the files of its profile. So a question about a job has one answer everywhere.

Begin with these:

| you want | frame |
|---|---|
| a job's sums | [jobs](#jobs) |
| each process's sums and its time in I/O | [processes](#processes) |
| what a job did when | [process_slices](#process_slices) |
| its file systems, and its bytes on each | [storages](#storages), joined with [mounts](#mounts) |
| what was read and written of its files | [files](#files) |
| sizes and latencies of calls | [distributions](#distributions), if they were asked for |
| how much of its I/O was seen | [coverage](#coverage) |
| what went wrong | [mishaps](#mishaps) |

- Bytes, calls and times are those on files, unless a frame says otherwise.
- A call that spans slices has its bytes and its time in each of them, by time. As a call it counts in the slice in
  which it ended.
- Times of threads add up, and in sums those of processes, too: they may be more than the runtime. Columns that end in
  `_ops` include asynchronous requests, those in `_ns` do not: their time is in the columns `_request_ns`.
- Not in any frame: calls that failed, sums by layer, pipes and sockets. `Digest.counters` has them
  ([python.md](python.md#digest)).
- A slice's number is the time at which it begins, in ns since 1970, divided by `slice_ns`. In `sampled_slices`,
  `others`, `node_samples` and `node_slices` it is divided by `node_slice_ns` instead: collectors may have sampled in
  other slices than the job counted in. `Digest.node_slice_ns` says which ([python.md](python.md#digest)); in a catalog
  it is a column of `jobs`.
- `process` is an id that no two processes of any jobs and nodes share. It is not the process id (`pid`).
- Values: [counters.md](counters.md) lists those of [`ending`](counters.md#names-of-endings),
  [`mishap`](counters.md#names-of-mishaps) and [`reason`](counters.md#names-of-reasons).
- Signals whose names begin with `mount_` are there only if root's collector ran with `--bpf`.
- A file's file system is in no frame: `files` has its path alone.
- [compatibility.md](compatibility.md) says what stays from version to version.
- Each section says what a row of the frame is, and which columns tell its rows apart (the key).
- This page is made by `make docs`. How each frame is made: [architecture.md](architecture.md).
"""


def page() -> str:
    """The page: what the digest is, and a table of columns for each frame."""
    return folded("\n".join([OPENING, *sections(FRAMES), *_signals()]))


def _signals() -> Iterator[str]:
    """The list of what nodes' collectors sample."""
    yield "## Signals\n"
    yield "What `node_slices` holds, by the name in its column `signal`. A value is `amount` divided by `per`.\n"
    rows = [f"| `{name}` | {signal.unit} | {signal.meaning} |" for name, signal in nodes.SIGNALS.items()]
    yield "\n".join(["| signal | unit of its value | meaning |", "|---|---|---|", *rows]) + "\n"


def sections(frames: Mapping[str, Frame]) -> Iterator[str]:
    """What a row of each frame is, its keys, and a table of its columns."""
    for name, frame in frames.items():
        keys = ", ".join(f"`{key}`" for key in frame.keys)
        yield f"## {name}\n\n{frame.meaning[0].upper()}{frame.meaning[1:]}. Key: {keys}.\n"
        rows = [
            f"| `{column}` | {about.dtype} | {about.unit or '-'} | {about.meaning} |"
            for column, about in frame.columns.items()
        ]
        yield "\n".join(["| column | type | unit | meaning |", "|---|---|---|---|", *rows]) + "\n"


PYTHON_OPENING = """# Slicewise in Python

`slicewise.read` gives a job as a digest: a set of tables, each a polars data frame. [digest.md](digest.md) describes
them column by column. The wheel brings the package ([installing.md](installing.md)), which has type hints.

```python
import polars as pl
import slicewise

job = slicewise.read("profiles/48213")

# What the job wrote in each slice, in MiB/s.
tau = job.slice_ns / 1e9
own = job.process_slices.join(job.processes.filter("matters"), on="process", how="semi")
rates = own.group_by("slice").agg(pl.col("write_bytes").sum() / tau / 2**20).sort("slice")

# Which of its processes spent most time in I/O calls: of all its threads together, without asynchronous requests.
in_calls = pl.sum_horizontal("read_ns", "write_ns", "meta_ns", "sync_ns") / 1e9
slowest = job.processes.filter("matters").select("label", seconds=in_calls).sort("seconds", descending=True)

# What was moved by all jobs below a directory, a row a job.
jobs = pl.concat(job.jobs for job in slicewise.read_jobs(["profiles"]))
totals = jobs.select("job", "program", "nodes", "read_bytes", "write_bytes")
```

A frame is made when you first ask for it, and then kept. Take figures from the frames, not from the profile's files:
the digest has decided who the job's processes are, which of them matter, and which layers add up
([models.md](models.md) says how). Frames hold all processes of the profile, also mpirun and its helpers:
`filter("is_of_job")` or `filter("matters")` leaves those out. A catalog is read as Parquet ([catalog.md](catalog.md)).

In a notebook, a cell whose last line is a job or an answer shows it. `answers.report`, `answers.blame` and
`answers.overlap` answer as the commands of these names do. Other commands have no answer here: ask them with `--json`.
[notebook.ipynb](notebook.ipynb) is one to begin with.

```python
from slicewise import answers

answer = answers.report("profiles/48213")
answer.save("report.html")  # the whole page
seconds = answer.result.io_time.slowest  # its figures, here the slowest process's s in I/O calls
lost = answers.blame("profiles/48213").result.lost  # s of the runtime: value, low, high; None if it is unknown
```

`make docs` makes this page from the functions themselves; a test runs the examples. Functions that are not on it may
change in any version.
"""
PROSE_COLUMNS = 100
# What is for others, beside reading and answers: the rest of the digest's functions makes the frames.
FUNCTIONS: tuple[Callable[..., object], ...] = (
    activity.members,
    activity.activity,
    activity.bytes_by_storage,
    activity.common_slice_ns,
    activity.on_grid,
    full.full_slices,
    nodes.values,
    nodes.by_node,
)


def python_page() -> str:
    """The page of functions: reading, the digest's frames, and every public function that works on them."""
    package = importlib.import_module("slicewise")
    readers = [getattr(package, name) for name in ("read", "read_jobs", "read_tables")]
    parts = [PYTHON_OPENING, "## Reading\n", *(_function(reader, "slicewise") for reader in readers)]
    parts += ["## Digest\n", f"{_text(Digest)}\n", *_members_of_digest()]
    answers = importlib.import_module("slicewise.answers")
    parts += ["## Answers\n", *(_function(function, answers.__name__) for function in public_functions(answers))]
    parts += ["`result` is a dataclass: `help(type(answer.result))` says what its fields are.\n"]
    parts += ["## Functions on frames\n", *(_function(function, function.__module__) for function in FUNCTIONS)]
    return folded("\n".join(parts))


def public_functions(module: ModuleType) -> list[Callable[..., object]]:
    """The functions that a module defines for others, in its order."""
    return [
        value
        for name, value in vars(module).items()
        if inspect.isfunction(value) and value.__module__ == module.__name__ and not name.startswith("_")
    ]


def folded(text: str) -> str:
    """A page with its paragraphs in lines of at most PROSE_COLUMNS; tables, code and what is indented stay."""
    lines: list[str] = []
    paragraph: list[str] = []
    is_code = False
    for line in [*text.split("\n"), ""]:
        begins_item = line.startswith("- ")
        stays = is_code or line[:1] in {"", "|", "#"} or line.startswith("```")
        stays |= line.startswith(" ") and not _is_item(paragraph)
        if stays or begins_item:
            lines += _wrapped(paragraph)
            paragraph = []
        is_code ^= line.startswith("```")
        if stays:
            lines.append(line)
        else:
            paragraph.append(line)
    return "\n".join(lines[:-1])


def _is_item(paragraph: list[str]) -> bool:
    return bool(paragraph) and paragraph[0].startswith("- ")


def _wrapped(paragraph: list[str]) -> list[str]:
    if not paragraph:
        return []
    return textwrap.wrap(
        " ".join(line.strip() for line in paragraph),
        PROSE_COLUMNS,
        subsequent_indent="  " if _is_item(paragraph) else "",
        break_long_words=False,
        break_on_hyphens=False,
    )


def _members_of_digest() -> Iterator[str]:
    frames = [f"[`{name}`](digest.md#{name})" for name in FRAMES]
    yield f"Frames, each a property with the columns of [digest.md](digest.md): {', '.join(frames)}.\n"
    yield "Besides these `job` (its name), `path`, `slice_ns` (the length of its slices), and:\n"
    for name, member in vars(Digest).items():
        if name.startswith("_") or name in FRAMES:
            continue
        if isinstance(member, cached_property):
            yield f"- `{name}`: {_line(member.func)}"
        elif isinstance(member, property) and member.fget is not None:
            yield f"- `{name}`: {_line(member.fget)}"
        elif inspect.isfunction(member):
            yield f"- `{name}{_signature(member)}`: {_line(member)}"
    yield ""


def _function(function: Callable[..., object], module: str) -> str:
    name = f"{module}.{function.__name__}"
    return f"### {name}\n\n```\n{function.__name__}{_signature(function)}\n```\n\n{_text(function)}\n"


def _signature(function: Callable[..., object]) -> str:
    signature = inspect.signature(function)
    parameters = [each for name, each in signature.parameters.items() if name != "self"]
    return str(signature.replace(parameters=parameters)).replace("'", "")


def _text(documented: object) -> str:
    return inspect.getdoc(documented) or ""


def _line(documented: object) -> str:
    return " ".join(_text(documented).split())


if __name__ == "__main__":
    print(python_page() if sys.argv[1:] == ["python"] else page(), end="")
