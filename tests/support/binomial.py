"""Whether so many of so many times within intervals go with intervals of 95 %: the binomial distribution."""

import math

LEVEL = 0.95
# To each side: less likely than this is not chance.
TAIL = 0.025


def is_as_often(count: int, of: int, chance: float = LEVEL, tail: float = TAIL) -> bool:
    """Whether `count` of `of` may be chance where each is one with `chance`."""
    below = sum(_likely(some, of, chance) for some in range(count + 1))
    above = sum(_likely(some, of, chance) for some in range(count, of + 1))
    return min(below, above) >= tail


def _likely(count: int, of: int, chance: float) -> float:
    return math.comb(of, count) * chance**count * (1 - chance) ** (of - count)
