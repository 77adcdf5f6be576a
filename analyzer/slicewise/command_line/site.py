"""What support and operators ask: jobs that run, catalogs, files."""

from typing import get_args

import click

from slicewise.command_line.parameters import (
    ALL_USERS,
    ASK,
    CATALOG,
    DASK,
    HTML,
    JSON,
    MOST,
    MOUNT,
    OUTPUT,
    PATH,
    PROFILE,
    SERVERS_NOW,
    SINCE,
    SLICE,
    SYMBOLS,
    UNTIL,
    Number,
    argument,
    command,
    flag,
    group,
    option,
)
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
        JSON,
        option("--every", "SECONDS", Number(0.1), "How often to look.", default=1.0),
        SERVERS_NOW,
        ALL_USERS,
    ),
    command(
        "stacks",
        "stacks:stacks",
        """Show where the processes of a job on this node are now: all stacks as a tree, with how many threads are
        where. For a job that hangs. A thread that waits is not touched; one that runs is stopped for a moment.
        """,
        "slicewise stacks 48213",
        argument("job", "[JOB]", str, "The job; not needed where only one runs."),
        SYMBOLS,
        option("--seconds", "SECONDS", Number(0.1), "The longest time to read one process's stacks.", default=5.0),
        ALL_USERS,
        JSON,
        OUTPUT,
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
        argument("job_dir", "[JOBDIR]", PATH, "A job's directory; else all of yours on this node."),
        option("--into", "DIR", PATH, "A directory of profiles to use where a process's own is gone."),
        flag("--merge", "Join the job's files into one."),
        option("-o, --output", "FILE", PATH, "With --merge: the file to make; else JOBDIR.swz beside the directory."),
        JSON,
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
            CATALOG,
            argument("paths", "PATH...", PATH, "Profiles, or directories with profiles anywhere below."),
            option(
                "--names",
                None,
                ["plain", "hash"],
                "What a new catalog keeps: users, job names and paths, or salted hashes of them.",
            ),
            flag("--show-names", "In a new catalog: tell all users the names of their neighbours, not only its owner."),
            DASK,
            JSON,
            OUTPUT,
        ),
        command(
            "prune",
            "catalog:prune",
            """Remove the days that are older than some age. Profiles themselves stay where they are.""",
            "slicewise catalog prune /site/catalog --older-than 90d",
            CATALOG,
            option("--older-than", "AGE", str, "Days (90d), weeks (12w) or years (2y).", required=True),
            JSON,
            OUTPUT,
        ),
        command(
            "verify",
            "catalog:verify",
            """Read all of a catalog and say what is wrong with it. Exit status 1 if anything is.""",
            "slicewise catalog verify /site/catalog",
            CATALOG,
            JSON,
            OUTPUT,
        ),
        command(
            "list",
            "catalog:list_",
            """List the jobs of a catalog, in order of their start.""",
            "slicewise catalog list /site/catalog --user anna --since 2026-11-22 --slowdown 1.5",
            CATALOG,
            option("--user", "USER", str, "Only of this user: a name or a number."),
            option("--account", "ACCOUNT", str, "Only of this account."),
            option("--program", "PROGRAM", str, "Only of this program: the executable's name."),
            SINCE,
            UNTIL,
            option("--storage", "STORAGE", str, "Only with bytes there: a mount point or a source."),
            option(
                "--slowdown",
                "NUMBER",
                Number(1),
                "Only jobs that took at least this many times as long as alone. Asks blame for each job.",
            ),
            JSON,
            OUTPUT,
        ),
        command(
            "show",
            "catalog:show",
            """Show one job of a catalog: what it did on which file system, and who else was there.""",
            "slicewise catalog show /site/catalog 48213",
            CATALOG,
            argument("job", "JOB", str, "A job's name, or its key."),
            JSON,
            OUTPUT,
        ),
        command(
            "overlaps",
            "catalog:overlaps",
            """List which jobs used a file system at the same time, and for how long. Without times: on the catalog's
            last day.

            If there are too many jobs, it compares those that moved most, and says how many these are.
            """,
            "slicewise catalog overlaps /site/catalog --since 2026-11-22T08:00 --until 2026-11-22T12:00",
            CATALOG,
            argument("job", "[JOB]", str, "Who was beside this job; else all pairs."),
            SINCE,
            UNTIL,
            MOST,
            DASK,
            JSON,
            OUTPUT,
        ),
        command(
            "quality",
            "catalog:quality",
            """Say how good the data are: what share of the bytes was seen, what is damaged, what is missing.""",
            "slicewise catalog quality /site/catalog --since 2026-11-22",
            CATALOG,
            SINCE,
            UNTIL,
            flag("--all", "List the complete jobs, too.", name="every"),
            JSON,
            OUTPUT,
        ),
        command(
            "worst",
            "catalog:worst",
            """Say who lost most time to others, and who cost others most. Without times: on the catalog's last day.

            Blame is asked about each job, with --ask N only about the N that can have lost most. Answers are kept in
            the catalog.
            """,
            "slicewise catalog worst /site/catalog --since 2026-11-22 --ask 1000 --by program",
            CATALOG,
            SINCE,
            UNTIL,
            MOST,
            ASK,
            option(
                "--by",
                None,
                ["job", "program", "user"],
                "A row a job, or jobs added up by program or by user.",
                default="job",
            ),
            flag("--unasked", "List the jobs that blame was not asked about, and the most that each can have lost."),
            DASK,
            JSON,
            OUTPUT,
        ),
        command(
            "page",
            "catalog:page",
            """Make the page of a day, a week or a month: load, who cost whom what, metadata, coverage.

            Without times: the last day.
            """,
            "slicewise catalog page /site/catalog --since 2026-11-22 --until 2026-11-23 --pages 50",
            CATALOG,
            SINCE,
            UNTIL,
            option(
                "--pages",
                "N",
                click.IntRange(0),
                "Also make pages of the first N jobs and pairs, and link their rows to them.",
                default=0,
            ),
            ASK,
            option("--seconds", "NUMBER", Number(0), "With --ask: stop asking after so many seconds.", default=60),
            DASK,
            HTML,
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
            argument("place", "[DIR]", PATH, "A directory with pages, or a page.", default="."),
            option("--port", "PORT", click.IntRange(0, 65535), "0: any that is free.", default=0),
            flag("--browser/--no-browser", "Start a browser with it.", default=True),
        ),
        command(
            "metrics",
            "serve_metrics:serve_metrics",
            """Serve OpenMetrics of this node's jobs, by job and mount: http://ADDRESS:PORT/metrics. Ends with Ctrl-C or
            SIGTERM.
            """,
            "slicewise serve metrics --port 9469",
            option("--port", "PORT", click.IntRange(0, 65535), "0: any that is free.", default=9469),
            option(
                "--bind",
                "ADDRESS|unix:/PATH",
                str,
                (
                    "Where to listen. Whoever can reach it can read all jobs' figures. What other machines reach "
                    "needs --certificate. A Unix socket is its owner's alone; with SLICEWISE_GROUP=1 its group's, "
                    "too."
                ),
                default="127.0.0.1",
            ),
            option("--certificate", "FILE", PATH, "Serve by TLS with this certificate (PEM)."),
            option("--key", "FILE", PATH, "The certificate's key (PEM, without a password)."),
            option(
                "--client-ca", "FILE", PATH, "Serve only clients with a certificate that one of these signed (PEM)."
            ),
            option("--every", "SECONDS", Number(0.1), "How often to look at the processes.", default=1.0),
            ALL_USERS,
        ),
    ),
    group(
        "import",
        """Turn other profilers' logs into profiles: Darshan, DFTracer, CSV, and servers' counts.

        Each job becomes a directory that every command takes where it takes a PROFILE.
        """,
        command(
            "csv",
            "import_:csv_",
            """Import CSV files with a call, or several calls in sum, in each row.""",
            "slicewise import csv calls.csv --into imported",
            argument("files", "FILE...", PATH, "CSV files; docs/imports.md has the columns."),
            option("--into", "DIR", PATH, "Where to write: each job in a directory of its name.", default="slicewise"),
            SLICE,
            JSON,
            OUTPUT,
        ),
        command(
            "darshan",
            "import_:darshan",
            """Import Darshan logs with DXT or heat maps (pip install 'slicewise[darshan]').""",
            "slicewise import darshan /logs/2026/11/22/*.darshan --into imported",
            argument("logs", "LOG...", PATH, "Darshan logs; those of one job become one profile."),
            flag("--heat-map", "Use heat maps even where there is DXT, as where DXT was cut short."),
            MOUNT,
            option(
                "--shift",
                "SECONDS",
                Number(),
                "How many seconds the clock of the logs' machine was behind: Slicewise adds them to all times.",
                default=0.0,
            ),
            option("--into", "DIR", PATH, "Where to write: each job in a directory of its name.", default="slicewise"),
            SLICE,
            JSON,
            OUTPUT,
        ),
        command(
            "dftracer",
            "import_:dftracer",
            """Import DFTracer's traces; all files belong to one job.""",
            "slicewise import dftracer traces/*.pfw.gz --job 48213 --mount /p/lustre1=lustre,10.0.0.1@tcp:/l1",
            argument("files", "FILE...", PATH, "Traces of one job: .pfw or .pfw.gz."),
            option("--job", "NAME", str, "The job's name; else the first file's."),
            MOUNT,
            flag("--cut", "Take what there is of a trace whose end is missing."),
            option("--into", "DIR", PATH, "Where to write: each job in a directory of its name.", default="slicewise"),
            SLICE,
            JSON,
            OUTPUT,
        ),
        command(
            "jobstats",
            "import_:jobstats",
            """Import what file servers counted by job: sampled texts of Lustre, exports of what monitors it, CSV.

            Each file system and day becomes a profile of its servers, for blame --servers and catalog ingest.
            """,
            "slicewise import jobstats oss*.log --into /var/lib/slicewise",
            argument("logs", "LOG...", PATH, "Texts of job_stats, Prometheus, Telegraf, LDMS, mmpmon; packed or not."),
            option("--storage", "NAME", str, "The file system's name, for logs that do not name targets (lctl -n)."),
            option(
                "--into",
                "DIR",
                PATH,
                "Where to write: each file system and day in a directory of its own.",
                default="slicewise",
            ),
            SLICE,
            JSON,
            OUTPUT,
        ),
        command(
            "recorder",
            "import_:recorder",
            """Say why Recorder's traces are not read. They need a library of Recorder's own installation.

            Print them with its recorder2text, make CSV of them, and import that (docs/imports.md).
            """,
            "slicewise import csv calls.csv",
            argument("directories", "DIR...", PATH, "Directories of traces."),
        ),
    ),
    command(
        "export",
        "export:export",
        """Write a profile in another format: FTIO's JSON, a Perfetto trace, folded stacks, CSV or Parquet.""",
        "slicewise export slicewise/48213 --format perfetto -o 48213.pftrace",
        PROFILE,
        option(
            "--format",
            None,
            get_args(ExportFormat),
            "ftio: FTIO's JSON. folded: call sites, for flame graphs.",
            required=True,
        ),
        option("--table", "TABLE", [*TABLES], f"csv, parquet: which table: {', '.join(TABLES)}.", default="slices"),
        option("--cost", None, get_args(Cost), "folded: what a stack costs.", default="time"),
        SYMBOLS,
        option("-o, --output", "FILE", PATH, "Where to write it."),
    ),
]
