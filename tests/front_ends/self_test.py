#!/usr/bin/env python3
"""Tests check_profile.py on small traces with known errors."""

import json
import pathlib
import sys
import tempfile

from check_profile import findings, what_was_said
from viewers import FrontEnds

META = [{"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "rank 0"}},
        {"ph": "M", "name": "thread_name", "pid": 1, "tid": 1, "args": {"name": "compute"}}]


def x(name, ts, dur, **more):
    return {"name": name, "ph": "X", "pid": 1, "tid": 1, "ts": ts, "dur": dur, "args": {}, **more}


def arrow(ph, ts, **more):
    return {"name": "micro-batch", "cat": "micro-batch", "ph": ph, "id": 1, "pid": 1, "tid": 1,
            "ts": ts, **more}


JOBS = [x("forward 0", 0, 10), x("forward 1", 10, 10), x("backward 0", 20.5, 20.001)]
START, END = arrow("s", 9.999), arrow("f", 20.5, bp="e")
GOOD = [*JOBS, START, END]
SAID = {"jobs": 3, "transfers": 0, "others": 0, "bubbles": 0, "arrows": 1, "counters": 0}

CASES = {  # name -> (events, output about them, a word that the findings must hold; None: clean)
    "good": (GOOD, SAID, None),
    "a job lost": ([JOBS[0], JOBS[2], START, END], SAID, "slices"),
    "an arrow lost": (JOBS, SAID, "arrows"),
    "an arrow without its end": ([*JOBS, START], SAID, "arrows"),
    "an arrow that starts at no job": ([*JOBS, arrow("s", 20.2), END], SAID, "arrows"),
    "arguments at both ends of a bind_id": (
        [{**JOBS[0], "bind_id": "0x1", "flow_out": True, "args": {"step": 1}}, JOBS[1],
         {**JOBS[2], "bind_id": "0x1", "flow_in": True, "args": {"step": 1}}], SAID, "warnings"),
    "crossing slices": ([*GOOD, x("forward 2", 5, 10)], {**SAID, "jobs": 4}, "crossing"),
    "nested slices": ([*GOOD, x("forward 2", 2, 3)], {**SAID, "jobs": 4}, "nested"),
    "an end without begin": ([*GOOD, {"ph": "E", "pid": 1, "tid": 1, "ts": 1}], SAID, "warnings"),
    "a negative time": ([*GOOD, x("forward 2", -50, 3)], {**SAID, "jobs": 4}, "Perfetto"),
    "no JSON": ("{\"traceEvents\": [nonsense", SAID, "error"),
}


def main():
    said = what_was_said("wrote a b/p.json: 1 job, 2 transfers, 3 bubbles, 4 arrows, "
                         "5 counter samples\n", "p.json")
    assert said == {"jobs": 1, "transfers": 2, "others": 0, "bubbles": 3, "arrows": 4,
                    "counters": 5}, said
    said = what_was_said("wrote p.json: 1 jobs, 2 transfers, 7 other events, 3 bubbles, 4 arrows, "
                         "5 counter samples\n", "p.json")
    assert said["others"] == 7 and said["transfers"] == 2, said
    failed = 0
    with tempfile.TemporaryDirectory() as folder, FrontEnds() as viewers:
        traces = {name: pathlib.Path(folder) / f"{name}.json" for name in CASES}
        for name, (events, _, _) in CASES.items():
            traces[name].write_text(events if isinstance(events, str) else json.dumps(
                {"traceEvents": META + events, "displayTimeUnit": "ns"}))
        in_perfetto = {name: viewers.perfetto(trace) for name, trace in traces.items()}
        for name, (_, said, word) in CASES.items():
            wrong = findings(said, in_perfetto[name], viewers.catapult(traces[name]))
            good = not wrong if word is None else any(word in w for w in wrong)
            failed += not good
            print("ok  " if good else "FAIL", name, wrong)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
