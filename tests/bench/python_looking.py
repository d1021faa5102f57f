#!/usr/bin/env python3
"""How long the Python package takes to read a run and to make its tables, beside pipe-trace.

    python_looking.py PIPE_TRACE LIBRARY_FOLDER [--jobs N] [--messages] [--runs N] [--folder DIR]

Reads the same logs in turn by `pipe-trace info LOGS`, which reads and counts, by `pipe-trace LOGS --json`,
by `pipe-trace report LOGS --json` and by the package, each time in a process of its own. Prints medians of seconds and of the peak memory in MiB.
Needs pandas. --messages: logs have sends and receives. Logs lie in DIR (/dev/shm).
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]

# Measures itself. Prints seconds by what they are of, and MiB.
READER = """
import json, resource, sys, time, warnings
warnings.simplefilter("ignore")
def peak(): return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
import numpy, pandas
import pipetrace
found = {"memory: Python with pandas": peak()}
begin = time.perf_counter()
run = pipetrace.load(sys.argv[1], progress=False)
found["load"] = time.perf_counter() - begin
names = ["jobs", "messages", "collectives", "bubbles", "counters", "by_name"]
found["tables, with what they follow from"] = found["tables to pandas"] = 0
frames = []
for name in names:
    begin = time.perf_counter()
    table = getattr(run, name)
    len(table)
    made = time.perf_counter()
    frames.append(table.to_pandas())
    found["tables, with what they follow from"] += made - begin
    found["tables to pandas"] += time.perf_counter() - made
found["memory: load and all tables to pandas"] = peak()
print(json.dumps(found))
"""


def make_logs(folder: str, jobs: int, has_messages: bool) -> int:
    """Logs of 1F1B on 16 ranks; returns their bytes. A process of its own makes them, as programs
    that are started have the peak memory of who starts them."""
    process = os.fork()
    if process == 0:
        write_logs(folder, jobs, has_messages)
        os._exit(0)
    os.waitpid(process, 0)
    return sum(log.stat().st_size for log in pathlib.Path(folder).iterdir())


def write_logs(folder: str, jobs: int, has_messages: bool) -> None:
    sys.path.insert(0, str(ROOT / "python"))
    import pipetrace

    steps = max(1, jobs // (16 * 64))
    costs = {"forward_ms": 10, "backward_ms": 20, "transfer_ms": 0.2}
    pipetrace.plan("1F1B", 16, 32, steps=steps, costs=costs).save(f"{folder}/")
    kept = ("Profiler Meta:", "Profiler Info:") + (("Profiler Stream:",) if has_messages else ())
    for log in pathlib.Path(folder).glob("workerlog.*"):
        lines = log.read_text().splitlines(keepends=True)
        log.write_text("".join(line for line in lines if any(mark in line for mark in kept)))


def program(*words: str) -> tuple[float, float]:
    """Seconds and MiB of a command."""
    begin = time.perf_counter()
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, _, usage = os.wait4(process.pid, 0)
    process.returncode = 0
    return time.perf_counter() - begin, usage.ru_maxrss / 1024


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("pipe_trace")
    options.add_argument("library_folder")
    options.add_argument("--jobs", type=int, default=1_000_000)
    options.add_argument("--messages", action="store_true")
    options.add_argument("--runs", type=int, default=9)
    options.add_argument("--folder", default="/dev/shm")
    given = options.parse_args()
    os.environ["PIPETRACE_LIBRARY_PATH"] = os.path.abspath(given.library_folder)
    os.environ["PYTHONPATH"] = str(ROOT / "python")
    figures: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        size = make_logs(folder, given.jobs, given.messages)
        for _ in range(given.runs):
            for name, *words in (
                ("info", "info"),
                ("summary", "--json"),
                ("report", "report", "--json"),
            ):
                seconds, memory = program(given.pipe_trace, *words, folder)
                figures.setdefault(f"pipe-trace {name}", []).append(seconds)
                figures.setdefault(f"memory: pipe-trace {name}", []).append(memory)
            done = subprocess.run(
                [sys.executable, "-c", READER, folder], capture_output=True, text=True, check=True
            )
            for name, value in json.loads(done.stdout).items():
                figures.setdefault(name, []).append(value)
    print(f"{given.jobs} jobs, {size / 1e6:.0f} MB, {given.runs} runs")
    for name, values in sorted(figures.items()):
        unit = "MiB" if name.startswith("memory") else "s"
        print(f"{statistics.median(values):8.2f} {unit:4} (least {min(values):.2f}) {name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
