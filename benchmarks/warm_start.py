"""A single verification and a pool's candidates a second, of several checkouts side by side in one run.

    python benchmarks/warm_start.py before=OTHER/.venv/bin/python after=.venv/bin/python [--runs 7]

Each NAME=PYTHON is the interpreter of an environment with KernelZero installed. `kernelzero verify` of one elementwise candidate is
timed as a whole process, the checkouts in turn, so that a busy machine meets all of them; then 200 small softmax candidates through a pool
of two. Prints medians, the ranges, and the ratio to the first.
"""

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from keck_cpu import task

POOL = """
import sys, time
sys.path.insert(0, sys.argv[1])
from keck_cpu import task
from kernelzero.keck import Verifier
with Verifier(workers=2) as verifier:
    verifier.verify([task("softmax", (16, 64), 10_000)])
    tasks = [task("softmax", (16, 64), i) for i in range(200)]
    start = time.perf_counter()
    assert all(v.correct for v in verifier.verify(tasks))
    print(len(tasks) / (time.perf_counter() - start))
"""


def verify_once(python: str, folder: Path) -> float:
    command = [Path(python).with_name("kernelzero"), "verify", "reference.py", "candidate.py"]
    start = time.perf_counter()
    subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def pool_once(python: str, folder: Path) -> float:
    command = [python, "-c", POOL, str(Path(__file__).parent)]
    return float(subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("checkouts", nargs="+", help="NAME=PYTHON")
    parser.add_argument("--runs", type=int, default=7)
    options = parser.parse_args()
    named = {name: str(Path(python).absolute()) for name, python in (item.split("=", 1) for item in options.checkouts)}
    with tempfile.TemporaryDirectory() as made:
        folder, one = Path(made), task("elementwise", (16, 64), 0)
        (folder / "reference.py").write_text(one.module)
        (folder / "candidate.py").write_text(one.candidate)
        for title, measure, runs in (("seconds of one `kernelzero verify`", verify_once, options.runs), ("candidates a second, two workers", pool_once, 3)):
            for python in named.values():
                measure(python, folder)  # the machine's file cache
            taken = {name: [] for name in named}
            for _ in range(runs):
                for name, python in named.items():
                    taken[name].append(measure(python, folder))
            print(title)
            first = statistics.median(next(iter(taken.values())))
            for name, values in taken.items():
                median = statistics.median(values)
                print(f"  {name:10} median {median:7.2f}   {min(values):.2f} to {max(values):.2f}   {median / first:.2f} of the first", flush=True)


if __name__ == "__main__":
    sys.exit(main())
