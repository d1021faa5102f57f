#!/usr/bin/env python3
"""Compares `--paddle-style 2023` with a second implementation of PaddlePaddle's first converter.

use: paddle_style_2023.py PIPE_TRACE

Both files, event by event and in order, for logs that this script makes up. Where devices do
not count from 0, the file for Perfetto keeps their name as tid, as in the later converters.
"""

import json
import pathlib
import random
import re
import subprocess
import sys
import tempfile

LINE = re.compile(r".*?Profiler Info: Job \((\d+)\), type = (\w+), micro_batch_id = (\d+), "
                  r"job_start_time = (\d+.\d+), job_end_time = (\d+.\d+)")
COLORS = {"forward": "thread_state_running", "backward": "rail_idle",
          "optimizer": "rail_response", "default": "thread_state_unknown"}
FILES = ("pipeline_profile.json", "pipeline_profile_perfetto.json")


def pair(device, number, kind, begin, end):
    for phase, time in (("B", begin), ("E", end)):
        event = {"name": f"{kind[0].upper()}_{number}", "cat": kind, "ph": phase,
                 "ts": float(time) * 1000, "pid": "Main", "tid": f"GPU{device}"}
        if kind in COLORS:
            event["cname"] = COLORS[kind]
        yield event


def expected(folder, devices):
    """The events of both files."""
    events = []
    for device in devices:
        log = (folder / f"workerlog.{device}").read_text()
        for number, kind, _, begin, end in LINE.findall(log):
            if kind != "lr":
                events.extend(pair(device, number, kind, begin, end))
    tids = {f"GPU{device}": device for device in range(len(devices))}
    of_perfetto = [{**event, "tid": tids.get(event["tid"], event["tid"])} for event in events]
    of_perfetto += [{"args": {"name": "GPU"}, "cat": "__metadata", "name": "thread_name", "ph": "M",
                     "pid": "Main", "tid": device, "ts": 0} for device in range(len(devices))]
    return events, of_perfetto


def job(number, kind, micro_batch, begin_ns, end_ns, more=""):
    def time(ns):
        return f"{ns // 1_000_000}.{ns % 1_000_000:06d}"
    return (f"I1020 09:15:07.265326 22317 log.cc:1] Profiler Info: Job ({number}), type = {kind}, "
            f"micro_batch_id = {micro_batch}, job_start_time = {time(begin_ns)}, "
            f"job_end_time = {time(end_ns)}{more}\n")


def of_a_run(device, chance):
    """As our profiler writes it: lines of other kinds, and keys after those of PaddlePaddle."""
    at = 1_697_793_307_213_760_986 + device * 1_234_567
    text = f"I1020 Profiler Meta: version = 1, rank = {device}, world_size = 4\nloss 0.5\n"
    for step in range(3):
        kinds = [("lr", 0), *(("forward", m) for m in range(4)),
                 *(("backward", m) for m in range(4)), ("optimizer", 0)]
        for kind, micro_batch in kinds:
            end = at + chance.randrange(40_000_000)
            text += job(micro_batch, kind, micro_batch, at, end,
                        f", step = {step}, stage = {device}")
            text += (f"I1020 Profiler Stream: type = send_forward, micro_batch_id = {micro_batch}, "
                     "start_time = 1.000000, end_time = 2.000000\n")
            at = end + chance.randrange(1000)
    return text + "I1020 Profiler End: written = 30, dropped = 0\n"


def of_any_types(device, chance):
    """Types with and without colour, in any order, between other output, the last line cut off."""
    kinds = [*COLORS, "lr", "backward_b", "send_backward", "forward0", "X"]
    text = ""
    for number in range(60):
        begin = chance.randrange(2 * 10**18)
        text += chance.choice(("", "noise\n", "at 10% ", "Profiler Info: Job (1), type = lr\n"))
        text += job(number, chance.choice(kinds), chance.randrange(9), begin,
                    begin + chance.randrange(10**9))
    return text + f"Profiler Info: Job ({device}), type = forward, micro_batch_id = 0, job_st"


CASES = {  # name: (devices, log of a device)
    "a run of four devices": ([0, 1, 2, 3], of_a_run),
    "one device": ([0], of_a_run),
    "types of all kinds": ([0, 1, 2], of_any_types),
    "twelve devices": (list(range(12)), of_any_types),
    "gaps, out of order": ([5, 0, 2], of_a_run),
    "a log without jobs": ([0, 1, 2], lambda device, chance:
                           "nothing\n" if device == 1 else of_a_run(device, chance)),
    "only lr": ([0], lambda *_: job(0, "lr", 0, 1_000_000, 2_000_000)),
    "empty logs": ([0, 1], lambda *_: ""),
}


def differences(pipe_trace, folder, devices):
    command = [pipe_trace, "--devices", ",".join(map(str, devices)), "--log_dir", str(folder),
               "--paddle-style", "2023"]
    subprocess.run(command, check=True, capture_output=True)
    for name, wanted in zip(FILES, expected(folder, devices)):
        written = json.loads((folder / name).read_text())
        if list(written) != ["traceEvents"]:
            yield f"{name}: keys {list(written)}"
            continue
        events = written["traceEvents"]
        if len(events) != len(wanted):
            yield f"{name}: {len(events)} events, {len(wanted)} expected"
        for at, (ours, theirs) in enumerate(zip(events, wanted)):
            if ours != theirs:
                yield f"{name}, event {at}: {ours}, expected {theirs}"
                break


def main():
    wrong = 0
    for case, (devices, log_of) in CASES.items():
        chance = random.Random(case)
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            for device in devices:
                (folder / f"workerlog.{device}").write_text(log_of(device, chance))
            found = list(differences(sys.argv[1], folder, devices))
            jobs = len(expected(folder, devices)[0]) // 2
        print(f"{case}: {len(devices)} devices, {jobs} jobs, {len(found)} differences")
        for sentence in found:
            print("WRONG", sentence)
        wrong += len(found)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
