"""Pages of the documentation that are made of the code: `digest_pages.py digest` prints the digest's frames, `python`
its functions, `glossary` what our words mean.
"""

import importlib
import inspect
import re
import sys
import textwrap
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from itertools import takewhile
from types import ModuleType

import polars as pl
from slicewise import contract
from slicewise.digest import activity, full, nodes
from slicewise.digest.digest import Digest
from slicewise.digest.schema import FRAMES, Field, Frame
from slicewise.text.glossary import TERMS

OPENING = """# The digest

A digest is a job's profile as a set of tables, here called *frames*: polars data frames of
[`slicewise.read(PATH)`](python.md). Begin with [jobs](#jobs) for sums, [processes](#processes) for each process,
[process_slices](#process_slices) for what a job did when, and [storages](#storages) with [mounts](#mounts) for its file
systems.

- Bytes, calls and times are those on files, unless a frame says otherwise.
- A call that spans slices has its bytes and its time in each of them, by time. As a call it counts in the slice in
  which it ended.
- Times of threads and processes add up: they may be more than the runtime. Columns that end in `_ops` include
  asynchronous requests, those in `_ns` do not: their time is in the columns `_request_ns`.
- In no frame: calls that failed, sums by layer, pipes and sockets. `Digest.counters` has them
  ([python.md](python.md#digest)). A file's file system is in no frame either.
- A slice's number is the time at which it begins, in ns since 1970, divided by `slice_ns`; in `sampled_slices`,
  `others`, `node_samples` and `node_slices` by `node_slice_ns` ([python.md](python.md#digest)).
- `process` is an id that no two processes of any jobs and nodes share. It is not the process id (`pid`).
- [counters.md](counters.md) lists the values of [`ending`](counters.md#names-of-endings),
  [`mishap`](counters.md#names-of-mishaps) and [`reason`](counters.md#names-of-reasons).
- Columns are listed as `name` (type, unit); without a type they are Int64. The key tells rows apart. *Usual* columns
  are explained [below](#usual-columns); names among those "as in counters.md" are Strings.
"""
# A column that so many frames have, with one meaning, is explained once.
FEWEST_USUAL = 2
# Frames with columns as the profile's table of that name has them: the page of tables explains these.
SAME_AS = (
    "unprofiled", "launches", "communication", "library_calls", "regions", "thread_waits", "accelerated", "usage",
)  # fmt: skip
# What stands in names of columns for a kind of call: columns that differ in no more are one item.
KIND = re.compile(r"(?:^|(?<=_))(?:read|write|meta|sync)(?=_|$)")
# The most words in which meanings of such columns differ.
MOST_WORDS = 2


def page() -> str:
    """The page: what the digest is, and a table of columns for each frame."""
    return folded("\n".join([OPENING, *sections(FRAMES, _usual()), *_usual_columns(), *_signals()]))


def _usual() -> dict[str, Field]:
    """Columns that several frames have with one meaning, by name: the meaning that most of them have."""
    times = Counter((name, about) for frame in FRAMES.values() for name, about in frame.columns.items())
    return {name: about for (name, about), count in reversed(times.most_common()) if count >= FEWEST_USUAL}


def _usual_columns() -> Iterator[str]:
    usual = _usual()
    yield "## Usual columns\n"
    yield "\n".join(_items({name: usual[name] for frame in FRAMES.values() for name in frame.columns if name in usual}))
    yield ""


def _items(columns: Mapping[str, Field]) -> list[str]:
    """Columns explained, those that differ in the kind of call alone together."""
    groups: list[dict[str, Field]] = []
    for name, about in columns.items():
        group = next((each for each in groups if _differ_in_kind(next(iter(each.items())), (name, about))), None)
        if group is None:
            groups.append({name: about})
        else:
            group[name] = about
    return [_item(group) for group in groups]


def _differ_in_kind(one: tuple[str, Field], other: tuple[str, Field]) -> bool:
    names = [KIND.sub("", name) for name, _ in (one, other)]
    kinds = [(about.dtype, about.unit) for _, about in (one, other)]
    return names[0] == names[1] and kinds[0] == kinds[1] and bool(_joined([one[1].meaning, other[1].meaning]))


def _item(columns: Mapping[str, Field]) -> str:
    names = " ".join(f"`{name}`" for name in columns)
    about = next(iter(columns.values()))
    said = ", ".join(part for part in ("" if about.dtype == pl.Int64 else str(about.dtype), about.unit) if part)
    kind = f" ({said})" if said else ""
    return f"- {names}{kind}: {_joined([about.meaning for about in columns.values()])}"


