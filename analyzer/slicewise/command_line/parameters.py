"""What a command is declared with, on click: its text, arguments and options, and those that several commands share.

A declaration imports nothing that takes long. What a command does stands in `slicewise.commands`, with its imports at
its head as everywhere, and is imported when the command runs: help, completion and complaints do not wait for polars.
"""

import functools
import importlib
import re
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


def argument(metavar: str, help: str, type: Any = str, name: str = "", **more: Any) -> click.Argument:
    """An argument. metavar: [NAME] is not needed, NAME... may be several. name: of the function's parameter, where it
    is not that in small letters."""
    name = name or re.findall(r"\w+", metavar)[0].lower()
    is_needed, count = not metavar.startswith("["), -1 if "..." in metavar else 1
    return click.Argument([name], metavar=metavar, type=_type(type), help=help, required=is_needed, nargs=count, **more)


def option(form: str, help: str, type: Any = str, name: str = "", **more: Any) -> click.Option:
    """An option with a value. form: as help shows it, "-o, --output FILE". type: texts are a choice of one. name: of
    the function's parameter, where it differs."""
    words = form.split()
    names = [word.removesuffix(",") for word in words if word.startswith("-")]
    metavar = words[-1] if len(words) > len(names) else None
    return click.Option([*names, *([name] if name else [])], metavar=metavar, type=_type(type), help=help, **more)


def flag(names: str, help: str, name: str = "", default: bool = False, **more: Any) -> click.Option:
    """An option without a value."""
    return click.Option([names, *([name] if name else [])], is_flag=True, default=default, help=help, **more)


def summary(help: str) -> str:
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
    "-o, --output FILE",
    "Write to FILE instead of the terminal.",
    PATH,
    expose_value=False,
    callback=_keep_for_the_answer,
)
HTML = option(
    "--html FILE",
    "Where to write the page. If it is not given, the last line of the output says where the page is.",
    PATH,
)
SLICE = option(
    "--slice SECONDS", "Length of a slice; else 4.", Number(*seconds_allowed("SLICEWISE_SLICE")), name="slice_seconds"
)
ANSWER = (JSON, OUTPUT)
PAGE = (HTML, JSON, OUTPUT)
INTO = option("--into DIR", "Where to write: each job in a directory of its name.", PATH, default="slicewise")
PROFILE = argument("PROFILE", "A job's directory, or one of its .swz files.", PATH)
SYMBOLS = option(
    "--symbols DIR", "Where programs or their debug information are; may be repeated.", PATH, multiple=True
)
ALONE = option(
    "--alone JOBDIR",
    "A standalone run of one of the programs; may be repeated. Without it: those beside the jobs.",
    PATH,
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
    "--servers PATH",
    "What file servers counted by job: their profiles, or logs of Lustre's job_stats; a job's name there is then a "
    "profile, too; may be repeated.",
    PATH,
    multiple=True,
    expose_value=False,
    callback=_give_servers,
)
SERVERS_NOW = option(
    "--servers PATH",
    "Where file servers are sampled to: also show whom they counted in the last slices, on all nodes; may be repeated.",
    PATH,
    multiple=True,
    expose_value=False,
    callback=_give_servers_now,
)
OWN = option("--own SIZE", "The size that you use now, as 64KiB.")
LATENCY_BELOW = option("--latency-below TIME", "Only sizes whose calls take no longer, as 5ms.")
BANDWIDTH_ABOVE = option("--bandwidth-above RATE", "Only sizes that give as much, as 200MiB (a second).")
AGAINST = option("--against FOLDER", "A folder of public IO500 results, to say where these lie among them.", PATH)
ALL_USERS = flag("--all-users", "Show all users' jobs; root alone may.")
CATALOG = argument("CATALOG", "The catalog's directory.", PATH)
DASK = option(
    "--dask SCHEDULER",
    "Use the workers of this Dask scheduler: its address or its file; local: one process for each core here.",
)
SINCE = option("--since TIME", "Only jobs that ended after TIME: 2026-11-22, or 2026-11-22T10:30.")
UNTIL = option("--until TIME", "Only jobs that began before TIME.")
MOST = option("--most N", "The most rows to print.", click.IntRange(1), default=20)
ASK = option("--ask N", "Ask blame about N jobs at most, one by one.", click.IntRange(1), name="asked")
MOUNT = option(
    "--mount POINT=TYPE,SOURCE",
    "What is mounted at POINT, as `slicewise report --detail` of a profile says it; may be repeated.",
    multiple=True,
)
PROFILES = argument(
    "PROFILE...", "Jobs' directories or .swz files, or directories of jobs' directories.", PATH, name="profiles"
)
DIRECTION = option("--direction", "auto: whichever moved more bytes.", get_args(CampaignDirection), default="auto")
FITTED = option("--fitted M", "A model that `study model fit -o M` wrote.", PATH, name="model")
CURVE = option(
    "--weight",
    "The expected curve gives each job a share of the bandwidth in proportion to this.",
    ["processes", "nodes", "mounts", "equal"],
    default="processes",
)
POLICY = option("--policy", "See docs/coordination.md. May be repeated; else all.", POLICIES, multiple=True)
METRIC = option(
    "--metric METRIC",
    f"By which figure of all jobs a policy is judged: {', '.join(METRICS)}. cpu_seconds: processes x seconds in I/O, "
    "with waits.",
    METRICS,
    default="cpu_seconds",
)
DELAY = option(
    "--delay SECONDS",
    "How long `delay` lets a job wait. If it is not given, the best of 20 waits is taken.",
    Number(0.0),
)
