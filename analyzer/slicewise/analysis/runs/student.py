"""Student's t: how many standard deviations hold 95 % where few measurements show the deviation."""

from __future__ import annotations

# For 95 % to both sides, by degrees of freedom from 1 on; beyond, that of the normal distribution.
STUDENT_T = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131)
NORMAL = 1.96


def student_t(freedom: int) -> float:
    """Standard deviations to either side, by degrees of freedom (1 or more)."""
    return STUDENT_T[freedom - 1] if freedom <= len(STUDENT_T) else NORMAL
