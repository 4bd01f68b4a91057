"""Time Specs with ``morello bench`` and keep what it says under ``results/``.

    python benchmarks/record.py NAME SPEC... [--threads N] [--seconds S]

writes ``results/NAME.json``, one object a Spec as ``morello bench --json`` prints it,
and ``results/NAME.md``, a table of them, both with the command, the commit, the date,
the machine and its load. Every search starts from an empty database.
"""

import argparse
import datetime
import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

from morello.targets.host import host

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "results"


def measure(spec: str, threads: int, seconds: float) -> dict[str, Any]:
    """What ``morello bench`` says of a Spec, and the load before and after."""
    command = [sys.executable, "-m", "morello", "bench", spec, "--json", "--db", "none"]
    command += ["--threads", str(threads), "--seconds", str(seconds)]
    before = os.getloadavg()[0]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return {**found, "load": [round(before, 2), round(os.getloadavg()[0], 2)]}


def commit() -> str:
    """The commit of the checkout, marked if it is not clean."""
    text = subprocess.run(
        ["git", "describe", "--always", "--dirty", "--abbrev=12"],
        cwd=ROOT,
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    return text.stdout.strip()


def table(rows: list[dict[str, Any]], about: dict[str, Any]) -> str:
    """The measurements as Markdown."""
    lines = [f"# {about['name']}", ""]
    lines += [f"- {key}: {value}" for key, value in about.items() if key != "name"]
    lines += [
        "",
        "| Spec | threads | best | median | GFLOP/s | of peak | search | load |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        rate = f"{row['gflops']:.1f}" if row["gflops"] else "-"
        share = row["fraction_of_peak"]
        lines.append(
            f"| {row['spec']} | {row['threads_used']} | {row['best_s'] * 1e6:.2f} us "
            f"| {row['median_s'] * 1e6:.2f} us | {rate} "
            f"| {f'{share:.1%}' if share else '-'} | {row['search_s']:.1f} s "
            f"| {row['load'][0]}, {row['load'][1]} |"
        )
    lines += [
        "",
        "Calls are made from Python with their arguments checked, which takes about "
        "3 us of each. Peak is that of the FMA loop of the same run, on all threads.",
    ]
    return "\n".join(lines) + "\n"


def main() -> int:
    """Measure what the command line names."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name")
    parser.add_argument("specs", nargs="+", metavar="SPEC")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=3.0)
    options = parser.parse_args()
    machine = host()
    about = {
        "name": options.name,
        "command": shlex.join(["python", "benchmarks/record.py", *sys.argv[1:]]),
        "commit": commit(),
        "date": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "machine": f"{machine.cpu}, {len(os.sched_getaffinity(0))} cores, shared",
    }
    rows = [measure(s, options.threads, options.seconds) for s in options.specs]
    data = {**about, "measurements": rows}
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"{options.name}.json").write_text(json.dumps(data, indent=1) + "\n")
    (RESULTS / f"{options.name}.md").write_text(table(rows, about))
    sys.stdout.write(table(rows, about))
    return 0


if __name__ == "__main__":
    sys.exit(main())
