"""Results of IO500 as tests need them: written here after the public format, in each of its layouts."""

from collections.abc import Mapping
from pathlib import Path

Point = tuple[float, float]

# The example of the models' documentation: hard, easy; the third run is an anomaly in bandwidth.
EXAMPLE = {
    "run1": ((1.0, 2.0), (4.0, 10.0)), "run2": ((0.5, 3.0), (3.5, 12.0)), "run3": ((2.0, 2.5), (1.5, 11.0)),
    "run4": ((1.2, 2.2), (4.2, 9.0)),
}  # fmt: skip
ORDER = (
    "ior-easy-write", "mdtest-easy-write", "ior-hard-write", "mdtest-hard-write", "ior-easy-read", "mdtest-easy-stat",
    "ior-hard-read", "mdtest-hard-stat", "mdtest-easy-delete", "mdtest-hard-read", "mdtest-hard-delete",
)  # fmt: skip


def rates_of(hard: Point, easy: Point) -> dict[str, float]:
    """A rate for each phase, so that the geometric means are these points."""
    levels = {"hard": hard, "easy": easy}
    return {name: levels[name.split("-")[1]][0 if name.startswith("ior") else 1] for name in ORDER}


def new_summary(rates: Mapping[str, float], seconds: float = 300.0, invalid: str = "") -> str:
    """As the C program writes result_summary.txt."""
    lines = ["IO500 version io500-example (standard)"]
    for name, rate in rates.items():
        unit = "GiB/s" if name.startswith("ior") else "kIOPS"
        mark = " [INVALID]" if name == invalid else ""
        lines.append(f"[RESULT] {name:>20} {rate:15.6f} {unit} : time {seconds:.3f} seconds{mark}")
        if name == "mdtest-easy-write":
            lines.append(f"[      ] {'timestamp':>20} {0.0:15.6f} kIOPS : time 0.000 seconds")
    return "\n".join([*lines, "[SCORE ] Bandwidth 1.000000 GiB/s : IOPS 1.000000 kiops : TOTAL 1.000000", ""])


def old_summary(rates: Mapping[str, float], unit: str = "GB/s", invalid: str = "") -> str:
    """As the shell script wrote it: other names, other units, numbered phases."""
    lines = []
    for number, (name, rate) in enumerate(rates.items(), 1):
        is_data = name.startswith("ior")
        mark = "RESULT-invalid" if name == invalid else "RESULT"
        lines.append(
            f"[{mark}] {'BW  ' if is_data else 'IOPS'} phase {number} {name.replace('-', '_'):>25} {rate:20.3f} "
            f"{unit if is_data else 'kiops'} : time {30.5:6.2f} seconds"
        )
    return "\n".join([*lines, f"[SCORE] Bandwidth 1.0 {unit} : IOPS 1.0 kiops : TOTAL 1.0", ""])


def result_text(rates: Mapping[str, float], has_run_section: bool = True, api: str = "POSIX") -> str:
    """As the C program writes result.txt: a section a phase, and one of the run or none."""
    lines = ["[run]"] if has_run_section else []
    lines += ["procs = 16", "version = io500-example", "; START 2026-03-02 04:05:06", ""]
    for name, rate in rates.items():
        exe = f"./ior -a {api} -t 2m" if name.startswith("ior") else f"./mdtest -n 100 -a {api}"
        lines += [f"[{name}]", "t_start         = 2026-03-02 04:05:07", f"exe             = {exe}"]
        lines += [f"score           = {rate:f}", "t_delta         = 12.5000", ""]
    return "\n".join([*lines, "[SCORE]", "MD = 1.0", "BW = 1.0", "SCORE = 1.0", "; END 2026-03-02 04:15:06", ""])


def write_example(directory: Path) -> Path:
    """The example's four runs, a directory each."""
    for name, (hard, easy) in EXAMPLE.items():
        write_result(directory / name, hard, easy)
    return directory


def write_result(directory: Path, hard: Point, easy: Point, seconds: float = 300.0) -> Path:
    directory.mkdir(parents=True)
    (directory / "result_summary.txt").write_text(new_summary(rates_of(hard, easy), seconds))
    return directory


def rank_table(rates: Mapping[int, float], phase: str) -> str:
    """As IOR and mdtest save the performance of each rank."""
    if phase.startswith("ior"):
        head = "access,rank,runtime-with-openclose,runtime,throughput-withopenclose,throughput"
        rows = [f"write,{rank},10.0,9.9,{rate:.10e},{rate:.10e}" for rank, rate in rates.items()]
        return "\n".join([head, *rows, ""])
    head = "rank,items,rate-File creation,time-File creation,rate-File stat,time-File stat"
    rows = ["all,100,9.0e+03,1.0e+00,,", *(f"{rank},,{rate:.10e},1.0e+00,," for rank, rate in rates.items())]
    return "\n".join([head, *rows, ""])
