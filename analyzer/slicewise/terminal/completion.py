"""Completion by the tab key: what may come next on a command line, and the few lines of shell that ask for it.

A shell calls `slicewise completion words -- WORDS`, the last of which is not yet complete, and gets a line for each
word that may stand there, with its meaning behind a tab; none where a file's name is wanted, which the shell knows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import typer

from slicewise.terminal.help_text import summary_of
from slicewise.terminal.values import choices_of

BASH = r"""# slicewise: completion for bash. Put into ~/.bashrc:  eval "$(slicewise completion bash)"
_slicewise() {
    local IFS=$'\n'
    COMPREPLY=($(slicewise completion words -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2> /dev/null | cut -f 1))
}
complete -o bashdefault -o default -F _slicewise slicewise"""

ZSH = r"""#compdef slicewise
# slicewise: completion for zsh. Put into ~/.zshrc, after compinit:  eval "$(slicewise completion zsh)"
_slicewise() {
    local -a found
    found=("${(@f)$(slicewise completion words -- "${(@)words[2,CURRENT]}" 2> /dev/null)}")
    if [[ -n "${found[1]}" ]]; then
        found=("${(@)found//:/\\:}")
        found=("${(@)found/$'\t'/:}")
        _describe slicewise found
    else
        _files
    fi
}
if [[ "${funcstack[1]}" == _slicewise ]]; then _slicewise "$@"; else compdef _slicewise slicewise; fi"""

FISH = r"""# slicewise: completion for fish. Put into ~/.config/fish/config.fish:  slicewise completion fish | source
function __slicewise_words
    set -l words (commandline -opc) (commandline -ct)
    slicewise completion words -- $words[2..-1] 2> /dev/null
end
complete -c slicewise -a '(__slicewise_words)'"""

SCRIPTS = {"bash": BASH, "zsh": ZSH, "fish": FISH}


def next_words(context: Any, words: Sequence[str]) -> list[tuple[str, str]]:
    """What the last of `words` may become, each with its meaning. context: of the command line as a whole."""
    *before, begun = words or [""]
    command = context.command
    for word in before:
        if word in _names(command, context):
            context = typer.Context(command.get_command(context, word), parent=context, info_name=word)
            command = context.command
    params = command.get_params(context)
    if before and (wanted := next((one for one in params if before[-1] in one.opts and not one.is_flag), None)):
        found = [(choice, "") for choice in choices_of(wanted)]
    elif begun.startswith("-"):
        found = list(_options(params))
    else:
        found = [
            (name, _meaning(command, context, name)) for name in _names(command, context) if name.startswith(begun)
        ]
    return [(word, meaning) for word, meaning in found if word.startswith(begun)]


def _names(command: Any, context: Any) -> list[str]:
    return list(command.list_commands(context)) if hasattr(command, "list_commands") else []


def _meaning(command: Any, context: Any, name: str) -> str:
    """What a command does; read from its source where that does without importing it."""
    return str(
        command.summary(name) if hasattr(command, "summary") else summary_of(command.get_command(context, name).help)
    )


def _options(params: Sequence[Any]) -> Iterator[tuple[str, str]]:
    for param in params:
        if param.param_type_name == "option":
            for name in (*param.opts, *param.secondary_opts):
                if name.startswith("--"):
                    yield name, "Show this help." if name == "--help" else param.help or ""
