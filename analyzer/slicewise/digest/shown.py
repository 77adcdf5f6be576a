"""How a digest shows itself in a notebook."""

from collections.abc import Iterable, Mapping
from typing import Any

from markupsafe import Markup

from slicewise.text import safe_text, words


def outlined(about: Mapping[str, Any], frames: Iterable[str]) -> str:
    """HTML of a job's row of the frame `jobs`, and of the names of its frames. Every name is text."""
    runtime = words.duration((about["end_ns"] - about["start_ns"]) / 1e9)
    rows = {
        "program": about["program"],
        "ran on": words.processes_on_nodes(about["processes"], about["nodes"]),
        "runtime": f"{runtime} so far" if about["is_running"] else runtime,
        "written": words.size(about["write_bytes"]),
        "read": words.size(about["read_bytes"]),
        "frames": ", ".join(frames),
    }
    row = Markup("<tr><th style='text-align: left'>{}</th><td style='text-align: left'>{}</td></tr>")
    cells = Markup("").join(row.format(name, safe_text.visible(said)) for name, said in rows.items())
    title = Markup("<caption>Job {}</caption>").format(safe_text.visible(about["job"]))
    return str(Markup("<div class='slicewise'><table>{}{}</table></div>").format(title, cells))
