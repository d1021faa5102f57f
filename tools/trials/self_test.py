"""Tries the trials' checks: on texts and logs made up here, and on made-up programs."""

import os
import tempfile
from pathlib import Path

from self_check import Failure, check

from . import run_trial as running
from .expectation import expectation_of
from .log_check import first_gap
from .made_up import write_programs
from .plans import Plan, Plans
from .report import line_of, table
from .run_trial import Outcome, run_trial
from .sanitizers import is_sanitized
from .trial import FAULTS, Settings, Trial, draw
from .verdicts import (cause_of, check_causes, check_codes, check_cut, ended_actions, first_lost,
                       ranks_in)

ROWS = [["0F0", "0F1", "0B0", "0B1"], ["1F0", "1B0", "1F1", "1B1"]]
PLAN = Plan(ROWS)
DIED = ("error: rank 1 died, last seen in 1F0 of step 3 (12 actions ended); this rank, 0, was in 0B0 of "
        "step 3 (14 actions ended)\n")


class MadeUpPlans:
    def schedules(self):
        return ["1F1B", "GPipe", "DualPipe"]

    def find(self, schedule, ranks, _micro_batches):
        if schedule == "DualPipe" and ranks % 2:
            return None
        return Plan([[f"{rank}F0", f"{rank}B0"] for rank in range(ranks)])


def check_drawing():
    settings = Settings()
    drawn = [draw("7", number, settings, MadeUpPlans())[0] for number in range(300)]
    again = [draw("7", number, settings, MadeUpPlans())[0] for number in reversed(range(300))]
    check(drawn == again[::-1], "a seed gives the same trials, in whatever order")
    check(drawn != [draw("8", n, settings, MadeUpPlans())[0] for n in range(300)],
          "another seed gives others")
    check(all(FAULTS[one.fault][1](one) for one in drawn), "no trial has a fault that makes no sense")
    check({one.fault for one in drawn} == set(FAULTS), "every fault is drawn")
    check(all(2 <= one.ranks <= 16 and (not one.hosts or one.ranks % one.hosts == 0) for one in drawn),
          "runs have 2 to 16 ranks, the same number on each host")
    check({one.hosts for one in drawn} == {0, 4}, "runs are on one host and on four")
    check(all(one.layers == sum(one.partition) and min(one.partition) > 0
              for one in drawn if one.partition), "partitions have all layers")
    alone = Settings(hosts="none", most_ranks=4)
    first = [draw("7", number, alone, MadeUpPlans())[0] for number in range(24)]
    counts = {one.fault: sum(one.fault == other.fault for other in first) for one in first}
    check(len(counts) == 12 and set(counts.values()) == {2}, "faults come in turn", counts)
    check(max(one.ranks for one in first) <= 4, "no run has more ranks than it may")
    only = draw("7", 3, Settings(only="cut-off", hosts="none"), MadeUpPlans())[0]
    check(only.fault == "cut-off" and only.hosts == 4, "a fault of hosts is on hosts")


def check_expectations():
    settings = Settings()

    def expected(fault, **more):
        return expectation_of(Trial("1", 0, fault=fault, ranks=2, **more), settings, PLAN)

    pauses = [expected("pause-short", seconds=seconds) for seconds in (4.0, 5.0, 7.0)]
    check([(one.goes_on, one.ends) for one in pauses] == [(True, False), (True, True), (False, True)],
          "a pause below the limit goes on, one above it ends, and near it both may be")
    check(expected("pause-long", seconds=20, transport="in-process").goes_on,
          "a process with all ranks goes on after any pause")
    check(expected("sleep", seconds=4).goes_on and not expected("sleep", seconds=12).goes_on,
          "only a sleep beyond the step timeout ends a run")
    check(expected("stop", rank=1).within == 16 and expected("kill", rank=1).within == 10,
          "silence may take 16 s, a death 10 s")
    batch = expected("batch", transport="in-process")
    check(batch.culprits == {0, 1}, "of several ranks that load data any may be the one that blocks")


