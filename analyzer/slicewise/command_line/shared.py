"""Arguments and options that several commands share."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, get_args

import click

from slicewise import settings
from slicewise.command_line.parameters import PATH, Number, argument, flag, option
from slicewise.contract import seconds_allowed
from slicewise.errors import UserError
from slicewise.kinds import METRICS, POLICIES, CampaignDirection


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
ALL_USERS = flag("--all-users", "Show all users' jobs; root alone may.")
CATALOG = argument("CATALOG", "The catalog's directory.", PATH)
TIMES = (
    option("--since TIME", "Only jobs that ended after TIME: 2026-11-22, or 2026-11-22T10:30."),
    option("--until TIME", "Only jobs that began before TIME."),
)
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
