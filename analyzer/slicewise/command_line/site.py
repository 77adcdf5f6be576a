"""What support and operators ask: jobs that run, catalogs, files."""

from typing import get_args

import click

from slicewise.command_line import shared
from slicewise.command_line.parameters import PATH, Number, argument, command, flag, group, option
from slicewise.export.table_names import TABLES
from slicewise.kinds import Cost, ExportFormat

COMMANDS = [
    command(
        "top",
        "top:top",
        """Show what jobs and processes on this node do now: throughput, calls, latency, shares of file systems.

        It does not disturb the jobs: it reads the memory in which they count, and asks them nothing.
        """,
        "slicewise top --every 2",
        flag("--once", "Measure one interval, print it, and end."),
        shared.JSON,
        option("--every SECONDS", "How often to look.", Number(0.1), default=1.0),
        shared.SERVERS_NOW,
        shared.ALL_USERS,
    ),
    command(
        "stacks",
        "stacks:stacks",
        """Show where the processes of a job on this node are now: all stacks as a tree, with how many threads are
        where. For a job that hangs. A thread that waits is not touched; one that runs is stopped for a moment.
        """,
        "slicewise stacks 48213",
        argument("[JOB]", "The job; not needed where only one runs."),
        shared.SYMBOLS,
        option("--seconds SECONDS", "The longest time to read one process's stacks.", Number(0.1), default=5.0),
        shared.ALL_USERS,
        *shared.ANSWER,
    ),
    command(
        "recover",
        "recover:recover",
        """Complete the profiles of killed processes. The node keeps their counts in its memory until the node
        restarts.

        With --merge: join a job's files, one for each node, into one file with the same content. It overwrites nothing,
        and continues a merge that was interrupted.
        """,
        "slicewise recover slicewise/48213",
        argument("[JOBDIR]", "A job's directory; else all of yours on this node.", PATH, name="job_dir"),
        option("--into DIR", "A directory of profiles to use where a process's own is gone.", PATH),
        flag("--merge", "Join the job's files into one."),
        option("-o, --output FILE", "With --merge: the file to make; else JOBDIR.swz beside the directory.", PATH),
        shared.JSON,
    ),
    group(
        "catalog",
        """Keep the jobs of a site in a catalog, and ask it.""",
        command(
            "ingest",
            "catalog:ingest",
            """Add profiles to a catalog, each job once. The catalog is made if it is not there.

            Run it again at any time: jobs that the catalog has are skipped, and an interrupted ingest is continued.
            """,
            "slicewise catalog ingest /site/catalog /home/*/slicewise",
            shared.CATALOG,
            argument("PATH...", "Profiles, or directories with profiles anywhere below.", PATH, name="paths"),
            option(
                "--names",
                "What a new catalog keeps: users, job names and paths, or salted hashes of them.",
                ["plain", "hash"],
            ),
            flag("--show-names", "In a new catalog: tell all users the names of their neighbours, not only its owner."),
            *shared.ANSWER,
        ),
        command(
            "prune",
            "catalog:prune",
            """Remove the days that are older than some age. Profiles themselves stay where they are.""",
            "slicewise catalog prune /site/catalog --older-than 90d",
            shared.CATALOG,
            option("--older-than AGE", "Days (90d), weeks (12w) or years (2y).", required=True),
            *shared.ANSWER,
        ),
        command(
            "verify",
            "catalog:verify",
            """Read all of a catalog and say what is wrong with it. Exit status 1 if anything is.""",
            "slicewise catalog verify /site/catalog",
            shared.CATALOG,
            *shared.ANSWER,
        ),
        command(
            "list",
            "catalog:list_",
            """List the jobs of a catalog, in order of their start.""",
            "slicewise catalog list /site/catalog --user anna --since 2026-11-22 --slowdown 1.5",
            shared.CATALOG,
            option("--user USER", "Only of this user: a name or a number."),
            option("--account ACCOUNT", "Only of this account."),
            option("--program PROGRAM", "Only of this program: the executable's name."),
            *shared.TIMES,
            option("--storage STORAGE", "Only with bytes there: a mount point or a source."),
            option(
                "--slowdown NUMBER",
                "Only jobs that took at least this many times as long as alone. Asks blame for each job.",
                Number(1),
            ),
            *shared.ANSWER,
        ),
        command(
            "show",
            "catalog:show",
            """Show one job of a catalog: what it did on which file system, and who else was there.""",
            "slicewise catalog show /site/catalog 48213",
            shared.CATALOG,
            argument("JOB", "A job's name, or its key."),
            *shared.ANSWER,
        ),
        command(
            "quality",
            "catalog:quality",
            """Say how good the data are: what share of the bytes was seen, what is damaged, what is missing.""",
            "slicewise catalog quality /site/catalog --since 2026-11-22",
            shared.CATALOG,
            *shared.TIMES,
            flag("--all", "List the complete jobs, too.", name="every"),
            *shared.ANSWER,
        ),
        command(
            "worst",
            "catalog:worst",
            """Say who lost most time to others, and who cost others most. Without times: on the catalog's last day.

            Blame is asked about each job, with --ask N only about the N that can have lost most. Answers are kept in
            the catalog.
            """,
            "slicewise catalog worst /site/catalog --since 2026-11-22 --ask 1000 --by program",
            shared.CATALOG,
            *shared.TIMES,
            shared.MOST,
            shared.ASK,
            option(
                "--by",
                "A row a job, or jobs added up by program or by user.",
                ["job", "program", "user"],
                default="job",
            ),
            flag("--unasked", "List the jobs that blame was not asked about, and the most that each can have lost."),
            *shared.ANSWER,
        ),
        command(
            "variation",
            "catalog:variation",
            """Say why runs of the same work took different times: neighbours, the hour, or the runs themselves. Without
            times: on the catalog's last day.
            """,
            "slicewise catalog variation /site/catalog --since 2026-11-01",
            shared.CATALOG,
            *shared.TIMES,
            shared.ASK,
            *shared.ANSWER,
        ),
        command(
            "page",
            "catalog:page",
            """Make the page of a day, a week or a month: load, who cost whom what, metadata, coverage.

            Without times: the last day.
            """,
            "slicewise catalog page /site/catalog --since 2026-11-22 --until 2026-11-23",
            shared.CATALOG,
            *shared.TIMES,
            shared.ASK,
            option("--seconds NUMBER", "With --ask: stop asking after so many seconds.", Number(0), default=60),
            shared.HTML,
        ),
    ),
    group(
        "serve",
        """Serve what was measured: pages to a browser, figures of running jobs to Prometheus.""",
        command(
            "pages",
            "open:open",
            """Show a folder's pages in a browser. They are served on this machine alone, until Ctrl-C.

            From another machine: ssh -L PORT:127.0.0.1:PORT NODE, and then the printed address. Its random part is a
            key: who has it can read the pages.
            """,
            "slicewise serve pages slicewise",
            argument("[DIR]", "A directory with pages, or a page.", PATH, name="place", default="."),
            option("--port PORT", "0: any that is free.", click.IntRange(0, 65535), default=0),
            flag("--browser/--no-browser", "Start a browser with it.", default=True),
        ),
        command(
            "metrics",
            "serve_metrics:serve_metrics",
            """Serve OpenMetrics of this node's jobs, by job and mount: http://ADDRESS:PORT/metrics. Ends with Ctrl-C or
            SIGTERM.
            """,
            "slicewise serve metrics --port 9469",
            option("--port PORT", "0: any that is free.", click.IntRange(0, 65535), default=9469),
            option(
                "--bind ADDRESS|unix:/PATH",
                "Where to listen. Whoever can reach it can read all jobs' figures. What other machines reach "
                "needs --certificate. A Unix socket is its owner's alone; with SLICEWISE_GROUP=1 its group's, "
                "too.",
                default="127.0.0.1",
            ),
            option("--certificate FILE", "Serve by TLS with this certificate (PEM).", PATH),
            option("--key FILE", "The certificate's key (PEM, without a password).", PATH),
            option("--client-ca FILE", "Serve only clients with a certificate that one of these signed (PEM).", PATH),
            option("--every SECONDS", "How often to look at the processes.", Number(0.1), default=1.0),
            shared.ALL_USERS,
        ),
    ),
    group(
        "import",
        """Turn other profilers' logs into profiles: Darshan, CSV, and servers' counts.

        Each job becomes a directory that every command takes where it takes a PROFILE.
        """,
        command(
            "csv",
            "import_:csv_",
            """Import CSV files with a call, or several calls in sum, in each row.""",
            "slicewise import csv calls.csv --into imported",
            argument("FILE...", "CSV files; docs/imports.md has the columns.", PATH, name="files"),
            shared.INTO,
            shared.SLICE,
            *shared.ANSWER,
        ),
        command(
            "darshan",
            "import_:darshan",
            """Import Darshan logs with DXT or heat maps (pip install 'slicewise[darshan]').""",
            "slicewise import darshan /logs/2026/11/22/*.darshan --into imported",
            argument("LOG...", "Darshan logs; those of one job become one profile.", PATH, name="logs"),
            flag("--heat-map", "Use heat maps even where there is DXT, as where DXT was cut short."),
            shared.MOUNT,
            option(
                "--shift SECONDS",
                "How many seconds the clock of the logs' machine was behind: Slicewise adds them to all times.",
                Number(),
                default=0.0,
            ),
            shared.INTO,
            shared.SLICE,
            *shared.ANSWER,
        ),
        command(
            "jobstats",
            "import_:jobstats",
            """Import what file servers counted by job: sampled texts of Lustre, exports of what monitors it, CSV.

            Each file system and day becomes a profile of its servers, for blame --servers and catalog ingest.
            """,
            "slicewise import jobstats oss*.log --into /var/lib/slicewise",
            argument(
                "LOG...", "Texts of job_stats, Prometheus, Telegraf, LDMS, mmpmon; packed or not.", PATH, name="logs"
            ),
            option("--storage NAME", "The file system's name, for logs that do not name targets (lctl -n)."),
            option(
                "--into DIR",
                "Where to write: each file system and day in a directory of its own.",
                PATH,
                default="slicewise",
            ),
            shared.SLICE,
            *shared.ANSWER,
        ),
    ),
    command(
        "export",
        "export:export",
        """Write a profile in another format: FTIO's JSON, folded stacks, CSV or Parquet.""",
        "slicewise export slicewise/48213 --format parquet -o 48213.parquet",
        shared.PROFILE,
        option(
            "--format",
            "ftio: FTIO's JSON. folded: call sites, for flame graphs.",
            get_args(ExportFormat),
            required=True,
        ),
        option("--table TABLE", f"csv, parquet: which table: {', '.join(TABLES)}.", [*TABLES], default="slices"),
        option("--cost", "folded: what a stack costs.", get_args(Cost), default="time"),
        shared.SYMBOLS,
        option("-o, --output FILE", "Where to write it.", PATH),
    ),
]
