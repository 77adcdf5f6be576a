"""Profile jobs, look at one, compare several."""

from slicewise.command_line import shared
from slicewise.command_line.parameters import PATH, argument, command, flag, option

COMMANDS = [
    command(
        "doctor",
        "doctor:doctor",
        """Check that profiling works here, and say what to do where it does not.

        Exit status 1 if something is not ok.
        """,
        "slicewise doctor",
        *shared.ANSWER,
    ),
    command(
        "run",
        "run:run",
        """Profile a command, and say where the profile is. Its exit status is the command's.""",
        "slicewise run --job first -- mpirun -n 4 ./program input.nml",
        argument("[COMMAND...]", "The command and its arguments."),
        option("--dir DIR", "Where profiles go; else $SLICEWISE_DIR, else ./slicewise.", name="directory"),
        option("--job NAME", "The job's name; else $SLICEWISE_JOB, the scheduler's id, or a new one."),
        shared.SLICE,
        option("--attach PID", "Instead of a command: sample a process that runs already, and what it begins.", int),
        flag(
            "--collector/--no-collector",
            "Run a collector beside the command: it saves counts as they come, and samples the node.",
            default=True,
        ),
        flag(
            "--threads/--no-threads", "Also time how long threads wait for each other: at locks, barriers, joins, ..."
        ),
        flag("--nvtx/--no-nvtx", "Also take ranges that the program pushes by NVTX for regions."),
        flag(
            "--accelerators/--no-accelerators",
            "Also count what accelerators do by CUDA and HIP, and how long threads wait for them.",
        ),
        needs_settings=False,
        allow_interspersed_args=False,
    ),
    command(
        "list",
        "list_:list_",
        """List the jobs in a directory of profiles, in order of their start.""",
        "slicewise list slicewise",
        argument("DIR...", "Directories with profiles anywhere below.", PATH, name="paths"),
        *shared.ANSWER,
    ),
    command(
        "report",
        "one_job:report",
        """Show one job's I/O: a page, and a summary on the terminal.

        With --detail: all that a profile holds, how much of the job was seen, and what is missing; no page. With
        --flamegraph: where in the program the time in I/O calls goes.
        """,
        "slicewise report slicewise/48213",
        shared.PROFILE,
        flag("--detail", "Print all totals and what is missing, and make no page."),
        flag("--phases", "With --detail: also show when the job did I/O: its phases and its period."),
        flag("--flamegraph", "Make the flame graph of call sites, and list them."),
        option("--slices FIRST:END", "With --flamegraph: only slices from FIRST to the one before END."),
        shared.SYMBOLS,
        shared.SERVERS,
        *shared.PAGE,
    ),
    command(
        "blame",
        "blame:blame",
        """Say who slowed a job down, by how much, and how sure that is.""",
        "slicewise blame slicewise/48190 --alone slicewise/48001",
        argument("JOB", "The job's directory, or one of its .swz files.", PATH),
        argument(
            "[NEIGHBOUR...]",
            "Jobs that may have slowed it down. If you give none, Slicewise looks beside the profile and in "
            "the catalog.",
            PATH,
            name="neighbours",
        ),
        option("--alone JOBDIR", "A standalone run of the same program; may be repeated.", PATH, multiple=True),
        option(
            "--same-as JOBDIR",
            "A standalone run that did the same work, whatever its program is called; may be repeated.",
            PATH,
            multiple=True,
        ),
        shared.SERVERS,
        flag("--all", "JOB is a directory of jobs: say who lost how much to whom, worst first.", "all_"),
        flag("--anonymous", "Hide others' names, programs, users and paths; keep their numbers."),
        flag("--explain", "Say where each number comes from."),
        *shared.PAGE,
    ),
    command(
        "overlap",
        "overlap:overlap",
        """Compare jobs that ran at the same time: when they overlapped, what each got, and what it cost them.""",
        "slicewise overlap slicewise/48213 slicewise/48190 --alone slicewise/48001",
        argument("PROFILE PROFILE...", "Jobs' directories or .swz files.", PATH, name="profiles"),
        shared.ALONE,
        option(
            "--direction",
            "Which direction to report first; auto: the one with more bytes.",
            ["auto", "read", "write"],
            default="auto",
        ),
        shared.SERVERS,
        *shared.PAGE,
    ),
    command(
        "compare",
        "compare:compare",
        """Say why one run took longer than another: computing, its own I/O, neighbours, or not explained.

        Two runs: the second is compared with the first. More runs: each is compared with the one of median runtime.
        What neighbours cost is computed as slicewise blame does.
        """,
        "slicewise compare slicewise/monday slicewise/tuesday",
        argument("RUN RUN...", "Jobs' directories or .swz files.", PATH, name="runs"),
        option(
            "--neighbour PROFILE",
            "A job that may have slowed one of them down; may be repeated. If you give none, Slicewise looks "
            "beside the profiles and in the catalog.",
            PATH,
            name="neighbours",
            multiple=True,
        ),
        shared.SERVERS,
        *shared.PAGE,
    ),
]
