"""What must hold of copies of any job on any storage."""

from hypothesis import given, settings
from hypothesis import strategies as st
from slicewise.analysis.copies.chain import Customer, expected_loss
from slicewise.analysis.copies.losses import progress
from slicewise.analysis.predict.side_by_side import Segment

ROUNDING = 1e-4
# s in I/O alone, of which each takes so much of the time of a storage of 1; s of computing; weight.
JOBS = st.tuples(st.floats(1, 1e4), st.floats(0.01, 2), st.floats(0, 1e3), st.floats(0.1, 100))
RATES = st.floats(0.1, 10)
OTHERS = st.lists(JOBS, max_size=2)


def lost(copies, job, others, rate):
    """On a storage that serves so much to several jobs, and to one by itself whatever it asks for."""
    jobs = [job, *others]
    lines = [(Segment(one[0], (0.0, one[1] / rate, 0.0), (0.0, 1.0, 0.0)), one[3]) for one in jobs]
    customer, *customers = (Customer(seconds, computing) for seconds, _, computing, _ in jobs)

    def service(active, working):
        return progress(active, [lines[0][0]], lines[0][1], [lines[1 + place] for place in working], 1.0)

    return expected_loss(copies, customer, customers, service)


@settings(max_examples=100)
@given(job=JOBS, others=OTHERS, rate=RATES, copies=st.integers(1, 6))
def test_more_copies_lose_no_less_and_a_faster_storage_no_more(job, others, rate, copies):
    loss = lost(copies, job, others, rate)
    assert loss >= -ROUNDING
    assert lost(copies + 1, job, others, rate) >= loss - ROUNDING
    assert lost(copies, job, others, 2 * rate) <= loss + ROUNDING


@settings(max_examples=100)
@given(job=JOBS, rate=RATES, copies=st.integers(1, 8))
def test_by_itself_a_kind_of_job_loses_no_more_than_in_step_and_no_less_than_the_storage_forces(job, rate, copies):
    loss = lost(copies, job, [], rate)
    seconds, part, computing, _ = job
    in_step = seconds * max(1.0, copies * part / rate) if copies > 1 else seconds
    assert (1 + loss) * (computing + seconds) <= (computing + in_step) * (1 + ROUNDING)
    assert (1 + loss) * (computing + seconds) * max(rate, part) >= copies * seconds * part * (1 - ROUNDING)
