"""Orders of jobs of the pipeline schedules that runs are drawn from.

A job is (letter, stage, micro-batch). F is a forward, B a whole backward, I and W the halves that
give the gradients of inputs and of weights. Stages are virtual: with v chunks on each of p
positions there are v * p, and stage s is at position s % p.

Sources: GPipe, 1F1B, LoopedBFS (Lamy-Poirier 2022) and Interleaved1F1B (Narayanan 2021) from their
papers; Eager1F1B from "On Optimizing the Communication of Model Parallelism" (Zhuang 2023); ZBH1
from "Zero Bubble Pipeline Parallelism" (Qi 2023), with the weight half of a micro-batch as many
backwards late as the position says; InterleavedZeroBubble as PyTorch has it.

    plans.py --check [FOLDER]     compares them with reference files, ZBH1 and 1F1B also with the
                                  bubble rates of the Zero Bubble paper
"""

import csv
import os
import re
import sys

SCHEDULES = (
    "1F1B",
    "GPipe",
    "FThenB",
    "Eager1F1B",
    "Interleaved1F1B",
    "LoopedBFS",
    "ZBH1",
    "InterleavedZeroBubble",
)
WITH_CHUNKS = ("Interleaved1F1B", "LoopedBFS", "InterleavedZeroBubble")
WITH_HALVES = ("ZBH1", "InterleavedZeroBubble")
ROUNDS_OF_POSITIONS = ("Interleaved1F1B", "InterleavedZeroBubble")  # m is a multiple of p


def order(schedule, positions, position, micro_batches, chunks=1):
    """The jobs of one position, in the order in which it does them."""
    p, r, m, v = positions, position, micro_batches, chunks
    each = range(m)
    stages = [chunk * p + r for chunk in range(v)]
    after = p - 1 - r  # positions behind this one
    if schedule in ("GPipe", "FThenB"):
        backwards = each if schedule == "FThenB" else reversed(each)
        return [("F", r, i) for i in each] + [("B", r, i) for i in backwards]
    if schedule == "LoopedBFS":
        forwards = [("F", stage, i) for stage in stages for i in each]
        return forwards + [("B", stage, i) for stage in reversed(stages) for i in reversed(each)]
    if schedule in WITH_CHUNKS:
        rounds = [range(first, min(first + p, m)) for first in range(0, m, p)]
        forwards = [("F", stage, i) for round_ in rounds for stage in stages for i in round_]
        backwards = [
            ("B", stage, i) for round_ in rounds for stage in reversed(stages) for i in round_
        ]
    else:
        forwards = [("F", r, i) for i in each]
        backwards = [("B", r, i) for i in each]
    warm_up = {
        "1F1B": after,
        "ZBH1": after,
        "Eager1F1B": 2 * after,
        "Interleaved1F1B": (v - 1) * p + 2 * after,
        "InterleavedZeroBubble": (v - 1) * p + after,
    }[schedule]
    if schedule in WITH_HALVES:
        return alternate(forwards, halves(backwards, r), warm_up)
    return alternate(forwards, [[job] for job in backwards], warm_up)


def alternate(forwards, backwards, warm_up):
    """`warm_up` forwards, then a forward and the jobs of a backward in turn."""
    jobs = forwards[:warm_up]
    for index, backward in enumerate(backwards):
        jobs += forwards[warm_up + index : warm_up + index + 1]
        jobs += backward
    return jobs


def halves(backwards, late):
    """Each backward's input half, then the weight half of the one that is `late` before it. What
    is left comes with the last."""
    result = []
    for index, (_, stage, i) in enumerate(backwards):
        result.append([("I", stage, i)])
        if index >= late:
            result[-1].append(("W",) + backwards[index - late][1:])
    result[-1] += [("W",) + job[1:] for job in backwards[max(0, len(backwards) - late) :]]
    return result


def needs(job, last_stage):
    """The job on another stage whose result it needs, and in which direction that travels; None."""
    letter, stage, i = job
    if letter == "F" and stage > 0:
        return "F", stage - 1, i
    if letter in "BI" and stage < last_stage:
        return "B", stage + 1, i
    return None


def gives(job, last_stage):
    """Where its result goes, and in which direction; None: nowhere."""
    letter, stage, i = job
    if letter == "F" and stage < last_stage:
        return "F", stage + 1, i
    if letter in "BI" and stage > 0:
        return "B", stage - 1, i
    return None


def order_of_messages(plan, last_stage, owner):
    """The messages of each position in the order in which PyTorch puts them between jobs: rounds
    over all positions, each doing its next job if what it needs has been sent. A send stands behind
    its job, and the receive at the same place on the other side.

    `plan`: the jobs of each position. A message is (direction, stage that gets it, micro-batch).
    """
    left = [list(reversed(_with_ends_of_stages(jobs))) for jobs in plan]
    came = set()
    result = [[] for _ in plan]
    while any(left):
        goes_on = False
        for position, jobs in enumerate(left):
            if not jobs:
                continue
            job = jobs[-1]
            need = needs(job, last_stage) if job else None
            if need and owner(need[1]) != position and (need[0], *job[1:]) not in came:
                continue
            jobs.pop()
            goes_on = True
            give = gives(job, last_stage) if job else None
            if give and owner(give[1]) != position:
                came.add(give)
                result[position].append(give)
                result[owner(give[1])].append(give)
        if not goes_on:
            raise ValueError("the plan's jobs wait for each other")
    return result


def _with_ends_of_stages(jobs):
    """The jobs, with two of None behind the last of each stage."""
    last = {stage: place for place, (letter, stage, _) in enumerate(jobs) if letter in "BW"}
    result = []
    for place, job in enumerate(jobs):
        result.append(job)
        if last.get(job[1]) == place:
            result += [None, None]
    return result


# Checks -------------------------------------------------------------------------------------------

REFERENCES = {
    "1F1B": "1F1B_p4_m8_v1",
    "FThenB": "GPipe_p4_m8_v1",
    "Eager1F1B": "Eager1F1B_p4_m8_v1",
    "Interleaved1F1B": "Interleaved1F1B_p4_m8_v2",
    "LoopedBFS": "LoopedBFS_p4_m8_v2",
    "ZBH1": "ZB1P_p4_m8_v1",
    "InterleavedZeroBubble": "InterleavedZeroBubble_p4_m8_v2",
}


def read_reference(path):
    with open(path, newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file))
    cells = [[re.fullmatch(r"(\d+)([FBIW])(\d+)", cell.strip()) for cell in row] for row in rows]
    return [[(c[2], int(c[1]), int(c[3])) for c in row if c] for row in cells]


def check(folder):
    for schedule, name in REFERENCES.items():
        chunks = 2 if schedule in WITH_CHUNKS else 1
        ours = [order(schedule, 4, position, 8, chunks) for position in range(4)]
        theirs = read_reference(os.path.join(folder, name + ".csv"))
        assert ours == theirs, schedule
        print("%-22s as %s.csv" % (schedule, name))


if __name__ == "__main__":
    if sys.argv[1:2] != ["--check"]:
        sys.exit("usage: plans.py --check [FOLDER]")
    here = os.path.dirname(os.path.abspath(__file__))
    files = sys.argv[2:3] or [os.path.join(here, "..", "..", "..", "shared", "data", "schedules")]
    if not os.path.isdir(files[0]):
        print("skipped: no reference files at " + files[0])
        sys.exit(77)
    check(files[0])
