"""How long things take to start: ``python benchmarks/startup.py [--runs N] [--json]``.

Each command runs in a new process, several times, in turns; the best and the median are
reported. Nothing is asserted: on a busy machine the numbers mean little.
"""

import argparse
import json
import statistics
import subprocess
import sys
import time

COMMANDS = {
    "python": ["-c", "pass"],
    "import numpy": ["-c", "import numpy"],
    "import morello": ["-c", "import morello"],
    "import morello.search": ["-c", "import morello.search"],
    "import morello.compiler.compile": ["-c", "import morello.compiler.compile"],
    "morello --version": ["-m", "morello.tools.morello", "--version"],
    "morello-opt --version": ["-m", "morello.tools.morello_opt", "--version"],
    "morello-opt --help": ["-m", "morello.tools.morello_opt", "--help"],
}


def seconds(arguments: list[str]) -> float:
    """Wall time of one new process."""
    start = time.perf_counter()
    subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def main() -> None:
    """Time every command and print a table or one JSON object."""
    parser = argparse.ArgumentParser(description="Time how long things take to start.")
    parser.add_argument("--runs", type=int, default=5, help="of each (default: 5)")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args()
    if options.runs < 1:
        parser.error("--runs must be at least 1")
    times: dict[str, list[float]] = {name: [] for name in COMMANDS}
    for _ in range(options.runs):
        for name, arguments in COMMANDS.items():
            times[name].append(seconds(arguments))
    rows = {
        name: {"best_s": min(samples), "median_s": statistics.median(samples)}
        for name, samples in times.items()
    }
    if options.json:
        print(json.dumps(rows))
        return
    print(f"{'':24}{'best':>10}{'median':>10}")
    for name, row in rows.items():
        best, median = row["best_s"] * 1e3, row["median_s"] * 1e3
        print(f"{name:24}{best:7.0f} ms{median:7.0f} ms")


if __name__ == "__main__":
    main()
