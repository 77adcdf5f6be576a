"""What a command is declared with, on click: its text, arguments and options, and those that several commands share.

A declaration imports nothing that takes long. What a command does stands in `slicewise.commands`, with its imports at
its head as everywhere, and is imported when the command runs: help, completion and complaints do not wait for polars.
"""

import functools
import importlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, get_args

import click

from slicewise import settings
from slicewise.contract import seconds_allowed
from slicewise.errors import UserError
from slicewise.kinds import METRICS, POLICIES, CampaignDirection

PATH = click.Path(path_type=Path)


class Number(click.FloatRange):
    """A number in a range, which nan is not."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        number = super().convert(value, param, ctx)
        return self.fail(f"{value} is not a number.", param, ctx) if number != number else number

    def _describe_range(self) -> str:
        """What help says of the range: nothing if there is none, where click says [x<=None]."""
        return "" if self.min is self.max is None else super()._describe_range()


class Group(click.Group):
    """Commands in the order of their declaration."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)


def _help_if_alone() -> None:
    context = click.get_current_context()
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


def command(
    name: str,
    body: str,
    help: str,
    example: str,
    *params: click.Parameter,
    allow_interspersed_args: bool = True,
    needs_settings: bool = True,
) -> click.Command:
    """A command. body: MODULE:FUNCTION in slicewise.commands, which takes the parameters by their names."""
    return click.Command(
        name,
        callback=functools.partial(_run, body, needs_settings),
        params=list(params),
        help=help,
        short_help=summary(help),
        epilog=f"Example: {example}",
        context_settings={"allow_interspersed_args": allow_interspersed_args},
    )


def group(name: str, help: str, *commands: click.Command) -> Group:
    """A command of several. Alone it prints its help."""
    return Group(
        name,
        {str(one.name): one for one in commands},
        callback=_help_if_alone,
        invoke_without_command=True,
        help=help,
        short_help=summary(help),
    )


def argument(name: str, metavar: str, type: Any, help: str, **more: Any) -> click.Argument:
    """An argument. metavar: [NAME] is not needed, NAME... may be several."""
    is_needed = not metavar.startswith("[")
    count = -1 if "..." in metavar else 1
    return click.Argument([name], metavar=metavar, type=_type(type), help=help, required=is_needed, nargs=count, **more)


def option(names: str, metavar: str | None, type: Any, help: str, name: str = "", **more: Any) -> click.Option:
    """An option with a value. type: texts are a choice of one. name: of the function's parameter, where it differs."""
    declared = [*names.split(", "), *([name] if name else [])]
    return click.Option(declared, metavar=metavar, type=_type(type), help=help, **more)


def flag(names: str, help: str, name: str = "", default: bool = False, **more: Any) -> click.Option:
    """An option without a value."""
    return click.Option([names, *([name] if name else [])], is_flag=True, default=default, help=help, **more)


def summary(help: str) -> str:
    """The first sentence."""
    first = " ".join(help.partition("\n\n")[0].split())
    sentence, dot, _ = first.partition(". ")
    return f"{sentence}." if dot else first


def _type(type: Any) -> Any:
    return click.Choice(type) if isinstance(type, Sequence) else type


def _run(body: str, needs_settings: bool, **given: Any) -> Any:
    if needs_settings:
        settings.require()
    module, _, function = body.partition(":")
    called = getattr(importlib.import_module(f"slicewise.commands.{module}"), function)
    return called(**{name: list(value) if isinstance(value, tuple) else value for name, value in given.items()})


def _keep_for_the_answer(context: click.Context, option: click.Parameter, value: Any) -> None:
    """terminal/output.py asks for it: no command hands it on."""
    context.meta[str(option.name)] = value


JSON = flag(
    "--json",
    "Print JSON, with the keys that docs/commands.md lists.",
    expose_value=False,
    callback=_keep_for_the_answer,
)
OUTPUT = option(
    "-o, --output",
    "FILE",
    PATH,
    "Write to FILE instead of the terminal.",
    expose_value=False,
    callback=_keep_for_the_answer,
)
HTML = option(
    "--html",
    "FILE",
    PATH,
    "Where to write the page. If it is not given, the last line of the output says where the page is.",
)
SLICE = option(
    "--slice",
    "SECONDS",
    Number(*seconds_allowed("SLICEWISE_SLICE")),
    "Length of a slice; else 4.",
    name="slice_seconds",
)
PROFILE = argument("profile", "PROFILE", PATH, "A job's directory, or one of its .swz files.")
SYMBOLS = option(
    "--symbols", "DIR", PATH, "Where programs or their debug information are; may be repeated.", multiple=True
)
ALONE = option(
    "--alone",
    "JOBDIR",
    PATH,
    "A standalone run of one of the programs; may be repeated. Without it: those beside the jobs.",
    multiple=True,
)