def _joined(meanings: list[str]) -> str:
    """Meanings as one, with what differs in them separated by strokes; empty: too much differs."""
    texts = [re.findall(r"\w+|\W+", meaning) for meaning in meanings]
    before = _alike(texts)
    after = _alike([text[before:][::-1] for text in texts])
    if any(len(text) - before - after > 2 * MOST_WORDS - 1 for text in texts):
        return ""
    differing = ["".join(text[before : len(text) - after]) for text in texts]
    end = texts[0][len(texts[0]) - after :]
    return "".join([*texts[0][:before], "/".join(dict.fromkeys(differing)), *end])


def _alike(texts: list[list[str]]) -> int:
    """With how many words the texts begin that all of them have."""
    return sum(1 for _ in takewhile(lambda words: len(set(words)) == 1, zip(*texts, strict=False)))


def _signals() -> Iterator[str]:
    yield "## Signals\n"
    yield "What `node_slices` holds, by its column `signal`: `amount` divided by `per`. `mount_...` needs `--bpf`.\n"
    for unit in dict.fromkeys(signal.unit for signal in nodes.SIGNALS.values()):
        yield f"In {unit}:\n"
        of_unit = [(name, signal.meaning) for name, signal in nodes.SIGNALS.items() if signal.unit == unit]
        yield "\n".join(f"- `{name}`: {meaning}" for name, meaning in of_unit) + "\n"


def sections(frames: Mapping[str, Frame], usual: Mapping[str, Field] | None = None) -> Iterator[str]:
    """What a row of each frame is, its keys, and its columns; of usual ones the names alone."""
    usual = usual or {}
    for name, frame in frames.items():
        keys = ", ".join(f"`{key}`" for key in frame.keys)
        yield f"## {name}\n\n{frame.meaning[0].upper()}{frame.meaning[1:]}. Key: {keys}.\n"
        named = [f"`{column}`" for column, about in frame.columns.items() if usual.get(column) == about]
        own = {column: about for column, about in frame.columns.items() if usual.get(column) != about}
        same = [column for column, about in own.items() if name in SAME_AS and _is_same(name, column, about)]
        items = _items({column: about for column, about in own.items() if column not in same})
        if same:
            items.append(f"- as in [counters.md](counters.md#{name}): {' '.join(f'`{column}`' for column in same)}")
        if named:
            items.append(f"- usual: {' '.join(named)}")
        yield "\n".join(items) + "\n"


def _is_same(table: str, column: str, about: Field) -> bool:
    """Whether a profile's table has the column, with that meaning."""
    listed = next(each["columns"] for each in contract.TABLES if each["name"] == table)
    return any(each["name"] == column and each["meaning"] == about.meaning for each in listed)


PYTHON_OPENING = """# Slicewise in Python

`slicewise.read` gives a job as a digest: a set of tables, each a polars data frame ([columns](digest.md)). The wheel
brings the package, which has type hints.

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

A frame is made when you first ask for it, and then kept. Frames hold all processes of the profile, also mpirun and its
helpers: `filter("is_of_job")` or `filter("matters")` leaves those out. A catalog is read as Parquet
([catalog.md](catalog.md)).

In a notebook, a cell whose last line is a job or an answer shows it ([one to begin with](notebook.ipynb)). The answers
are those of the commands; ask other commands with `--json`.

```python
from slicewise import answers

answer = answers.report("profiles/48213")
answer.save("report.html")  # the whole page
seconds = answer.result.io_time.slowest  # its figures, here the slowest process's s in I/O calls
lost = answers.blame("profiles/48213").result.lost  # s of the runtime: value, low, high; None if it is unknown
```

Functions that are not on this page may change in any version.
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
    yield "Each frame of [digest.md](digest.md) is a property.\n"
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


def glossary_page() -> str:
    lines = [
        "# Glossary",
        "",
        "On the HTML pages that Slicewise writes, a dotted word shows its meaning.",
    ]
    for term in TERMS:
        lines += ["", f"#### {term.name[:1].upper()}{term.name[1:]}", *textwrap.wrap(term.meaning, 100)]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    print({"digest": page, "python": python_page, "glossary": glossary_page}[sys.argv[1]](), end="")
