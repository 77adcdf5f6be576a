"""Where the files of a recording on several servers lie: GlusterFS puts a file on the server that its name's hash says.

The hash is Davies-Meyer with TEA's rounds (libglusterfs/src/hashfn.c); of two servers each has half of its range. On a
mounted volume `getfattr -n trusted.glusterfs.pathinfo FILE` says the same.
"""

from collections.abc import Iterable

WORD = 0xFFFFFFFF
DELTA = 0x9E3779B9
START = (0x9464A485, 0x542E1A94)
ROUNDS, ROUNDS_BEFORE = 10, 6
WORDS, WORD_BYTES = 4, 4


def placement(paths: Iterable[str], servers: int) -> dict[str, str]:
    """The server of each file, numbered from 0 in the order of the hash's ranges."""
    return {path: str(name_hash(path.rpartition("/")[2]) * servers >> 32) for path in paths}


def name_hash(name: str) -> int:
    data = name.encode()
    length = len(data)
    pad = (length | length << 8) * 0x10001 & WORD
    state, at = START, 0
    while length - at >= WORDS * WORD_BYTES:
        block = [int.from_bytes(data[at + k : at + k + WORD_BYTES], "little") for k in range(0, 16, WORD_BYTES)]
        state, at = _mixed(state, block, ROUNDS_BEFORE), at + WORDS * WORD_BYTES
    block = []
    for _ in range(WORDS):
        if length - at >= WORD_BYTES:
            block.append(int.from_bytes(data[at : at + WORD_BYTES], "little"))
            at += WORD_BYTES
            continue
        word = pad
        for byte in data[at:]:
            word = (word << 8 | byte) & WORD
        at = length
        block.append(word)
    first, second = _mixed(state, block, ROUNDS)
    return first ^ second


def _mixed(state: tuple[int, int], block: list[int], rounds: int) -> tuple[int, int]:
    first, second = state
    total = 0
    for _ in range(rounds):
        total = total + DELTA & WORD
        first = first + ((second << 4) + block[0] ^ second + total ^ (second >> 5) + block[1]) & WORD
        second = second + ((first << 4) + block[2] ^ first + total ^ (first >> 5) + block[3]) & WORD
    return state[0] + first & WORD, state[1] + second & WORD
