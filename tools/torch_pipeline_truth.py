#!/usr/bin/env python3
"""Lists the jobs of a recording of tools/record_torch_pipeline.py from its sleep operators alone.

  torch_pipeline_truth.py FOLDER ...     writes FOLDER/truth.csv for each
  torch_pipeline_truth.py --check FOLDER ...

It shares no code with PipeTrace's readers, so tests compare them with it. A job lasts from the first
start to the last end of its `pipetrace::sleep_…` operators. A weight half directly before the input
half of the same micro-batch is a whole backward pass (B); apart, they are two jobs (W and I). A first
stage has no input half: its weight half is a B, unless the trace names an I of that micro-batch.
Annotations give no times.

truth.csv has a line for each job; its kind is F, B, I or W, and its times count from the Unix epoch.
`before_ns` and `after_ns` say how much longer the job's operators last, from the first to the last.
Before that come the bubble ratio of the sleeps and that of the operators, by docs/metrics.md.
With --check nothing is written; the exit code is 1 if a file is missing or differs.
"""
import argparse
import bisect
import gzip
import json
import re
import sys
from collections import namedtuple
from decimal import Decimal
from operator import itemgetter
from pathlib import Path

Job = namedtuple("Job", "rank step stage micro_batch kind begin_ns end_ns before_ns after_ns")

OPERATOR = re.compile(r"pipetrace::sleep_(forward|backward_input|backward_weight)_s(\d+)_m(\d+)")
MICROSECOND = Decimal(1000)
NODE = "autograd::engine::evaluate_function: "
START = itemgetter(1)
# What a job runs before and after its sleep: the stage's module, torch's _backward.py and autograd.
AROUND_FORWARD = {"aten::select", "aten::item"}, {"Weight", "aten::add", "aten::relu"}
AROUND_BACKWARD = ({"aten::view_as", "aten::add", "aten::ones_like", NODE + "ReluBackward0", NODE + "AddBackward0"},
                   {"aten::add_", "aten::detach_", NODE + "torch::autograd::AccumulateGrad"})


def spans(trace):
    """All operators in the order of time: name, begin, end."""
    found = []
    for event in trace["traceEvents"]:
        if event.get("ph") == "X" and event.get("cat") == "cpu_op":
            begin = trace["baseTimeNanoseconds"] + int(event["ts"] * MICROSECOND)
            found.append((event["name"], begin, begin + int(event["dur"] * MICROSECOND)))
    return sorted(found, key=lambda span: span[1])


def sleeps(operators):
    """The sleeps in the order of time: half, stage, micro-batch, begin, end."""
    matches = [(OPERATOR.fullmatch(name), begin, end) for name, begin, end in operators]
    return [(match[1], int(match[2]), int(match[3]), begin, end) for match, begin, end in matches if match]


class Operators:
    """The outermost operators of a rank: those of a job run in a known order around its sleep."""

    def __init__(self, operators):
        self.outermost = []
        for span in operators:
            if not self.outermost or span[1] >= self.outermost[-1][2]:
                self.outermost.append(span)

    def around(self, kind, begin, end):
        """First start and last end of the operators of the job that sleeps from begin to end."""
        before, after = AROUND_FORWARD if kind == "F" else AROUND_BACKWARD
        first = bisect.bisect_left(self.outermost, begin, key=START) - 1
        last = bisect.bisect_left(self.outermost, end, key=START) - 1
        while first > 0 and self.outermost[first - 1][0] in before:
            first -= 1
        while last + 1 < len(self.outermost) and self.outermost[last + 1][0] in after:
            last += 1
        return self.outermost[first][1], self.outermost[last][2]


def jobs_of_rank(path):
    with gzip.open(path, "rt") as file:
        trace = json.load(file, parse_float=Decimal)
    operators = spans(trace)
    surroundings = Operators(operators)
    rank = trace["distributedInfo"]["rank"]
    named = {event.get("name", "") for event in trace["traceEvents"]}
    jobs, steps = [], {}

    def add(kind, stage, micro_batch, begin, end):
        key = kind, stage, micro_batch
        steps[key] = steps.get(key, -1) + 1
        first, last = surroundings.around(kind, begin, end)
        jobs.append(Job(rank, steps[key], stage, micro_batch, kind, begin, end, begin - first, last - end))

    waiting = None  # a weight half that may belong to a whole backward pass
    for sleep in [*sleeps(operators), None]:
        if waiting is not None:
            _, stage, micro_batch, begin, end = waiting
            whole = sleep is not None and sleep[:3] == ("backward_input", stage, micro_batch)
            if whole:
                add("B", stage, micro_batch, begin, sleep[4])
            elif stage == 0 and f"PP:0I{micro_batch}" not in named:
                add("B", stage, micro_batch, begin, end)
            else:
                add("W", stage, micro_batch, begin, end)
            waiting = None
            if whole:
                continue
        if sleep is None:
            break
        if sleep[0] == "backward_weight":
            waiting = sleep
        else:
            add("F" if sleep[0] == "forward" else "I", *sleep[1:])
    return jobs


def bubble_ratio(jobs):
    """1 - busy / (ranks * windows): a window is a step's span, cut where the next step begins."""
    ranks = {job.rank for job in jobs}
    begins, ends = {}, {}
    for job in jobs:
        begins[job.step] = min(begins.get(job.step, job.begin_ns), job.begin_ns)
        ends[job.step] = max(ends.get(job.step, job.end_ns), job.end_ns)
    busy = total = 0
    for step in sorted(begins):
        begin, end = begins[step], min(ends[step], begins.get(step + 1, ends[step]))
        total += len(ranks) * (end - begin)
        busy += sum(max(0, min(end, job.end_ns) - max(begin, job.begin_ns)) for job in jobs)
    return 1 - busy / total


def truth(folder):
    jobs = [job for path in sorted(folder.glob("rank*.json.gz")) for job in jobs_of_rank(path)]
    if not jobs:
        sys.exit(f"{folder}: no rank<k>.json.gz with sleep operators")
    wide = [job._replace(begin_ns=job.begin_ns - job.before_ns, end_ns=job.end_ns + job.after_ns) for job in jobs]
    lines = [f"# bubble_ratio_of_sleeps = {bubble_ratio(jobs):.6f}",
             f"# bubble_ratio_of_operators = {bubble_ratio(wide):.6f}", ",".join(Job._fields)]
    lines += [",".join(map(str, job)) for job in jobs]
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path, metavar="FOLDER")
    parser.add_argument("--check", action="store_true", help="compare with the files, and write nothing")
    options = parser.parse_args()
    wrong = 0
    for folder in options.folders:
        path, text = folder / "truth.csv", truth(folder)
        if not options.check:
            path.write_text(text)
        elif not path.is_file() or path.read_text() != text:
            print(f"{path}: differs from what the traces say")
            wrong += 1
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
