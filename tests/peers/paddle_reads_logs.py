#!/usr/bin/env python3
"""Gives job logs of ours to PaddlePaddle's own converter, and compares the result.

use: paddle_reads_logs.py PADDLE LOGS [--steps N]

PADDLE is an unpacked wheel (pip download --no-deps paddlepaddle, then unzip); its imports are
replaced. It has to find every `Profiler Info:` line of every workerlog.<rank> with its type,
number and times, in their order, and as many steps as were run (N, or as many as the lines name).
"""

import argparse
import pathlib
import re
import runpy
import shutil
import sys
import tempfile
import types
from decimal import Decimal
from json import loads

SKIPPED = 77
SCRIPT = "paddle/distributed/auto_parallel/static/profiler_helper_static.py"
LINE = re.compile(r"Profiler Info: Job \((\d+)\), type = ([^,]+), micro_batch_id = \d+, "
                  r"job_start_time = ([\d.]+), job_end_time = ([\d.]+)")
STEP = re.compile(r"Profiler Info: .*, step = (\d+)")


def run_script(script, folder, devices):
    paddle = types.ModuleType("paddle")
    paddle.device = types.SimpleNamespace(cuda=types.SimpleNamespace(device_count=lambda: 0))
    helper = types.ModuleType("paddle.base.log_helper")
    helper.get_logger = lambda *_, **__: types.SimpleNamespace(info=lambda *_: None)
    sys.modules.update({"paddle": paddle, "paddle.base": types.ModuleType("paddle.base"),
                        "paddle.base.log_helper": helper})
    sys.argv = [str(script), "--devices", ",".join(devices), "--log_dir", str(folder)]
    runpy.run_path(str(script), run_name="__main__")
    return loads((folder / "pipeline_profile.json").read_text())["traceEvents"]


def jobs_found(events, device):
    """(name, begin, end) in the order of the file, times in microseconds."""
    ours = [e for e in events if e["tid"] == f"GPU{device}"]
    return [(begin["name"], begin["ts"], end["ts"]) for begin, end in zip(ours[::2], ours[1::2])]


def jobs_written(log):
    return [(f"{kind}_{number}", float(Decimal(begin)) * 1000, float(Decimal(end)) * 1000)
            for number, kind, begin, end in LINE.findall(log.read_text())]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("paddle")
    parser.add_argument("logs", type=pathlib.Path)
    parser.add_argument("--steps", type=int)
    options = parser.parse_args()
    script = pathlib.Path(options.paddle) / SCRIPT
    if not options.paddle or not script.exists():
        print(f"skipped: no PaddlePaddle in {options.paddle!r}; set PIPETRACE_PADDLE_DIR")
        return SKIPPED
    logs = sorted(options.logs.glob("workerlog.*[0-9]"), key=lambda path: int(path.suffix[1:]))
    if not logs:
        raise SystemExit(f"no workerlog.<rank> in {options.logs}")
    with tempfile.TemporaryDirectory() as folder:
        for log in logs:
            shutil.copy(log, folder)
        events = run_script(script, pathlib.Path(folder), [log.suffix[1:] for log in logs])
    wrong = []
    if options.steps is None:
        options.steps = len({step for log in logs for step in STEP.findall(log.read_text())})
    for log in logs:
        found, written = jobs_found(events, log.suffix[1:]), jobs_written(log)
        print(f"{log.name}: {len(written)} jobs, PaddlePaddle finds {len(found)}")
        if found != written or not written:
            wrong.append(f"{log.name}: other jobs, or none")
    steps = sum(1 for event in events if event["cat"] == "step" and event["ph"] == "B")
    if steps != options.steps:
        wrong.append(f"{steps} steps, {options.steps} were run")
    for sentence in wrong:
        print("WRONG", sentence)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
