"""To whom a storage is fair, where a prediction was missed, and who is compared with whom, in words that claim no more
than is known.
"""

from __future__ import annotations

import pytest
from slicewise.analysis.sharing.goodness import Misfit
from slicewise.analysis.sharing.weights import WEIGHT_KINDS, Candidate, WeightFit, Weighting, WeightKind
from slicewise.estimate import Estimate
from slicewise.report.model.model_words import answer, misfit_words


def fit(*possible: WeightKind) -> WeightFit:
    candidates = [Candidate(kind, 0.05 if kind in possible else 1.059, kind not in possible) for kind in WEIGHT_KINDS]
    return WeightFit(Weighting(possible[0]), candidates, [], list(possible), None, 6, 12, 90, "")


@pytest.mark.parametrize(
    ("possible", "said"),
    [
        (("processes",), "The file system is fair to processes, not to nodes."),
        (("nodes", "mounts"), "The file system is fair to nodes, or to what each node has one of, not to processes."),
        (("outstanding",), "fair neither to processes nor to nodes: whoever keeps more bytes under way gets more."),
        (("processes^beta",), "The file system is fair neither to processes nor to nodes."),
        (("processes", "nodes"), "These runs cannot tell whether the file system is fair to processes or to nodes."),
    ],
)
def test_a_storage_is_fair_to_what_is_not_refuted(possible, said):
    assert said in answer(fit(*possible))


@pytest.mark.parametrize(
    ("observed", "capacity_ratio", "said"),
    [
        (150.0, 1.0, "the time was lost at the beginning, at the end or in a pause."),
        (50.0, 1.0, "where the time was gained is not known."),
        (50.0, 1.2, "The storage gave all jobs together 20.0 % more than the model has."),
        (150.0, 0.9, "The storage gave all jobs together 10.0 % less than the model has."),
        (50.0, None, "What the storage gave all jobs together is not known."),
    ],
)
def test_where_a_prediction_was_missed_is_told_where_it_is_known(observed, capacity_ratio, said):
    predicted = Estimate(100.0, 95.0, 105.0, "")
    missed = Misfit("job", predicted, observed, "no share law", 101.0, 0.5, 0.5, capacity_ratio)
    assert misfit_words(missed).endswith(said)
