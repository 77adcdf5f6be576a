"""How often I/O comes back: bursts in a series of bytes a slice, and their period by autocorrelation.

Arrays in, results out; no profile is read here.
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from slicewise.constants import LEAST_OF_RATE
from slicewise.digest.activity import Direction
from slicewise.estimate import Estimate
from slicewise.statistics import student_t

# A slice is in a burst from this fraction of the rate at which the mean byte moved; for what is typical, from less
# (LEAST_OF_RATE).
LEAST_OF_BURST = 0.3
# A lull belongs to its burst if what is on either side is so many times as long.
LULL_WITHIN = 4

LEAST_CONFIDENCE = 0.4
# Bursts whose distances vary repeat at no lag, and the next one is known all the same: from so many distances whose
# standard deviation is such a part of their mean. Bursts at random have that at 0.2 % of the moments.
FEWEST_ALIKE = 5
MOST_ALIKE = 0.25
LEAST_PHASES = 3
# Bursts count at most so many times the median one: a first, much larger one must not hide the others.
MOST_OF_MEDIAN = 2.0
# Slices from one burst to the next that it takes to see both; and how much narrower than that a Gaussian must be.
LEAST_DISTANCE = 4
NARROWER = 8
# A Gaussian is cut where it is so many of its standard deviations wide.
GAUSSIAN_REACH = 4
# Wider ones are multiplied as spectra: a run of a week with a burst a day would take minutes.
MOST_REACH_OF_SUMS = 256
# Multiples of a period repeat as well as it does, give or take this much.
CLOSE_TO_BEST = 0.9
LEAST_BETTER = 0.05
WHOLE = 0.97


@dataclass(frozen=True)
class Period:
    """How often I/O in one direction comes back.

    seconds: from one burst to the next. repeats: the autocorrelation there, 1 where all of the pattern comes back.
    confidence: 0 to 1, see `find_period`. times: how many periods the run holds.
    """

    direction: Direction
    seconds: float
    confidence: float
    repeats: float
    times: float


def find_period(moved: np.ndarray, slice_seconds: float, direction: Direction) -> Period | None:
    """The period of a series of bytes a slice; None where nothing comes back with a confidence of 0.4 or more.

    Slices are cut to twice the median (or not, whichever shows more), and r is the correlation of the series with
    itself, later by a lag of up to half of the run, after a Gaussian of 1, 2, 4, ... slices (wide ones for bursts that
    come irregularly). A peak of r past its first zero is judged by the mean of r at all its multiples: confidence is
    (mean - c) / (1 - c) * (1 - 1 / k), with k the number of periods in the run and c what chance makes of so many
    peaks, bursts and multiples. The period is the first peak within 10 % of the most confident one, unless every second
    to fifth of its multiples repeats better than the rest: then it is a part of the period (a large checkpoint between
    small ones). Its multiples place it more finely than a slice.
    """
    active = np.flatnonzero(moved)
    if len(active) < LEAST_PHASES:
        return None
    series = moved[active[0] : active[-1] + 1].astype(np.float64)
    typical = np.median(series[series >= LEAST_OF_RATE * rate_of_mean_byte(series)])
    found = [
        period
        for most in (MOST_OF_MEDIAN * typical, np.inf)
        if (period := _period_of(np.minimum(series, most), slice_seconds, direction))
    ]
    return max(found, key=lambda period: period.confidence, default=None)


def _period_of(series: np.ndarray, slice_seconds: float, direction: Direction) -> Period | None:
    bursts = runs_above(series, LEAST_OF_BURST)
    if len(bursts) < LEAST_PHASES:
        return None
    distance = (bursts[-1].start - bursts[0].start) / (len(bursts) - 1)
    best: Period | None = None
    width = 1.0
    while width <= max(1.0, distance / NARROWER):
        lag, repeats, confidence = _best_lag(_autocorrelation(_smoothed(series, width)), len(series), len(bursts))
        # Bursts that come faster than slices can show beat with them: that the beat repeats is no period.
        is_resolved = distance >= LEAST_DISTANCE or lag < 1.5 * distance
        if is_resolved and confidence >= LEAST_CONFIDENCE and (best is None or confidence > best.confidence):
            best = Period(direction, lag * slice_seconds, confidence, repeats, len(series) / lag)
        width *= 2
    return best


def next_burst(moved: np.ndarray, slice_seconds: float, direction: Direction = "write") -> Estimate | None:
    """In how many seconds from the end of the series on the next burst begins; None where I/O has no period and bursts
    come at all distances, or where a burst that was due has not come. How far bursts were apart until now, and how much
    that varied, says when: as of one more value of a sample, by Student's t, and no more finely than a slice.
    """
    if np.count_nonzero(moved) < LEAST_PHASES:
        return None
    begins = np.array([run.start for run in runs_above(moved.astype(np.float64), LEAST_OF_BURST) if run.start > 0])
    apart = np.diff(begins) * slice_seconds
    period = find_period(moved, slice_seconds, direction)
    if period is None and (len(apart) < FEWEST_ALIKE or apart.std(ddof=1) > MOST_ALIKE * apart.mean()):
        return None
    periods = np.round(apart / period.seconds) if period else np.ones(len(apart))
    distances = (apart / np.maximum(periods, 1))[periods >= 1]
    if len(distances) < LEAST_PHASES - 1:
        return None
    deviation = float(distances.std(ddof=1)) * np.sqrt(1 + 1 / len(distances))
    error = max(student_t(len(distances) - 1) * deviation, slice_seconds)
    due = float(begins[-1] - len(moved)) * slice_seconds + float(distances.mean())
    if due + error < 0:
        return None
    return Estimate(max(due, 0.0), max(due - error, 0.0), due + error, "how far bursts were apart, by Student's t")


def _smoothed(series: np.ndarray, width: float) -> np.ndarray:
    """The series after a Gaussian of that standard deviation; zeros go before and after it."""
    reach = int(GAUSSIAN_REACH * width + 0.5)
    weights = np.exp(-0.5 * (np.arange(-reach, reach + 1) / width) ** 2)
    weights /= weights.sum()
    if reach <= MOST_REACH_OF_SUMS:
        return np.convolve(series, weights)[reach : reach + len(series)]
    room = _room(len(series) + 2 * reach)
    smoothed: np.ndarray = np.fft.irfft(np.fft.rfft(series, room) * np.fft.rfft(weights, room), room)
    return smoothed[reach : reach + len(series)]


def _room(size: int) -> int:
    """For the spectrum of so many numbers, and zeros: a length with a large prime in it takes ten times as long."""
    return 1 << (size - 1).bit_length()


def _autocorrelation(series: np.ndarray) -> np.ndarray:
    """The correlation (Pearson) of a series with itself for the lags 0 to half of it; 0 where there is no variation."""
    size, lags = len(series), np.arange(len(series) // 2 + 2)
    centred = series - series.mean()
    room = _room(2 * size)
    spectrum = np.fft.rfft(centred, room)
    products = np.fft.irfft(spectrum * spectrum.conj(), room)[: len(lags)]
    sums, squares = np.append(0.0, np.cumsum(centred)), np.append(0.0, np.cumsum(centred**2))
    overlap = size - lags
    head, tail = sums[overlap], sums[size] - sums[lags]
    head_variance = squares[overlap] - head**2 / overlap
    tail_variance = squares[size] - squares[lags] - tail**2 / overlap
    both = np.sqrt(np.maximum(head_variance, 0) * np.maximum(tail_variance, 0))
    is_known = both > 1e-9 * squares[size]
    found: np.ndarray = np.divide(products - head * tail / overlap, both, out=np.zeros(len(lags)), where=is_known)
    return found


def _best_lag(r: np.ndarray, slices: int, bursts: int) -> tuple[float, float, float]:
    """Lag, mean of r at its multiples and confidence of the peak that is the period; zeros where there is no peak."""
    below = np.flatnonzero(r <= 0)
    middle = np.arange(max(1, below[0]), len(r) - 1) if len(below) else below
    peaks = middle[(r[middle] >= r[middle - 1]) & (r[middle] > r[middle + 1]) & (r[middle] > 0)]
    if not len(peaks):
        return 0.0, 0.0, 0.0
    tops = np.array([_top(r, peak) for peak in peaks])
    judged = []
    for first in tops[:, 0]:
        lag, heights = _multiples(tops, first, len(r))
        chance = min(0.95, np.sqrt(2 * np.log(1 + len(peaks)) / (bursts * len(heights))))
        confidence = max(0.0, (heights.mean() - chance) / (1 - chance)) * (1 - lag / slices)
        judged.append((float(lag), float(heights.mean()), float(confidence), _is_part(heights)))
    most = max((confidence for _, _, confidence, is_part in judged if not is_part), default=0.0)
    return next((peak[:3] for peak in judged if not peak[3] and peak[2] >= CLOSE_TO_BEST * most), (0.0, 0.0, 0.0))


def _multiples(tops: np.ndarray, first: float, end: int) -> tuple[float, np.ndarray]:
    """A lag, placed by all peaks near its multiples, and their heights (0 where there is none)."""
    lag, heights = first, []
    for multiple in range(1, max(1, int((end - 1) / first)) + 1):
        near = tops[np.abs(tops[:, 0] - multiple * lag) < first / 4]
        if len(near):
            at, height = near[np.argmax(near[:, 1])]
            lag = at / multiple
            heights.append(min(height, 1.0))
        else:
            heights.append(0.0)
    return lag, np.array(heights)


def _is_part(heights: np.ndarray) -> bool:
    """Whether every so many-th multiple of a lag repeats better than the others: wholly, or by more than by chance."""
    multiples = np.arange(1, len(heights) + 1)
    for every in range(2, min(5, len(heights)) + 1):
        these, others = heights[multiples % every == 0], heights[multiples % every != 0]
        if these.mean() >= WHOLE and others.mean() < CLOSE_TO_BEST:
            return True
        if min(len(these), len(others)) > 2:
            error = np.sqrt(others.var(ddof=1) / len(others) + these.var(ddof=1) / len(these))
            if these.mean() - others.mean() > LEAST_BETTER + 3 * error:
                return True
    return False


def _top(r: np.ndarray, peak: int) -> tuple[float, float]:
    """The vertex of the parabola through a peak and its neighbours."""
    left, top, right = r[peak - 1 : peak + 2]
    bend = left - 2 * top + right
    shift = 0.5 * (left - right) / bend if bend else 0.0
    return peak + shift, top - 0.25 * (left - right) * shift


def rate_of_mean_byte(series: np.ndarray) -> float:
    """The mean over bytes, not over slices, of what moved in a byte's slice."""
    return float((series**2).sum() / series.sum())


def runs_above(series: np.ndarray, least: float) -> list[range]:
    """The stretches in which a series reaches that part of the rate of its mean byte. Short lulls are bridged."""
    inside = np.concatenate(([False], series >= least * rate_of_mean_byte(series), [False]))
    edges = np.flatnonzero(inside[1:] != inside[:-1])
    runs = [range(start, stop) for start, stop in edges.reshape(-1, 2).tolist()]
    merged = runs[:1]
    for before, run in pairwise(runs):
        if LULL_WITHIN * (run.start - before.stop) <= min(len(before), len(run)):
            merged[-1] = range(merged[-1].start, run.stop)
        else:
            merged.append(run)
    return merged
