"""The command line `slicewise`: all commands as one, and the only place where errors become a line and a status."""

import atexit
import gc
import sys
from collections.abc import Iterator

import click
from click.exceptions import NoSuchCommand

from slicewise import __version__, settings
from slicewise.command_line import helps, jobs, predict, site, study
from slicewise.command_line.parameters import Group
from slicewise.errors import UserError
from slicewise.terminal.streams import OutputError, guarded
from slicewise.text.safe_text import say

# New objects between two searches for garbage. Imports alone make more than Python's own number a hundred times over.
GARBAGE_THRESHOLD = 50_000
# Columns that help takes at most.
WIDEST = 100
USER_ERROR_STATUS = 2
INTERRUPTED_STATUS = 130
COMMANDS = [*jobs.COMMANDS, *predict.COMMANDS, *site.COMMANDS, *study.COMMANDS]
# What a user asks, and the command that answers it.
GROUPS = {
    "A job": {
        "doctor": "Does profiling work here, and if not, what helps?",
        "run": "What does my program read and write? Profile it.",
        "list": "Which jobs have been profiled?",
        "report": "What did my job do: when, on which files, where in the program?",
        "blame": "Who slowed my job down, by how much, and how sure is that?",
        "overlap": "What did jobs that ran at the same time cost each other?",
        "compare": "Why did one run take longer than another?",
    },
    "Planning": {
        "predict": "How long would jobs take side by side, and how many copies may run?",
        "storage": "What does this file system give, and at which transfer size?",
    },
    "A site": {
        "top": "What do jobs on this node do now?",
        "stacks": "Where in its program does a job hang?",
        "recover": "What did killed processes count? Complete their profiles.",
        "catalog": "Of all jobs, who lost most, and who cost others most?",
        "serve": "How can I look with a browser, Prometheus or Grafana?",
        "import": "How do I take in logs of Darshan, or my own?",
        "export": "How do I take a profile to another tool?",
    },
}
OTHERS = {
    "Research": {
        "study": "How is a file system shared: models, Delta-graphs, campaigns.",
        "turns": "What taking turns with I/O gains; waiting for a turn.",
    },
    "This command": {str(one.name): one.get_short_help_str() for one in helps.COMMANDS},
}
# Names of version 1, which answer with the new ones until version 3.
RENAMED = {
    "info": "report --detail",
    "flamegraph": "report --flamegraph",
    "foretell": "predict",
    "copies": "predict --copies",
    "size read": "storage size",
    "size run": "storage measure",
    "size": "storage size",
    "expect box": "storage expect",
    "expect place": "storage place",
    "expect run": "storage benchmark",
    "expect": "storage",
    "merge": "recover --merge",
    "serve-metrics": "serve metrics",
    "open": "serve pages",
    "model": "study model",
    "catalog overlaps": "catalog show",
    "import recorder": "import csv",
    "import dftracer": "import csv",
    "delta sweep": "study sweep",
    "delta plan": "study plan",
    "delta": "study delta",
    "campaign": "study campaign",
    "policy jobs": "turns policy",
    "policy simulate": "turns simulate",
    "policy probability": "turns probability",
    "policy": "turns policy",
    "coordinate": "turns wait",
}
# What is gone, and what to use instead, until version 3.
GONE = {
    "model check": "use: slicewise study campaign DIR (checked)",
    "study model check": "use: slicewise study campaign DIR (checked)",
    "catalog page --pages": "use: slicewise blame JOB",
    "model invert": "use: slicewise overlap JOB JOB (inverses)",
    "study model invert": "use: slicewise overlap JOB JOB (inverses)",
    "policy claims": "the coordinator bounds what false claims gain (docs/coordination.md)",
    "turns replay": "a log has the jobs that each decision was made for (docs/coordination.md)",
    "policy replay": "a log has the jobs that each decision was made for (docs/coordination.md)",
    "turns claims": "the coordinator bounds what false claims gain (docs/coordination.md)",
}
WELCOME = """\
Slicewise says who slowed a job down, by how much, and what it would have taken alone. Step by step:

  slicewise doctor                       check that profiling works here
  slicewise run -- ./program             profile a job; in a batch script: slicewise run -- srun ./program
  slicewise list slicewise               list what has been profiled
  slicewise report slicewise/JOB         show one job's I/O: a page, and a summary here
  slicewise blame slicewise/JOB          say who slowed it down, by how much, how sure that is
  slicewise overlap JOBDIR JOBDIR        lay several jobs on one time axis

All commands: slicewise --help    One of them: slicewise blame --help    Settings: slicewise help settings"""


