"""The panels of the shipped plans, each run once on the testbed: what was recorded is judged anew."""

from slicewise.running.delta_campaign import read_plan, shipped_plans
from testbed import measured, sweep_tables


def test_all_panels_of_all_plans_are_recorded():
    planned = {(name, panel.name) for name, path in shipped_plans().items() for panel in read_plan(path).panels}
    found = [(one.plan, one.panel.graph.configuration) for one in sweep_tables.read(measured.PANELS)]
    assert len(found) == len(planned)
    assert set(found) == planned


def test_the_tables_are_those_of_the_recording():
    assert measured.made("panels") == measured.kept("panels")
