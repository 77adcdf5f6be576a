"""What would be: jobs side by side, and what a file system gives."""

import click

from slicewise.command_line import shared
from slicewise.command_line.parameters import PATH, Number, argument, command, flag, group, option

COMMANDS = [
    command(
        "predict",
        "predict:predict",
        """Predict how long jobs would take side by side, from a standalone run of each.

        With --copies: how many copies of one job may run side by side before each loses too much.
        """,
        "slicewise predict slicewise/sim-alone slicewise/post-alone@20 --seen slicewise",
        argument(
            "JOB[@SECONDS]...",
            "The profile of a standalone run of each job, and after how many seconds the job's I/O begins (0).",
        ),
        option(
            "--seen DIR",
            "Jobs that ran side by side on the same file system, and each of them alone; may be repeated.",
            PATH,
            multiple=True,
        ),
        flag("--copies", "Say how many copies of the job may run side by side."),
        option(
            "--with OTHER",
            "With --copies: another job that always runs beside it; may be repeated.",
            PATH,
            name="beside",
            multiple=True,
        ),
        option("--most-loss PERCENT", "With --copies: how much of its runtime a job may lose; else 10.", Number(0.0)),
        option("--capacity C", "With --copies: what the storage serves a second, as 2GiB/s."),
        option(
            "--fitted M",
            "With --copies: the capacity of a model that `study model fit -o M` wrote.",
            PATH,
            name="model",
        ),
        shared.SERVERS,
        *shared.PAGE,
    ),
    group(
        "storage",
        """What a file system gives: which transfer size to take, which rates to expect, where jobs lie in that.""",
        command(
            "size",
            "size:read",
            """Say which transfer size to take, from tables of measurements.""",
            "slicewise storage size --table /scratch/slicewise-size.csv --latency-below 5ms",
            option(
                "--table FILE.csv",
                "Measurements, with the columns of docs/size.md; repeatable.",
                PATH,
                multiple=True,
                required=True,
            ),
            shared.OWN,
            shared.LATENCY_BELOW,
            shared.BANDWIDTH_ABOVE,
            *shared.PAGE,
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
            argument(
                "DIR", "A directory on the file system; files are made there, and removed.", PATH, name="directory"
            ),
            option("--sizes SIZE,...", "Transfer sizes.", default="4KiB,16KiB,64KiB,256KiB,1MiB,4MiB"),
            option("--processes N,...", "Numbers of processes.", default="1,2"),
            option("--repeat N", "How often each configuration is measured.", click.IntRange(1), default=3),
            option("--seconds S", "Seconds that all of it may take.", Number(1.0), default=100.0),
            option("--file-size SIZE", "How large each process's file is.", default="32MiB"),
            flag("--second/--no-second", "Measure beside a second job, too.", default=True),
            option("--launcher CMD", "What starts {n} processes of an MPI program, as 'srun -n {n}'."),
            shared.OWN,
            shared.LATENCY_BELOW,
            shared.BANDWIDTH_ABOVE,
            *shared.PAGE,
        ),
        command(
            "expect",
            "expect:box",
            """Show which rates to expect (the box): from the hard phases of IO500 to the easy ones, over all runs.""",
            "slicewise storage expect io500/results --point 2,5",
            argument(
                "RESULT...",
                "Results of IO500: their directories, folders of these, or summaries.",
                PATH,
                name="results",
            ),
            option("--point B,M", "A point to test: GiB/s, a comma, and kIOPS. 2,5: 2 GiB/s and 5 kIOPS."),
            *shared.PAGE,
        ),
        command(
            "place",
            "expect:place",
            """Say where jobs lie in the box of what to expect, and what holds them back.""",
            "slicewise storage place slicewise/48213 --box io500/results",
            argument("JOB...", "Jobs' directories, or .swz files in them.", PATH, name="jobs"),
            option(
                "--box RESULT",
                "Results of IO500 that make the box; may be repeated.",
                PATH,
                multiple=True,
                required=True,
            ),
            *shared.PAGE,
        ),
        command(
            "benchmark",
            "expect:run",
            """Measure what to expect without IO500. It stops when the box of rates stops growing.

            With 2 processes, the default, the box is that of a small job: take -n of your jobs, and --stonewall 300
            for io500.
            """,
            "slicewise storage benchmark /scratch/me/expect -n 16",
            argument("DIR", "A directory on the file system to measure; results stay there.", PATH, name="directory"),
            option(
                "--benchmark",
                "io500, ior (and mdtest), or load (slicewise-load); else the first of these that is there.",
                ["io500", "ior", "load"],
            ),
            option(
                "--launcher CMD",
                "How to start MPI programs, without the number of processes.",
                default="mpirun --oversubscribe",
            ),
            option("-n N", "Processes.", click.IntRange(1), name="processes", default=2),
            option(
                "--api",
                "By which the data phases move bytes; hdf5 needs an IOR or IO500 that has it.",
                ["posix", "mpiio", "hdf5"],
                default="posix",
            ),
            option("--seconds S", "For how long at most; the first run is always finished.", Number(1), default=75.0),
            option("--most-runs N", "How many runs at most.", click.IntRange(1), default=20),
            option(
                "--stonewall S",
                "How long each writing phase of io500 takes, in seconds (its rules want 300).",
                click.IntRange(1),
                default=1,
            ),
            *shared.PAGE,
        ),
    ),
]