class CommandLine(Group):
    """All commands, which help shows in their groups."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for title, questions in GROUPS.items():
            with formatter.section(title):
                formatter.write_dl([*questions.items()])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        for count in (3, 2, 1):
            name = " ".join(args[:count])
            if ctx.resilient_parsing:
                continue
            if name in GONE:
                raise UserError(f"{name} is gone; {GONE[name]}")
            if name in RENAMED:
                raise UserError(f"{name} is now: {' '.join(['slicewise', RENAMED[name], *args[count:]])}")
        return super().resolve_command(ctx, args)


def _welcome() -> None:
    if click.get_current_context().invoked_subcommand is None:
        click.echo(WELCOME)


def _version(context: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted and not context.resilient_parsing:
        click.echo(f"slicewise {__version__}")
        context.exit()


slicewise = CommandLine(
    "slicewise",
    {str(one.name): one for one in [*COMMANDS, *helps.COMMANDS]},
    invoke_without_command=True,
    callback=_welcome,
    help="Who slowed my job down, by how much, and what would it have taken alone?",
    epilog=f"""Example: slicewise run -- ./program

    One command's options and an example: slicewise COMMAND --help. For researchers: {", ".join(OTHERS["Research"])}.
    About the command line: {", ".join(str(one.name) for one in helps.COMMANDS)}.""",
    params=[
        click.Option(
            ["--version"], is_flag=True, is_eager=True, expose_value=False, callback=_version, help="Print the version."
        )
    ],
    context_settings={
        "help_option_names": ["-h", "--help"],
        "max_content_width": WIDEST + 2,  # click leaves a margin of two
        "show_default": True,
    },
)


def contexts(above: click.Context | None = None) -> Iterator[click.Context]:
    """Each command, with those below it, in the context of those above it: for pages that are made of declarations."""
    context = above or click.Context(slicewise, info_name="slicewise", **slicewise.context_settings)
    if above:
        yield context
    for name, command in getattr(context.command, "commands", {}).items():
        yield from contexts(click.Context(command, parent=context, info_name=name, **command.context_settings))


def main() -> None:
    """Run this process's command line and exit: 0, 2 with one line for a user's error, or what the command says."""
    gc.set_threshold(GARBAGE_THRESHOLD)
    # A process that ends gives its memory back at once. Without this Python looks through all of it first: 0.1 s.
    atexit.register(gc.freeze)
    with guarded():
        _main()


def _main() -> None:
    status: object = None
    try:
        settings.apply()
        if sys.argv[1:2] != ["run"]:  # its environment is the job's
            settings.mend_foreign()
        status = slicewise.main(prog_name="slicewise", standalone_mode=False)
    except UserError as error:
        _fail(str(error))
    except click.UsageError as error:
        _fail(_complaint(error))
    except (click.Abort, KeyboardInterrupt):
        sys.exit(INTERRUPTED_STATUS)
    except (BrokenPipeError, OutputError):
        raise  # the streams' own
    except BaseException as error:
        line = _damage_behind(error)
        if line is None:
            raise
        _fail(line)
    sys.exit(status if isinstance(status, int) else 0)


def _complaint(error: click.UsageError) -> str:
    """What click says about a command line, in one line that begins with the command and says where to read on."""
    path = error.ctx.command_path if error.ctx else "slicewise"
    meant = error.possibilities if isinstance(error, click.NoSuchOption | NoSuchCommand) else None
    text = " ".join((error.message if meant else error.format_message()).split()).rstrip(".")
    name = path.partition(" ")[2]
    at = f"{name}: " if name else ""
    if isinstance(error, click.NoSuchOption) and (instead := GONE.get(f"{name} {error.option_name}")):
        return f"{at}{error.option_name} is gone; {instead}"
    return f"{at}{text[:1].lower()}{text[1:]}; " + (f"did you mean {meant[0]}?" if meant else f"see: {path} --help")


def _damage_behind(error: BaseException) -> str | None:
    """The line about a file of a catalog that made another library fail. None: the error is a defect."""
    if "slicewise.catalog.store" not in sys.modules:
        return None
    from slicewise.catalog.check import damage_behind  # no command without a catalog waits for it

    return damage_behind(error)


def _fail(line: str) -> None:
    say(line)
    sys.exit(USER_ERROR_STATUS)
