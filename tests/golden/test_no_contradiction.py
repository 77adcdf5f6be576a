"""No answer contradicts itself: of recorded and simulated campaigns, with standalone runs and without."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from support import blame_trials
from support.blame_scenarios import Scenario, scenarios
from support.consistency import contradictions
from testbed import blame_validation as recorded
from testbed import recordings
from testbed.blame_plans import STORAGES, recording_of

ARCHIVES = Path(__file__).parent / "campaigns"
# One of so many simulated scenarios: each takes seconds.
EACH = 6
SCENARIOS = {scenario.name: scenario for scenario in list(scenarios())[::EACH]}


@pytest.mark.xdist_group("blame")  # one process reads these recordings
@pytest.mark.parametrize("storage", STORAGES)
def test_of_recorded_campaigns(storage):
    wrong, confidences = [], Counter()
    for case in recorded.cases(recordings.unpacked(ARCHIVES) / recording_of(storage)):
        for told in (case.told, case.told_without):
            confidences[told.confidence] += 1
            wrong += [f"{case.run.name}, {case.job.job}: {line}" for line in contradictions(told)]
    assert wrong == []
    assert min(confidences["high"], confidences["unknown"]) >= 1, confidences  # both kinds were looked at


@pytest.mark.parametrize("scenario", SCENARIOS.values(), ids=SCENARIOS)
def test_of_simulated_ones(scenario: Scenario):
    for given in (blame_trials.NOTHING, blame_trials.STANDALONE):
        assert list(contradictions(blame_trials.told(scenario, 1, given))) == [], given
