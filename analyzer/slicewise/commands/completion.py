"""Completion of command lines by the tab key."""

import click
from click.shell_completion import get_completion_class

VARIABLE = "_SLICEWISE_COMPLETE"  # click looks for it when `slicewise` starts


def completion(shell: str) -> None:
    found = get_completion_class(shell)
    assert found is not None
    print(found(click.get_current_context().find_root().command, {}, "slicewise", VARIABLE).source())
