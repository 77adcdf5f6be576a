"""The reader against bytes that nobody wrote: it gives a profile or one line, and no damage goes by in silence; and it
gives what its oracle in plain Python does.

Seeds are a synthetic profile and the golden files of all released formats. SLICEWISE_FUZZ_ROUNDS sets how many mutants
of each kind are tried (default 50); a failure names its seed.
"""

import os
import random
from pathlib import Path

import pytest
from slicewise.errors import UserError
from slicewise.profile.reader import read_profile
from support.plain_frames import Frame, Hole, walk
from support.plain_reader import NothingToRead, read_plainly
from support.swz import LAST_FRAME, Writer, build_profile

ROUNDS = int(os.environ.get("SLICEWISE_FUZZ_ROUNDS", "50"))
GOLDEN = sorted((Path(__file__).parents[1] / "golden").glob("*.swz"))


@pytest.fixture(scope="module", params=["synthetic", *GOLDEN], ids=lambda seed: getattr(seed, "name", seed))
def sound(request, tmp_path_factory) -> bytes:
    """The bytes of a sound file."""
    if request.param != "synthetic":
        return request.param.read_bytes()
    directory = build_profile(
        tmp_path_factory.mktemp("seed") / "job",
        [{"process": 1, "rank": 0}, {"process": 2, "rank": 1}],
        [{"process": 1 + k % 2, "slice": k // 2, "write_bytes": 1 << 20, "write_size_5": 1} for k in range(60)],
        files=[{"process": 1, "file": 1, "path": "/scratch/a"}],
        calls=[{"process": 2, "operation": "write", "calls": 30}],
        rows_a_frame=5,
    )
    return (directory / "n1.swz").read_bytes()


def read_mutant(data: bytes, file: Path, seed: object) -> None:
    """Read it: there is one line of error, or a profile that tells of every hole in the file."""
    file.write_bytes(data)
    parts = list(walk(data))
    assert sum((part.end - part.begin) for part in parts) == len(data), seed
    try:
        profile = read_profile(file, bins=True)
    except UserError as error:
        lines = [str(error)]
        # What else is no profile: several jobs, or slices of several lengths, or of none, or numbers that no job has.
        if not any(words in str(error) for words in ("several jobs", "have slices", "no job has", "days apart")):
            with pytest.raises(NothingToRead):
                read_plainly(file, bins=True)
    else:
        tables, damages = read_plainly(file, bins=True)
        assert profile.damage == damages, seed
        for name, table in tables.items():
            assert table.equals(getattr(profile, name)), (seed, name)
        lines = [damage.message for damage in profile.damage]
        # A frame that is whole elsewhere in the file is not missing.
        whole = {(part.process, part.number) for part in parts if isinstance(part, Frame)}
        holes = [
            (part.begin, part.end)
            for part in parts
            if isinstance(part, Hole) and (part.process, part.number) not in whole
        ]
        told = [byte_range for damage in profile.damage for byte_range in damage.byte_ranges]
        assert set(holes) <= set(told), seed
    assert all("\n" not in line and str(file) in line for line in lines), (seed, lines)


def test_every_truncation(sound, tmp_path):
    step = max(1, len(sound) // (4 * ROUNDS))
    for size in range(0, len(sound), step):
        read_mutant(sound[:size], tmp_path / "n1.swz", size)


def test_flipped_bits(sound, tmp_path):
    for seed in range(ROUNDS):
        source = random.Random(seed)
        mutant = bytearray(sound)
        for _ in range(source.choice([1, 1, 2, 8, 64])):
            mutant[source.randrange(len(mutant))] ^= 1 << source.randrange(8)
        read_mutant(bytes(mutant), tmp_path / "n1.swz", seed)


def test_cut_repeated_and_shuffled_pieces(sound, tmp_path):
    for seed in range(ROUNDS):
        source = random.Random(seed)
        edges = sorted(source.randrange(len(sound)) for _ in range(6))
        pieces = [sound[begin:end] for begin, end in zip([0, *edges], [*edges, len(sound)], strict=True)]
        source.shuffle(pieces)
        pieces += source.choices(pieces, k=2)
        read_mutant(b"".join(pieces[source.randrange(3) :]), tmp_path / "n1.swz", seed)


def test_payloads_of_garbage_in_sound_frames(sound, tmp_path):
    writer = Writer()
    payloads = [part.payload for part in walk(sound) if isinstance(part, Frame) and part.process]
    for seed in range(ROUNDS):
        source = random.Random(seed)
        payload = bytearray(source.choice(payloads))
        for _ in range(source.choice([1, 2, 4])):
            payload[source.randrange(len(payload))] = source.choice([0, 0xFF, 0x88, source.randrange(256)])
        frame = writer.frame(1, 50, bytes(payload[: source.randrange(1, len(payload) + 1)]), LAST_FRAME)
        read_mutant(writer.schema_frame() + sound + frame, tmp_path / "n1.swz", seed)


def test_foreign_bytes(tmp_path):
    for seed in range(ROUNDS):
        source = random.Random(seed)
        (tmp_path / "n1.swz").write_bytes(source.randbytes(source.choice([1, 11, 40, 4096])))
        with pytest.raises(UserError):
            read_profile(tmp_path / "n1.swz")
