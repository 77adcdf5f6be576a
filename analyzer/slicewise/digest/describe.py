"""The digest's frames as a page of the documentation, made from the schema: `python -m slicewise.digest.describe`."""

from __future__ import annotations

from slicewise.digest.schema import FRAMES

OPENING = """# The digest

The one door between files and analyses. `slicewise.digest.Digest(profile)` turns a job's profile into the frames below:
narrow, typed, each made when it is first asked for. Analyses, charts and exports take these frames and never a file,
so a question about a job has one answer everywhere.

What is decided on the way, and nowhere else:

| question | decided in |
|---|---|
| who the job's processes are, and which of them matter | `digest/processes.py` |
| which layers of the I/O stack add up | `digest/layers.py` |
| which mounts are one storage | `digest/storages.py` |
| what a job did in a slice | `digest/slices.py` |
| which slices a job filled | `digest/full.py` |
| which signals of nodes there are | `digest/nodes.py` |

All bytes, calls and times are on files unless a frame says otherwise. Slices are clock-aligned: slice k is
[k, k + 1) times `slice_ns` of the node's clock. This page is made by `make docs`.
"""


def page() -> str:
    """The page: what the digest is, and a table of columns for each frame."""
    parts = [OPENING]
    for name, frame in FRAMES.items():
        keys = ", ".join(f"`{key}`" for key in frame.keys)
        parts.append(f"## {name}\n\n{frame.meaning[0].upper()}{frame.meaning[1:]}. Key: {keys}.\n")
        rows = [
            f"| `{column}` | {about.dtype} | {about.unit or '-'} | {about.meaning} |"
            for column, about in frame.columns.items()
        ]
        parts.append("\n".join(["| column | type | unit | meaning |", "|---|---|---|---|", *rows]) + "\n")
    return "\n".join(parts)


if __name__ == "__main__":
    print(page(), end="")
