"""What was written comes back, however it was spread over frames and files, and damage costs only what it touches."""

import random
import tempfile
from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from slicewise.profile.reader import Profile, read_profile
from support.plain_reader import read_plainly
from support.swz import LAST_FRAME, Frames, Writer, encode_numbers

U64 = st.one_of(st.integers(0, 300), st.integers(0, 2**64 - 1), st.integers(2**64 - 300, 2**64 - 1))
# Where UTF-8 is told from what is none: bytes that begin characters, continue them, and neither.
UTF8_BYTES = b"a\x80\x8f\x90\x9f\xa0\xbf\xc0\xc2\xe0\xe2\xed\xef\xf0\xf3\xf4\xf5\xff"
UTF8_PIECE = st.sampled_from([bytes([byte]) for byte in UTF8_BYTES])
LAYERS = ("posix", "stdio", "mpiio", "mpiio_coll", "kernel")

ROW = st.fixed_dictionaries(
    {
        "process": st.integers(1, 3), "mount": st.integers(0, 2), "layer": st.sampled_from(LAYERS),
        "slice": st.integers(425_000_000, 425_000_005), "write_bytes": st.integers(0, 2**50),
        "errors": st.integers(0, 3), "write_slowest_ns": st.integers(0, 2**40), "write_size_3": st.integers(0, 9),
    }
)  # fmt: skip


def read_of(payload: bytes) -> Profile:
    """The profile of one process, whose only frame holds the payload."""
    writer = Writer()
    head = writer.rows("processes", [{"job": "job"}])
    with tempfile.TemporaryDirectory() as temporary:
        frames = [writer.schema_frame(), writer.frame(1, 0, head + payload, LAST_FRAME)]
        return read_profile(Frames(frames).write(Path(temporary) / "n1.swz"))


@given(st.lists(U64, min_size=1, max_size=40), st.booleans())
def test_numbers_of_any_size_come_back(values, with_base):
    """Of a column that names something: amounts and times are held to what a job can have."""
    writer = Writer()
    names = [name for name, _ in writer.flat_columns("mounts")]
    presence = 1 << names.index("mount") | 1 << names.index("device")
    payload = writer.tables["mounts"].to_bytes(1, "little") + len(values).to_bytes(4, "little")
    payload += presence.to_bytes((len(names) + 7) // 8, "little")
    payload += encode_numbers(np.arange(len(values), dtype=np.uint64))
    payload += encode_numbers(np.array(values, np.uint64), with_base)
    assert read_of(payload).mounts["device"].to_list() == values


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=30), min_size=1, max_size=20))
def test_strings_come_back(paths):
    files = {"file": range(len(paths)), "path": paths}
    assert read_of(Writer().chunk("files", files)).files["path"].to_list() == paths


@given(st.lists(st.one_of(st.binary(max_size=40), st.lists(UTF8_PIECE, max_size=12).map(b"".join)), min_size=1))
def test_bytes_that_are_no_utf8_are_replaced_as_python_does(texts):
    writer = Writer()
    names = [name for name, _ in writer.flat_columns("files")]
    presence = 1 << names.index("file") | 1 << names.index("path")
    payload = writer.tables["files"].to_bytes(1, "little") + len(texts).to_bytes(4, "little")
    payload += presence.to_bytes((len(names) + 7) // 8, "little")
    payload += encode_numbers(np.arange(len(texts), dtype=np.uint64))
    payload += np.array([len(text) for text in texts], "<u2").tobytes() + b"".join(texts)
    assert read_of(payload).files["path"].to_list() == [text.decode("utf-8", "replace") for text in texts]


def expected_sums(rows: list[dict]) -> dict[tuple, tuple]:
    """Rows of one key added up in plain Python."""
    sums: dict[tuple, tuple] = {}
    for row in rows:
        key = (row["process"], row["mount"], row["layer"], row["slice"])
        total, errors, slowest, large = sums.get(key, (0, 0, 0, 0))
        sums[key] = (
            total + row["write_bytes"],
            errors + row["errors"],
            max(slowest, row["write_slowest_ns"]),
            large + row["write_size_3"],
        )
    return sums


@given(st.lists(ROW, max_size=40), st.randoms(use_true_random=False), st.integers(1, 7), st.booleans())
def test_rows_add_up_however_they_are_framed_ordered_and_repeated(rows, order: random.Random, rows_a_frame, two_files):
    writer = Writer()
    frames = []
    for process in (1, 2, 3):
        own = [row for row in rows if row["process"] == process]
        payloads = [writer.rows("slices", own[at : at + rows_a_frame]) for at in range(0, len(own), rows_a_frame)]
        payloads.append(writer.rows("processes", [{"job": "job", "pid": process}]))
        for number, payload in enumerate(payloads):
            last = LAST_FRAME if number == len(payloads) - 1 else 0
            frames.append(writer.frame(process, number, payload, last))
    frames += order.choices(frames, k=order.randint(0, 3))
    order.shuffle(frames)
    with tempfile.TemporaryDirectory() as temporary:
        directory = Path(temporary) / "job"
        cut = order.randint(0, len(frames)) if two_files else len(frames)
        Frames([writer.schema_frame(), *frames[:cut]]).write(directory / "n1.swz")
        Frames([writer.schema_frame(), *frames[cut:]]).write(directory / "n2.swz")
        profile = read_profile(directory, bins=True)
        tables, _ = read_plainly(directory, bins=True)
    assert profile.damage == []
    assert all(table.equals(getattr(profile, name)) for name, table in tables.items())
    columns = ("process", "mount", "layer", "slice", "write_bytes", "errors", "write_slowest_ns", "write_size_3")
    read = {row[:4]: row[4:] for row in profile.slices.select(columns).rows()}
    assert read == expected_sums(rows)
    assert len(profile.slices) == len(read)


@given(st.integers(2, 12), st.data())
def test_damage_costs_the_frames_that_it_touches_and_no_other(count, data):
    writer = Writer()
    head = writer.rows("processes", [{"job": "job"}])
    frames = [
        writer.frame(process, 0, head + writer.rows("slices", [{"slice": process, "write_bytes": 1}]), LAST_FRAME)
        for process in range(1, count + 1)
    ]
    hit = data.draw(st.sets(st.integers(0, count - 1), max_size=count - 1))
    for place in hit:
        at = data.draw(st.integers(0, len(frames[place]) - 1))
        bit = 1 << data.draw(st.integers(0, 7))
        frames[place] = frames[place][:at] + bytes([frames[place][at] ^ bit]) + frames[place][at + 1 :]
    with tempfile.TemporaryDirectory() as temporary:
        profile = read_profile(Frames([writer.schema_frame(), *frames]).write(Path(temporary) / "n1.swz"))
    # zstd has bits that mean nothing: a frame hit there alone is whole, as its checksum says.
    read = set(profile.slices["slice"])
    assert read >= {place + 1 for place in range(count) if place not in hit}
    assert (profile.slices["write_bytes"] == 1).all()
    assert sum(len(damage.byte_ranges) for damage in profile.damage) <= len(hit)
    assert bool(profile.damage) == (len(read) < count)
