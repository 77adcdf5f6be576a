"""What researchers ask: models of sharing, Delta-graphs, campaigns, policies."""

import click

from slicewise.command_line import shared
from slicewise.command_line.parameters import PATH, Number, argument, command, group, option
from slicewise.terminal.job_options import FITTED_FORM, MODEL_FORM, POLICY_FORM

COMMANDS = [
    group(
        "study",
        """What researchers ask: models of sharing, Delta-graphs and sweeps of them, tables of campaigns.""",
        group(
            "model",
            """Predict and fit how jobs share a file system.""",
            command(
                "fit",
                "model:fit",
                """Learn from jobs that ran alone and together how their file system divides its bandwidth.""",
                "slicewise study model fit slicewise -o model.json",
                shared.PROFILES,
                shared.DIRECTION,
                shared.JSON,
                option("-o M", "Write the fitted model to this file.", PATH, name="output"),
            ),
            command(
                "predict",
                "model:predict",
                """Predict when jobs that share a file system end.

                Each job gets its weighted max-min share, computed again whenever a job starts or ends.
                """,
                (
                    "slicewise study model predict --capacity 100MiB/s --job sim,volume=16GiB,processes=60 --job "
                    "post,volume=4GiB,processes=12"
                ),
                option(
                    "--job JOB",
                    f"{MODEL_FORM}; with --fitted {FITTED_FORM}. Give it once for each job. D: the rate that the "
                    "job reaches alone. B: the bytes that it has under way at a "
                    "moment. S: in seconds. If the capacity has a unit, V, D and B have one, too: 16GiB, 80MiB/s.",
                    multiple=True,
                    required=True,
                ),
                option("--capacity C", "What the storage serves a second, as 100MiB/s, or as a plain number."),
                option(
                    "--weight",
                    "What a job's share goes by (processes); given: its weight=W.",
                    ["processes", "nodes", "given"],
                ),
                shared.FITTED,
                *shared.ANSWER,
            ),
        ),
        group(
            "delta",
            """Draw Delta-graphs: how much two jobs slow each other down, by how much later one begins.""",
            command(
                "run",
                "delta:run",
                """Run two commands alone and together, at every offset, and draw the result. An interrupted run can be
                continued.
                """,
                "slicewise study delta run --a './sim' --b './post' --from 0 --to 60 --step 10",
                option("--a CMD", "Job A: a command, quoted as one word.", required=True),
                option(
                    "--b CMD",
                    "Job B, likewise. {start} in a command becomes its time to begin, in seconds since 1970.",
                    required=True,
                ),
                option(
                    "--from S",
                    "The first offset: by how many seconds B starts later than A.",
                    Number(),
                    name="first",
                    required=True,
                ),
                option("--to S", "The last offset.", Number(), name="last", required=True),
                option("--step S", "From one offset to the next.", Number(), required=True),
                option("--repeat N", "How often every run is done.", click.IntRange(1), default=1),
                option(
                    "--dir DIR",
                    "Where the profiles go; give the same DIR to continue.",
                    PATH,
                    name="directory",
                    default="slicewise-delta",
                ),
                shared.SLICE,
                shared.CURVE,
                *shared.PAGE,
            ),
            command(
                "read",
                "delta:read",
                """Draw the Delta-graph of profiles: of two jobs together, and of each alone; several directories
                side by side.

                In each run, A is the job whose name sorts first. An offset is measured here: from A's first byte to
                B's.
                """,
                "slicewise study delta read slicewise-delta",
                argument("DIR...", "Directories of profiles, one a configuration.", PATH, name="directories"),
                shared.CURVE,
                shared.DIRECTION,
                *shared.PAGE,
            ),
        ),
        command(
            "sweep",
            "delta:sweep",
            """Measure the Delta-graphs of all configurations in a plan, and draw them on one page. Panels that are
            recorded are not run again.

            A plan is a file in TOML. `slicewise study plan` lists the shipped ones; docs/commands.md explains the
            keys.
            """,
            "slicewise study sweep plan.toml",
            argument("[PLAN]", "The plan: a file in TOML, or the name of a shipped one.", PATH),
            option(
                "--set WORD=VALUE",
                "A setting in place of the plan's own, in all panels.",
                name="settings",
                multiple=True,
            ),
            option("--panel NAME", "Run only this panel; may be given repeatedly.", name="only", multiple=True),
            option(
                "--dir DIR",
                "Where the profiles go; give the same DIR to continue.",
                PATH,
                name="directory",
                default="slicewise-sweep",
            ),
            option("--page DIR", "Run nothing. Write the page of what this DIR has recorded.", PATH, name="recorded"),
            shared.CURVE,
            *shared.PAGE,
        ),
        command(
            "plan",
            "delta:plan",
            """Print the plans of sweeps that come with Slicewise: their names, or the text of one.

            Say in a plan's text what your site is like, or give that to slicewise study sweep with --set.
            """,
            "slicewise study plan device -o device.toml",
            argument("[NAME]", "Print this plan, to adapt it."),
            *shared.ANSWER,
        ),
        command(
            "campaign",
            "campaign:campaign",
            """Tabulate a folder of runs: throughput alone and together, slowdown, and how well it is predicted.

            Jobs whose I/O overlapped in time are one run together. A job that overlapped no other is a standalone run.
            Repeats of one combination of jobs are averaged.
            """,
            "slicewise study campaign profiles/ --csv tables/",
            argument("DIR...", "Directories of profiles: jobs alone, and some together.", PATH, name="directories"),
            shared.DIRECTION,
            option("--csv DIR", "Write each table to DIR as NAME.csv.", PATH, name="tables_to"),
            *shared.PAGE,
        ),
    ),
    group(
        "turns",
        """Taking turns with I/O: wait for a turn, and what turns would have gained.""",
        command(
            "policy",
            "policy:jobs",
            """Say what each policy would have gained or lost for jobs that ran side by side, and for whom.""",
            "slicewise turns policy slicewise/sim slicewise/post --alone slicewise/sim-alone",
            argument("JOB...", "Two jobs or more that ran at one time: their directories.", PATH),
            shared.ALONE,
            option("--capacity C", "What the storage serves a second, as 2GiB/s; else as these jobs show."),
            shared.FITTED,
            shared.POLICY,
            shared.METRIC,
            shared.DELAY,
            shared.SERVERS,
            *shared.PAGE,
        ),
        command(
            "simulate",
            "policy:simulate",
            """Simulate each policy for jobs that want to do I/O at given times, without profiles.""",
            (
                "slicewise turns simulate --capacity 100MiB/s --job A,volume=2GiB,processes=2048,start=0 --job "
                "B,volume=512MiB,processes=2048,start=14"
            ),
            option("--capacity C", "What the storage serves a second, as 2GiB/s, or as a plain number.", required=True),
            option(
                "--job JOB",
                f"{POLICY_FORM}, once a job. Cap: the rate that it reaches "
                "alone; unit: how many bytes it writes between two moments at which it can be interrupted (a "
                "call, a file); period: seconds from one I/O phase's beginning to the next one's; phases: how many. If "
                "the capacity has a unit, amounts have one, too.",
                multiple=True,
                required=True,
            ),
            shared.POLICY,
            shared.METRIC,
            shared.DELAY,
            *shared.PAGE,
        ),
        command(
            "probability",
            "policy:probability",
            """Say how often somebody else does I/O while a job does: what is expected, and what the slices show.""",
            "slicewise turns probability --swf machine.swf --io-share 5",
            argument("[PROFILES...]", "Directories of jobs' profiles.", PATH),
            option("--swf FILE", "A job log in the Standard Workload Format; .gz is unpacked.", PATH),
            option(
                "--io-share PERCENT",
                "The mean share of its time that a job is in I/O; else that of the profiles, else 5.",
                Number(0.0, 100.0),
            ),
            shared.SERVERS,
            *shared.PAGE,
        ),
        command(
            "wait",
            "coordinate:coordinate",
            """Wait for the job's turn at I/O, then run a command.""",
            "slicewise turns wait --at unix:/run/slicewise/scratch --bytes 50e9 -- cp -r results /archive",
            argument("COMMAND...", "The command and its arguments."),
            option("--at ADDRESS", "unix:/PATH or tcp:ADDRESS:PORT; else SLICEWISE_COORDINATE_AT."),
            option("--secret-file FILE", "The secret of a coordinator at tcp:.", PATH),
            option(
                "--bytes N",
                "How many bytes the command will move, as far as you know.",
                Number(),
                name="volume",
                default=1000000000.0,
            ),
            option("--seconds S", "Seconds that it takes alone, if you know.", Number(), default=0.0),
            option("--processes N", "Processes that do its I/O.", int, default=1),
            option("--deadline S", "Go on after so long without a turn (60 s unless told otherwise).", Number()),
            allow_interspersed_args=False,
        ),
    ),
]
