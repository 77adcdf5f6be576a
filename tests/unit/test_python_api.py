"""`import slicewise`: the example of the documentation runs, every public function says what it is, nothing is imported
before it is used.
"""

import inspect
import re
import subprocess
import sys
from importlib import resources
from pathlib import Path
from typing import Any

import digest_pages
import pytest
import slicewise
from slicewise import answers
from slicewise.digest.digest import Digest
from support.tabled_jobs import write_job

PAGE = Path(__file__).resolve().parents[2] / "docs" / "python.md"
LARGE = ("jinja2", "numpy", "plotly", "polars", "rich", "click")


def test_the_example_of_the_page(tmp_path, monkeypatch):
    write_job(tmp_path / "profiles" / "48213", [[40] * 3, [80] * 3])
    write_job(tmp_path / "profiles" / "48214", [[10]])
    monkeypatch.chdir(tmp_path)
    found: dict[str, Any] = {}
    examples = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    assert examples
    for example in examples:
        exec(compile(example, str(PAGE), "exec"), found)
    assert found["rates"]["write_bytes"].to_list() == [30, 30, 30]
    assert found["slowest"]["seconds"].to_list() == [12, 12]
    assert found["totals"]["write_bytes"].to_list() == [360 << 20, 10 << 20]


def test_jobs_are_read_by_name_and_tables_as_they_are(tmp_path):
    write_job(tmp_path / "one", [[40], [80]])
    write_job(tmp_path / "two", [[10]])
    jobs = slicewise.read_jobs([tmp_path])
    assert all(isinstance(job, Digest) for job in jobs)
    assert len({job.job for job in jobs}) == 2
    reading = slicewise.read_tables([tmp_path], ["slices"], {"slices": ["write_bytes"]})
    assert reading.tables["slices"]["write_bytes"].sum() == 130 << 20
    assert reading.tables["slices"]["profile"].n_unique() == 2


def test_what_is_no_profile_is_refused_in_one_line(tmp_path):
    with pytest.raises(slicewise.UserError, match="nowhere"):
        slicewise.read(tmp_path / "nowhere")


def test_every_public_function_and_frame_is_documented():
    functions = [*digest_pages.FUNCTIONS, *digest_pages.public_functions(answers)]
    members = [member for name, member in inspect.getmembers(Digest) if not name.startswith("_")]
    offered = [getattr(slicewise, name) for name in slicewise.__all__]
    undocumented = [each for each in (*functions, *members, *offered) if not inspect.getdoc(each)]
    assert not undocumented


def test_the_package_is_typed_and_imports_nothing_large():
    assert resources.files("slicewise").joinpath("py.typed").is_file()
    listed = "import sys, slicewise; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", listed], capture_output=True, text=True, check=True)
    assert not set(LARGE) & set(done.stdout.split())
    with pytest.raises(AttributeError, match="nothing"):
        _ = slicewise.nothing
