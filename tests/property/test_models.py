"""What must hold of models of sharing that are turned round, fitted and checked, whatever the jobs."""

from __future__ import annotations

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from slicewise.analysis.delta import expected_curve
from slicewise.analysis.sharing.fitted_model import check, fit_model
from slicewise.analysis.sharing.proportional import SharingJob, alone_from_spans, share_out
from slicewise.analysis.sharing.weights import Weighting
from support.synthetic import Size, campaign

amounts = st.floats(0.01, 1000)
jobs_without_caps = st.lists(
    st.builds(SharingJob, st.just("job"), amounts, amounts, start=st.floats(0, 100)), min_size=1, max_size=6
)
sizes = st.builds(Size, st.integers(1, 60), st.integers(1, 5), st.integers(1, 5))


@given(jobs_without_caps)
def test_spans_give_back_the_standalone_times(jobs):
    spans = [(job.start, served.end) for job, served in zip(jobs, share_out(1.0, jobs).jobs, strict=True)]
    alone = alone_from_spans(spans, [job.weight for job in jobs])
    longest = max(end for _, end in spans)
    assert alone == pytest.approx([job.volume for job in jobs], rel=1e-6, abs=1e-9 * longest)


@settings(max_examples=25)
@given(st.lists(sizes, min_size=2, max_size=3), st.sampled_from(["processes", "nodes", "mounts", "equal"]))
def test_a_campaign_without_noise_is_predicted_exactly(members, kind):
    weights = [Weighting(kind).of(*size.clients, size.outstanding) for size in members]
    assume(max(weights) / min(weights) < 15)  # else a job gets hardly a byte in a slice, and rounding shows
    jobs, slices = campaign([members], Weighting(kind), noise=0.0, repeats=1)
    errors = check(fit_model(jobs, slices), jobs, Weighting(kind))["relative_error"]
    assert errors.len() == len(members)
    assert errors.abs().max() < 1e-3


@given(st.floats(1, 100), st.floats(1, 100), st.floats(0.1, 10), st.floats(0.1, 10), st.floats(-200, 200))
def test_a_delta_graph_has_its_mirror_image(t_a, t_b, w_a, w_b, offset):
    volumes = {"A": 1.0, "B": 1.0}
    one = expected_curve({"A": t_a, "B": t_b}, volumes, (w_a, w_b), [offset])["seconds"].to_list()
    other = expected_curve({"A": t_b, "B": t_a}, volumes, (w_b, w_a), [-offset])["seconds"].to_list()
    assert one == pytest.approx(other[::-1], rel=1e-6)
