"""What is left of interference when the device is taken away (Yildiz 2016, null-aio): `make guest` runs it."""

import json
from typing import Any

import pytest
from support.command_line import run_slicewise
from support.guests import run_servers


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    out = run_servers(tmp_path_factory.mktemp("guest"), "null_device.sh")
    done = run_slicewise("study", "delta", "read", "slow", "null", "--json", directory=out / "profiles")
    assert done.returncode == 0, done.stderr
    return {one["configuration"]: one for one in json.loads(done.stdout)["configurations"]}


def test_jobs_that_share_a_slow_device_share_the_link_once_it_is_taken_away(ran):
    for found in ran.values():
        assert list(found["peak"].values()) == pytest.approx([2.0, 2.0], abs=0.3)
    assert ran["slow"]["evidence"][0]["cause"] == "device"
    # Processors are emulated, and may be at their limit, too.
    full = {device: {row["cause"] for row in found["evidence"] if row["full"]} for device, found in ran.items()}
    assert "device" in full["slow"] - full["null"]
    assert "link" in full["null"] - full["slow"]
