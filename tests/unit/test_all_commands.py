"""Every command that `slicewise` lists is one."""

import pytest
from slicewise.cli import _files
from support.command_line import slicewise_command


@pytest.mark.parametrize("name", sorted(_files()))
def test_help(name):
    done = slicewise_command(name, "--help")
    assert (done.status, done.errors) == (0, "")
    assert f"Usage: slicewise {name}" in " ".join(done.text.split())


def test_no_part_of_a_command_is_listed():
    assert not {"catalog-pages", "-catalog-pages"} & set(_files())