def check_verdicts():
    texts = {
        "rank 3 died, last seen in 3F4": (3, "died"),
        "rank 12 failed in 1F2: no": (12, "failed"),
        "rank 0 has not been heard of for 5 s": (0, "has not been heard of"),
        "host h3 (ranks 12 to 15) has not been heard of for 5 s": ("h3", "has not been heard of"),
        "host h1 (rank 1) has not been heard of": ("h1", "has not been heard of"),
        "rank 2 was stopped by SIGINT": (2, "was stopped by SIGINT"),
        "stopped by SIGINT": (9, "was stopped by SIGINT"),
        "this rank is cut off from the other hosts": ("own host", "cut off from the other hosts"),
        "something else": None, "": None}
    for text, cause in texts.items():
        check(cause_of(text, 9) == cause, f"the cause of '{text}' is {cause}", cause_of(text, 9))
    trial = Trial("1", 0, fault="kill", ranks=3, rank=1)
    expected = expectation_of(trial, Settings(), PLAN)
    other = DIED.replace("rank 1", "rank 2")
    for outputs, wanted in (
            ({0: DIED, 1: "", 2: DIED}, None),
            ({0: DIED, 1: "", 2: ""}, "rank 2 names no cause"),
            ({0: DIED, 1: "", 2: other}, "several causes"),
            ({0: other, 1: "", 2: other}, "where rank 1 died"),
            ({0: "said: " + DIED, 1: "", 2: DIED}, "rank 0 names no cause")):
        found = "; ".join(check_causes(trial, expected, outputs))
        check(wanted in found if wanted else not found, f"causes: {wanted or 'all name the same'}", found)
    check(not check_codes(trial, expected, {0: 2, 1: -9, 2: 2}), "survivors end with 2")
    for code in (0, 1, 124, -6, -9):
        check(check_codes(trial, expected, {0: 2, 1: -9, 2: code}), f"a survivor does not end with {code}")
    check(ended_actions({0: DIED}) == {0: 14, 1: 12}, "ranks say how many actions have ended")
    on_hosts = Trial("1", 0, fault="cut-off", ranks=8, hosts=4, host=3)
    larger = "error: host h3 (ranks 6 and 7) has not been heard of for 8 s\n"
    smaller = "error: this host is cut off from the other hosts\n"
    sides = {rank: smaller if rank > 5 else larger for rank in range(8)}
    check(not check_cut(on_hosts, sides), "the two sides of a cut say which they are")
    for rank, text in ((0, smaller), (7, larger), (3, larger.replace("h3", "h2")), (6, DIED)):
        check(check_cut(on_hosts, {**sides, rank: text}), f"rank {rank} may not say '{text.strip()}'")
    check(ranks_in("0, 2 to 4 and 7") == {0, 2, 3, 4, 7}, "lists of ranks are read")
    note = "note: the job logs of ranks 0 and 1 are incomplete from step 37 on: No space left on device"
    check(first_lost(note) == {0: 37, 1: 37}, "notes of incomplete logs are read")


def check_gaps():
    step = ["lr", *ROWS[0]]
    whole = [(number, text) for number in range(3) for text in step]
    check(first_gap(whole, ROWS[0], 3) == "", "a whole log has no gap")
    check(first_gap(whole[:-2], ROWS[0], None) == "", "the last step may be cut off")
    check(first_gap([*whole, (3, "data")], ROWS[0], None) == "", "even before its lr")
    for text, jobs, steps in (("a cut-off end", whole[:-2], 3), ("a missing step", whole[:-5], 3),
                              ("a missing job", whole[:7] + whole[8:], None),
                              ("a doubled job", whole[:7] + whole[6:], None),
                              ("a missing lr", whole[:5] + whole[6:], None),
                              ("another order", [whole[0], whole[2], whole[1], *whole[3:]], None),
                              ("a step left out", whole[:5] + whole[10:], None), ("no jobs", [], None)):
        check(first_gap(jobs, ROWS[0], steps), f"{text} is found")