def _give_servers(context: click.Context, _option: click.Parameter, paths: Sequence[Path]) -> None:
    """Takes these places for the site's, until the command ends; none: the site's own stay."""
    if paths:
        context.with_resource(settings.with_servers(paths))


def _give_servers_now(context: click.Context, option: click.Parameter, paths: Sequence[Path]) -> None:
    """The same of places that have to be there: what the site says may be absent from this node."""
    for path in paths:
        if not path.exists():
            raise UserError(f"--servers {path}: does not exist; give where `slicewise-collect servers` writes")
    _give_servers(context, option, paths)


SERVERS = option(
    "--servers",
    "PATH",
    PATH,
    "What file servers counted by job: their profiles, or logs of Lustre's job_stats; a job's name there is then a "
    "profile, too; may be repeated.",
    multiple=True,
    expose_value=False,
    callback=_give_servers,
)
SERVERS_NOW = option(
    "--servers",
    "PATH",
    PATH,
    "Where file servers are sampled to: also show whom they counted in the last slices, on all nodes; may be repeated.",
    multiple=True,
    expose_value=False,
    callback=_give_servers_now,
)
OWN = option("--own", "SIZE", str, "The size that you use now, as 64KiB.")
LATENCY_BELOW = option("--latency-below", "TIME", str, "Only sizes whose calls take no longer, as 5ms.")
BANDWIDTH_ABOVE = option("--bandwidth-above", "RATE", str, "Only sizes that give as much, as 200MiB (a second).")
AGAINST = option("--against", "FOLDER", PATH, "A folder of public IO500 results, to say where these lie among them.")
ALL_USERS = flag("--all-users", "Show all users' jobs; root alone may.")
CATALOG = argument("catalog", "CATALOG", PATH, "The catalog's directory.")
DASK = option(
    "--dask",
    "SCHEDULER",
    str,
    "Use the workers of this Dask scheduler: its address or its file; local: one process for each core here.",
)
SINCE = option("--since", "TIME", str, "Only jobs that ended after TIME: 2026-11-22, or 2026-11-22T10:30.")
UNTIL = option("--until", "TIME", str, "Only jobs that began before TIME.")
MOST = option("--most", "N", click.IntRange(1), "The most rows to print.", default=20)
ASK = option("--ask", "N", click.IntRange(1), "Ask blame about N jobs at most, one by one.", name="asked")
MOUNT = option(
    "--mount",
    "POINT=TYPE,SOURCE",
    str,
    "What is mounted at POINT, as `slicewise report --detail` of a profile says it; may be repeated.",
    multiple=True,
)
PROFILES = argument(
    "profiles", "PROFILE...", PATH, "Jobs' directories or .swz files, or directories of jobs' directories."
)
DIRECTION = option(
    "--direction", None, get_args(CampaignDirection), "auto: whichever moved more bytes.", default="auto"
)
FITTED = option("--fitted", "M", PATH, "A model that `study model fit -o M` wrote.", name="model")
CURVE = option(
    "--weight",
    None,
    ["processes", "nodes", "mounts", "equal"],
    "The expected curve gives each job a share of the bandwidth in proportion to this.",
    default="processes",
)
POLICY = option("--policy", None, POLICIES, "See docs/coordination.md. May be repeated; else all.", multiple=True)
METRIC = option(
    "--metric",
    "METRIC",
    METRICS,
    f"By which figure of all jobs a policy is judged: {', '.join(METRICS)}. cpu_seconds: processes x seconds in I/O, "
    "with waits.",
    default="cpu_seconds",
)
DELAY = option(
    "--delay",
    "SECONDS",
    Number(0.0),
    "How long `delay` lets a job wait. If it is not given, the best of 20 waits is taken.",
)
