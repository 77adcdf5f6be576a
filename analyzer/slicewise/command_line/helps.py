"""About the command line itself: settings, completion, help."""

from slicewise.command_line import shared
from slicewise.command_line.parameters import argument, command, option

COMMANDS = [
    command(
        "config",
        "config:config",
        """Show each setting: its value, where that comes from (the default, your file or the environment), its
        meaning.

        The file is ~/.config/slicewise/config.toml (below XDG_CONFIG_HOME where that is set), with a line `slice =
        2` for SLICEWISE_SLICE=2. The environment overrides the file, and an option of a command overrides both.
        Your file holds for what slicewise itself starts, and after `module load slicewise`. The preloaded library
        reads the environment alone: a script that sets LD_PRELOAD by itself needs eval "$(slicewise config --export
        sh)" before.
        """,
        "slicewise config slice",
        argument("[SETTING]", "Only this setting, as slice.", name="name"),
        option(
            "--export",
            "Print only what your file sets: as `export` lines for a shell, or as NAME=value lines.",
            ["sh", "env"],
        ),
        *shared.ANSWER,
        needs_settings=False,
    ),
    command(
        "completion",
        "completion:completion",
        """Print what makes a shell complete commands and options by the tab key.

        For bash: a line eval "$(slicewise completion bash)" in ~/.bashrc.
        """,
        "slicewise completion bash",
        argument("SHELL", "bash, zsh or fish.", ["bash", "zsh", "fish"]),
        needs_settings=False,
    ),
    command(
        "help",
        "help:help",
        """Print the help of a command, or what each setting means: slicewise help settings.""",
        "slicewise help catalog list",
        argument("[COMMAND...]", "A command, or: settings. Else all commands.", name="topic"),
        needs_settings=False,
    ),
]