def check_made_up_runs(build):
    """Whole trials of made-up programs: each mistake is found, and none where there is none."""
    settings = Settings()
    plans = Plans(str(Path(build) / "bin" / "pipe-trace"))
    check(plans.schedules() == ["1F1B"], "schedules that train are listed", plans.schedules())
    plan = plans.find("1F1B", 2, 2)
    check(plan.rows == ROWS and plan.ranks_that_load() == [0, 1], "plans are read", plan.rows)
    kill = Trial("1", 0, fault="kill", ranks=2, micro_batches=2, schedule="1F1B", model="layers",
                 layers=2, width=8, rows=2, rank=1, steps=10)
    mistakes = {
        "": "", "name": "where rank 1 died", "cause": "where rank 1 died", "silent": "names no cause",
        "code": "ended with 1, not 2", "gap": "log of rank 0 is not whole",
        "short log": "the rank had ended 99", "torn log": "a line is torn", "dropped": "lacks 3 records",
        "process": "processes are left", "file": "files are left in tmp: left",
        "port": "port of the run is still taken", "ring": "has left its ring file",
        "never ends": "did not end within 1 s",
        "report": "a sanitizer reports in the output of 0: ==7==ERROR: AddressSanitizer: heap-use",
        "report in a file": "a sanitizer reports: ==7==ERROR: AddressSanitizer: heap-use",
        "undefined": "a.cpp:3:5: runtime error: signed integer overflow"}
    for wrong, wanted in mistakes.items():
        os.environ["MADE_UP"] = wrong
        outcome = run_trial(kill, plan, settings, build)
        found = "; ".join(outcome.complaints)
        check(wanted in found if wanted else not found,
              f"a run with the mistake '{wrong}' is refused" if wanted else "a good run passes", found)
        if not wanted:
            check(outcome.seconds is not None and outcome.seconds < 1, "the time to the end is measured")
    kill.fault, kill.variant = "closed-output", "reader"
    for wrong, wanted in (("", ""), ("losses", "losses differ from those of an undisturbed run from "
                                             "step 0 on")):
        os.environ["MADE_UP"] = wrong
        found = "; ".join(run_trial(kill, plan, settings, build).complaints)
        check(wanted in found if wanted else not found,
              "other bits are found" if wanted else "a run that goes on passes", found)


def check_report():
    trial = Trial("1", 0, fault="kill", ranks=4, schedule="1F1B", micro_batches=8, model="layers")
    line = line_of(trial, Outcome([], 0.25), 3, 20, 2)
    check(line == "3/20 ok 2 s  kill (rank 0): 4 ranks by environment, 1F1B, 8 micro-batches, layers, "
          "ended after 0.25 s", "a trial is a line", line)
    results = [(trial, Outcome([], 0.2)), (trial, Outcome([], 0.4)), (trial, Outcome(["bad"], 0.9)),
               (trial, Outcome([], skipped="no root"))]
    rows = table(results).splitlines()
    check(rows[2:] == ["| kill -9 | 3 | 2 | 0.40 s | 0.90 s |"], "the table has a row a fault", rows)


def check_builds(build):
    cache = Path(build) / "CMakeCache.txt"
    for text, wanted in (("PIPETRACE_SANITIZE:STRING=", False), ("PIPETRACE_SANITIZE:STRING=address", True)):
        cache.write_text(f"CMAKE_BUILD_TYPE:STRING=Debug\n{text}\nPIPETRACE_TESTS:BOOL=ON\n")
        check(is_sanitized(build) == wanted, f"a build with {text} {'has' if wanted else 'has no'} sanitizer")
    cache.unlink()
    check(not is_sanitized(build), "programs without a build folder have none")


def self_test():
    running.expectation_of = lambda *arguments: quick(expectation_of(*arguments))
    try:
        check_drawing()
        check_expectations()
        check_verdicts()
        check_gaps()
        check_report()
        with tempfile.TemporaryDirectory(prefix="made up ") as build:
            write_programs(build)
            check_builds(build)
            check_made_up_runs(build)
    except Failure as failure:
        print(f"FAILED: {failure}")
        return 1
    return 0


def quick(expected):
    expected.within = min(expected.within, 1)
    return expected
