"""Two jobs that compete on the testbed: how much longer they take under Slicewise, with the interval.

    python -m two_jobs BUILD [--repeats N] [-o FILE]

As root, on a quiet machine: what else it does spreads the runtimes.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

RUN = "1+4"
RESAMPLES = 10_000


def main() -> int:
    """Run the campaign, print, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=Path)
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("-o", type=Path, dest="output", help="write the results there as JSON")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as profiles:
        command = [sys.executable, "-m", "testbed.campaign", arguments.build, profiles, "--runs", RUN, "--bare"]
        command += ["--slice", "4", "--repeats", arguments.repeats]
        if subprocess.run(list(map(str, command)), check=False).returncode != 0:
            return 2
        runs = [json.loads(line) for line in (Path(profiles) / "seconds.jsonl").read_text().splitlines()]
    results = []
    for place, job in enumerate(RUN.split("+")):
        profiled, bare = (np.array([run[of][place] for run in runs]) for of in ("profiled", "bare"))
        chosen = np.random.default_rng(1).integers(len(runs), size=(RESAMPLES, len(runs)))
        ratios = np.median(profiled[chosen], axis=1) / np.median(bare[chosen], axis=1)
        low, high = np.percentile(ratios, [2.5, 97.5])
        ratio = float(np.median(profiled) / np.median(bare))
        spread = float(bare.std(ddof=1) / bare.mean())
        print(
            f"job of {job}: {np.median(profiled):.3f} s under Slicewise, {np.median(bare):.3f} s bare: x {ratio:.4f} "
            f"[{low:.4f} to {high:.4f}, 95 %]; bare runs spread by {100 * spread:.2f} %"
        )
        results.append({"processes": int(job), "ratio": ratio, "low": low, "high": high, "bare_rsd": spread})
    if arguments.output:
        arguments.output.write_text(json.dumps(results, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
