"""What would be: jobs side by side, and what a file system gives."""

import click

from slicewise.command_line.parameters import (
    AGAINST,
    BANDWIDTH_ABOVE,
    HTML,
    JSON,
    LATENCY_BELOW,
    OUTPUT,
    OWN,
    PATH,
    SERVERS,
    Number,
    argument,
    command,
    flag,
    group,
    option,
)

COMMANDS = [
    command(
        "predict",
        "predict:predict",
        """Predict how long jobs would take side by side, from a standalone run of each.

        With --copies: how many copies of one job may run side by side before each loses too much.
        """,
        "slicewise predict slicewise/sim-alone slicewise/post-alone@20 --seen slicewise",
        argument(
            "job",
            "JOB[@SECONDS]...",
            str,
            "The profile of a standalone run of each job, and after how many seconds the job's I/O begins (0).",
        ),
        option(
            "--seen",
            "DIR",
            PATH,
            "Jobs that ran side by side on the same file system, and each of them alone; may be repeated.",
            multiple=True,
        ),
        flag("--copies", "Say how many copies of the job may run side by side."),
        option(
            "--with",
            "OTHER",
            PATH,
            "With --copies: another job that always runs beside it; may be repeated.",
            name="beside",
            multiple=True,
        ),
        option(
            "--most-loss", "PERCENT", Number(0.0), "With --copies: how much of its runtime a job may lose; else 10."
        ),
        option("--capacity", "C", str, "With --copies: what the storage serves a second, as 2GiB/s."),
        option(
            "--fitted",
            "M",
            PATH,
            "With --copies: the capacity of a model that `study model fit -o M` wrote.",
            name="model",
        ),
        SERVERS,
        HTML,
        JSON,
        OUTPUT,
    ),
    group(
        "storage",
        """What a file system gives: which transfer size to take, which rates to expect, where jobs lie in that.""",
        command(
            "size",
            "size:read",
            """Say which transfer size to take, and what a job's own sizes cost it: from profiles, tables of
            measurements, or both.
            """,
            "slicewise storage size slicewise/48213 --table /scratch/slicewise-size.csv --latency-below 5ms",
            argument(
                "profiles", "[PROFILE...]", PATH, "Jobs' directories or .swz files; the first is told what it loses."
            ),
            option(
                "--table",
                "FILE.csv",
                PATH,
                "Measurements, with the columns of docs/size.md; repeatable.",
                multiple=True,
            ),
            OWN,
            LATENCY_BELOW,
            BANDWIDTH_ABOVE,
            HTML,
            JSON,
            OUTPUT,
        ),
        command(
            "measure",
            "size:run",
            """Measure bandwidth and latency by transfer size on a file system, in less than two minutes.

            It measures sequential and random access, a file for each process and a shared one, reads and writes,
            alone and beside a second job. The measurements are in DIR/slicewise-size.csv, for slicewise storage size
            --table.
            """,
            "slicewise storage measure /scratch/me",
            argument("directory", "DIR", PATH, "A directory on the file system; files are made there, and removed."),
            option("--sizes", "SIZE,...", str, "Transfer sizes.", default="4KiB,16KiB,64KiB,256KiB,1MiB,4MiB"),
            option("--processes", "N,...", str, "Numbers of processes.", default="1,2"),
            option("--repeat", "N", click.IntRange(1), "How often each configuration is measured.", default=3),
            option("--seconds", "S", Number(1.0), "Seconds that all of it may take.", default=100.0),
            option("--file-size", "SIZE", str, "How large each process's file is.", default="32MiB"),
            flag("--second/--no-second", "Measure beside a second job, too.", default=True),
            option("--launcher", "CMD", str, "What starts {n} processes of an MPI program, as 'srun -n {n}'."),
            OWN,
            LATENCY_BELOW,
            BANDWIDTH_ABOVE,
            HTML,
            JSON,
            OUTPUT,
        ),
        command(
            "expect",
            "expect:box",
            """Show which rates to expect (the box): from the hard phases of IO500 to the easy ones, over all runs.""",
            "slicewise storage expect io500/results --point 2,5",
            argument(
                "results", "RESULT...", PATH, "Results of IO500: their directories, folders of these, or summaries."
            ),
            option("--point", "B,M", str, "A point to test: GiB/s, a comma, and kIOPS. 2,5: 2 GiB/s and 5 kIOPS."),
            AGAINST,
            HTML,
            JSON,
            OUTPUT,
        ),
        command(
            "place",
            "expect:place",
            """Say where jobs lie in the box of what to expect, and what holds them back.""",
            "slicewise storage place slicewise/48213 --box io500/results",
            argument("jobs", "JOB...", PATH, "Jobs' directories, or .swz files in them."),
            option(
                "--box",
                "RESULT",
                PATH,
                "Results of IO500 that make the box; may be repeated.",
                multiple=True,
                required=True,
            ),
            HTML,
            JSON,
            OUTPUT,
        ),
        command(
            "benchmark",
            "expect:run",
            """Measure what to expect without IO500. It stops when the box of rates stops growing.

            With 2 processes, the default, the box is that of a small job: take -n of your jobs, and --stonewall 300
            for io500.
            """,
            "slicewise storage benchmark /scratch/me/expect -n 16",
            argument("directory", "DIR", PATH, "A directory on the file system to measure; results stay there."),
            option(
                "--benchmark",
                None,
                ["io500", "ior", "load"],
                "io500, ior (and mdtest), or load (slicewise-load); else the first of these that is there.",
            ),
            option(
                "--launcher",
                "CMD",
                str,
                "How to start MPI programs, without the number of processes.",
                default="mpirun --oversubscribe",
            ),
            option("-n", "N", click.IntRange(1), "Processes.", name="processes", default=2),
            option("--api", None, ["posix", "mpiio"], "By which the data phases move bytes.", default="posix"),
            option(
                "--seconds", "S", Number(1), "For how long at most; the first run is always finished.", default=75.0
            ),
            option("--most-runs", "N", click.IntRange(1), "How many runs at most.", default=20),
            option(
                "--stonewall",
                "S",
                click.IntRange(1),
                "How long each writing phase of io500 takes, in seconds (its rules want 300).",
                default=1,
            ),
            HTML,
            JSON,
            OUTPUT,
        ),
    ),
]
