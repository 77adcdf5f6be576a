"""What must hold of copies of any job on any storage."""

from hypothesis import given, settings
from hypothesis import strategies as st
from slicewise.analysis.copies.side_by_side import Customer, expected_loss, loss_in_step

ROUNDING = 1e-4
JOBS = st.builds(Customer, st.floats(1, 1e6), st.floats(0.1, 1e3), st.floats(0, 1e3), st.floats(0.1, 100))
RATES = st.floats(0.1, 1e3)
OTHERS = st.lists(JOBS, max_size=2)


def serves(rate, job, others):
    """A storage that serves so much to several jobs, and to one by itself no less than the fastest reaches alone."""
    alone = max([rate, job.rate, *(other.rate for other in others)])
    return lambda copies, working: rate if copies + len(working) > 1 else alone


@settings(max_examples=100)
@given(job=JOBS, others=OTHERS, rate=RATES, copies=st.integers(1, 6))
def test_more_copies_lose_no_less_and_a_faster_storage_no_more(job, others, rate, copies):
    loss = expected_loss(copies, job, others, serves(rate, job, others))
    assert loss >= -ROUNDING
    assert expected_loss(copies + 1, job, others, serves(rate, job, others)) >= loss - ROUNDING
    assert expected_loss(copies, job, others, serves(2 * rate, job, others)) <= loss + ROUNDING


@settings(max_examples=100)
@given(job=JOBS, rate=RATES, copies=st.integers(1, 8))
def test_by_itself_a_kind_of_job_loses_most_in_step_and_no_less_than_the_storage_forces(job, rate, copies):
    storage = serves(rate, job, [])
    loss = expected_loss(copies, job, [], storage)
    assert loss <= loss_in_step(copies, job, [], storage) + ROUNDING
    most_served = max(storage(number, []) for number in range(1, copies + 1))
    assert (1 + loss) * job.runtime * most_served >= copies * job.volume * (1 - ROUNDING)
