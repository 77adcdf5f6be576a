"""Completion of command lines by the tab key."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from slicewise.terminal.completion import SCRIPTS, next_words

app = typer.Typer(add_completion=False)


@app.command(context_settings={"allow_interspersed_args": False})
def completion(
    context: typer.Context,
    what: Annotated[
        Literal["bash", "zsh", "fish", "words"],
        typer.Argument(
            metavar="SHELL", help="bash, zsh or fish. What is printed calls this command again, with `words`."
        ),
    ],
    words: Annotated[
        list[str] | None, typer.Argument(metavar="[WORD...]", help="After `words`: what has been typed so far.")
    ] = None,
) -> None:
    """Print what makes a shell complete commands and options by the tab key.

    For bash: a line  eval "$(slicewise completion bash)"  in ~/.bashrc.

    Example: slicewise completion bash
    """
    if what in SCRIPTS:
        typer.echo(SCRIPTS[what])
        return
    for word, meaning in next_words(context.find_root(), words or []):
        typer.echo(f"{word}\t{meaning}")
