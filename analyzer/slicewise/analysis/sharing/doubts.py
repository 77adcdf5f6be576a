"""Why a prediction of runs that nobody has seen may be off by more than its interval says."""

from collections.abc import Sequence

from slicewise.analysis.sharing.fitted_model import predict
from slicewise.analysis.sharing.model import FittedModel, ModelJob, ModelledRuntime
from slicewise.analysis.sharing.weights import Weighting

# Clients beyond the most that were seen by less than this fraction are no news.
BEYOND = 0.1


def doubts(model: FittedModel, jobs: Sequence[ModelJob], found: Sequence[ModelledRuntime]) -> list[str]:
    """What the model does not know of these jobs, a clause each. found: what it predicts of them."""
    told = [f"no run shows what {job.job} reaches alone" for job in jobs if not model.knows_size_of(job)]
    if model.scatter is None:
        told.append("too few combinations of jobs were seen to say how shares vary, so the interval leaves that out")
    curve = model.capacity
    if model.basis == "capacity curve" and curve is not None and curve.by != "constant":
        most, clients = max(point.clients for point in curve.points), sum(job.clients[curve.by] for job in jobs)
        if clients > (1 + BEYOND) * most:
            told.append(f"here {clients} {curve.by} are at work, and no run had more than {most}")
    return told + _undecided(model, jobs, found)


def _undecided(model: FittedModel, jobs: Sequence[ModelJob], found: Sequence[ModelledRuntime]) -> list[str]:
    """Weights that the runs do not refute and that give a time outside of the interval."""
    told = []
    for kind in model.weight.possible:
        if model.weight.chosen is None or kind == model.weight.chosen.kind:
            continue
        beta = model.weight.beta.value if model.weight.beta else 1.0
        try:
            others = predict(model, jobs, Weighting(kind, beta))
        except ValueError:
            continue
        for runtime, other in zip(found, others, strict=True):
            if not runtime.t_co.low <= other.t_co.value <= runtime.t_co.high:
                told.append(
                    f"shares by {kind}, which the runs do not refute, give {runtime.job} {other.t_co.value:.4g} s"
                )
                break
    return told
