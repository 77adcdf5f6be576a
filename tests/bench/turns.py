"""What a coordinator stands (`python -m bench.turns BUILD`): round trips; 1,000 jobs at 5,000 rounds a second."""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROUNDS = 20_000
JOBS, THREADS, SECONDS, ROUNDS_A_SECOND = 1000, 8, 10, 5000


def main(build: Path) -> None:
    for policy in ("fcfs", "dynamic"):
        with tempfile.TemporaryDirectory() as directory:
            address = f"unix:{directory}/coordinator"
            command = [build / "bin" / "slicewise-collect", "coordinate", "--listen", address, "--policy", policy]
            with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as service:
                assert service.stdout is not None
                service.stdout.readline()
                try:
                    _print(policy, build / "bench" / "turns", "latency", address, ROUNDS)
                    _print(policy, build / "bench" / "turns", "load", address, JOBS, THREADS, SECONDS, ROUNDS_A_SECOND)
                    status = Path(f"/proc/{service.pid}/status").read_text()
                    (most,) = re.findall(r"VmHWM:\s+(\d+) kB", status)
                    print(f"{policy}: at most {int(most) / 1024:.1f} MiB")
                finally:
                    service.terminate()


def _print(policy: str, *command: object) -> None:
    done = subprocess.run([str(part) for part in command], check=True, capture_output=True, text=True)
    print(f"{policy}: {command[1]}: {done.stdout.strip()}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
