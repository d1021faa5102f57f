"""Judges reports of pipe-trace on small real trainings, into each of which one fault is planted.

    real_trainings.py build/all/bin/pipe-trace                     some trainings
    real_trainings.py build/all/bin/pipe-trace --seeds 1-32        each program with each fault
    real_trainings.py --list --only megatron                       what would be trained
    real_trainings.py build/all/bin/pipe-trace --seeds 7 --keep /tmp/trainings

Four processes train over Gloo on 127.0.0.1 (train_over_gloo.py), in two pipeline positions of two
ranks: torch.distributed.pipelining with tensor parallelism or FSDP2, and Megatron-core with tensor
parallelism. Their layers sleep in place of computing, so two processors are enough. The traces are
those of torch.profiler, and `pipe-trace report` gets the folder and no option.

A report must
- of a slow rank: name that rank first, and no stage that is not longer by 2.5 % or more without
  the fault; nor may it advise to move layers else;
- of a slow stage: name that stage first;
- of a slow data loader: name the loader of that rank first;
- of a sound training: have no finding with a culprit, but for such a stage;
- be as docs/report.schema.json says, where Python has jsonschema.
Not counted are findings that cost less than 1 % or blame nobody (judge_reports.py). Nor do those
count that several ranks begin jobs or post messages late: they do, as they share processors.

A line for each seed says what is wrong, and whom findings after the first blame ("also"). Beside
the factor that a report tells stands the true one: how long the ranks slept and computed in their
jobs. It is below the planted one, as only the sleeps are longer. The last figure is how many
processors other programs used: where they leave too few, ranks are slow that nobody made slow.

The ranks need torch 2.11, and Megatron's also numpy and megatron-core 0.16.1. Where that is
missing, seeds of Megatron are left out. Exit codes: 0 all right; 1 a report is wrong; 2 a training
fails; 77 nothing can be trained.
"""

import argparse
import collections
import json
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from judge_reports import NOBODY, Named, culprits_of, error_in, said, seeds_in

HERE = os.path.dirname(os.path.abspath(__file__))
RANKS = 4
STEPS = 5  # recorded ones
LONGEST_S = 180
# Program, what the ranks of a position share, schedule, stages of a rank.
PROGRAMS = (
    ("torch", "tp", "1F1B", 1),
    ("torch", "fsdp", "1F1B", 1),
    ("megatron", "tp", "1F1B", 1),
    ("torch", "tp", "Interleaved1F1B", 2),
    ("torch", "fsdp", "Interleaved1F1B", 2),
    ("megatron", "tp", "Interleaved1F1B", 2),
    ("torch", "tp", "GPipe", 1),
    ("torch", "fsdp", "GPipe", 1),
)
# Megatron's last stage computes more than others. From here on reports say so (docs/metrics.md).
TRULY_LONGER = 1.025
# Findings about what all such runs have: ranks share processors, and Python runs between jobs.
SEVERAL_LATE = re.compile(
    r"ranks [\d, andto]+ (begin their jobs later than their inputs|post their messages later)"
)
FAULTS = ("slow_rank", "slow_stage", "slow_loader", "sound")


# What fails where something is missing.
NEEDS = {
    "torch": """
from importlib.metadata import version
has = version("torch")
if tuple(map(int, has.split(".")[:2])) < (2, 11):
    raise SystemExit("torch 2.11 is needed, and this is " + has)
""",
    "megatron": "import megatron.core.models.gpt.gpt_model",
}


class TrainingFailed(Exception):
    """A rank or the report of its traces went wrong."""


class Trial:
    """A training and its fault, as the seed draws them."""

    def __init__(self, seed):
        self.seed = seed
        draw = random.Random(seed)
        turn, at = divmod(seed - 1, len(PROGRAMS))
        program, inner, schedule, chunks = PROGRAMS[at]
        self.options = {
            "program": program,
            "inner": inner,
            "schedule": schedule,
            "chunks": chunks,
            "layers": 4,
            "layer_ms": round(draw.uniform(6, 12), 1),
            "micro_batches": draw.choice((4, 6, 8)),
            "steps": STEPS,
            "annotated": draw.random() < 0.3,
            "reshard": draw.random() < 0.5,
        }
        self.fault = self.options["fault"] = self.fault_of(FAULTS[(turn + at) % len(FAULTS)], draw)

    def fault_of(self, kind, draw):
        options = self.options
        factor = round(draw.uniform(1.25, 1.6), 2)
        if kind == "slow_rank":
            return {"kind": kind, "rank": draw.randrange(RANKS), "factor": factor}
        if kind == "slow_stage":
            stage = draw.randrange(2 * options["chunks"])
            return {"kind": kind, "stages": [stage], "factor": factor}
        if kind == "slow_loader":
            # 0.2 to 0.5 of what a rank computes in a step. Megatron loads for each micro-batch, on
            # one rank of each position.
            loads, loaders = 1, range(RANKS)
            if options["program"] == "megatron":
                loads, loaders = options["micro_batches"], range(0, RANKS, 2)
            work_ms = 3 * options["micro_batches"] * options["layers"] / 2 * options["layer_ms"]
            ms = round(draw.uniform(0.2, 0.5) * work_ms / loads, 1)
            return {"kind": kind, "rank": draw.choice(loaders), "ms": ms}
        return {"kind": kind}

    def line(self):
        options, fault = self.options, self.fault
        inner = {"tp": "TP 2", "fsdp": "FSDP 2"}[options["inner"]]
        if options["inner"] == "fsdp" and options["reshard"]:
            inner += " resharded"
        what = fault["kind"]
        if "rank" in fault:
            what += " %d" % fault["rank"]
        if "stages" in fault:
            what += " %d" % fault["stages"][0]
        if "factor" in fault:
            what += " x %.2f" % fault["factor"]
        if "ms" in fault:
            what += " %g ms" % fault["ms"]
        return "seed %-3d %s PP 2 %s %s%s, %d x %g ms, %s" % (
            self.seed,
            options["program"],
            inner,
            options["schedule"],
            " annotated" if options["annotated"] else "",
            options["micro_batches"],
            options["layer_ms"],
            what,
        )


def train(python, options, folder, script=os.path.join(HERE, "train_over_gloo.py")):
    command = [python, "-B", script, json.dumps(options), folder]
    path = os.path.join(folder, "training.log")
    with open(path, "w", encoding="utf-8") as log:
        ranks = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)
        try:
            status = ranks.wait(LONGEST_S)
        except subprocess.TimeoutExpired:
            status = "no end after %d s" % LONGEST_S
        finally:
            if ranks.poll() is None:
                os.killpg(ranks.pid, signal.SIGKILL)
                ranks.wait()
    if status != 0:
        with open(path, encoding="utf-8") as file:
            last = "".join(file.readlines()[-20:])
        raise TrainingFailed("the training fails (%s):\n%s" % (status, last))


def report_of(program, folder):
    command = [program, "report", os.path.join(folder, "traces"), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    with open(os.path.join(folder, "report.json"), "w", encoding="utf-8") as file:
        file.write(done.stdout)
    if done.returncode != 0:
        raise TrainingFailed("%s\n%s" % (" ".join(command), done.stderr))
    return json.loads(done.stdout)


def blaming(report):
    """The findings that blame somebody, in their order."""
    all_vary = "jobs of ranks 0 to %d now and then" % (RANKS - 1)
    return [
        finding
        for finding in report["findings"]
        if not finding["minor"]
        and not finding["text"].startswith((*NOBODY, all_vary))
        and not SEVERAL_LATE.match(finding["text"])
        and (finding["severity"] != "note" or "culprit" in finding["evidence"])
    ]


def own_times(folder):
    """What each rank computed itself, in seconds by stage."""
    own = []
    for rank in range(RANKS):
        with open(os.path.join(folder, "own%d.json" % rank), encoding="utf-8") as file:
            own.append({int(stage): seconds for stage, seconds in json.load(file).items()})
    return own


def stage_factors(own):
    """How many times as long the faster rank of each stage takes as that of the others (lower
    median)."""
    times = collections.defaultdict(list)
    for rank in own:
        for stage, seconds in rank.items():
            times[stage].append(seconds)
    fastest = {stage: min(seconds) for stage, seconds in times.items()}
    factors = {}
    for stage, seconds in fastest.items():
        others = sorted(time for other, time in fastest.items() if other != stage)
        factors[stage] = seconds / others[(len(others) - 1) // 2]
    return factors


def true_factor(fault, own):
    """That of the slow rank beside its peer, or that of the slow stage."""
    if fault["kind"] == "slow_rank":
        return sum(own[fault["rank"]].values()) / sum(own[fault["rank"] ^ 1].values())
    return stage_factors(own)[fault["stages"][0]]


def judge(trial, report, own):
    """What is wrong about a report, the factor that it tells, and whom else it blames."""
    error = error_in(report)
    wrong = ["is not as the schema says: " + error] if error else []
    longer = {stage for stage, factor in stage_factors(own).items() if factor >= TRULY_LONGER}
    named = []
    for finding in blaming(report):
        each = Named(finding)
        each.advice = finding["advice"]
        is_true = each.whom[0] == "stages" and each.whom[1] <= longer
        if trial.fault["kind"] == "slow_stage" or not is_true:
            named.append(each)
    expected = next(iter(culprits_of({"fault": trial.fault, "mean_step_ns": 0})), None)
    if expected is None:
        return wrong + ["blames somebody: " + each.text for each in named], None, []
    if not named:
        return wrong + ["does not name %s" % said(expected)], None, []
    first = named[0]
    if first.whom != expected:
        wrong.append("does not name %s first, but: %s" % (said(expected), first.text))
    if expected[0] == "rank":
        for each in named:
            if each.whom[0] == "stages":
                wrong.append("names a stage: " + each.text)
            elif "layer" in each.advice:
                wrong.append("advises to move layers: " + each.advice)
    has_factor = first.whom == expected and "factor" in trial.fault
    said_before = "; ".join(wrong)
    others = [
        each.text.partition(":")[0]
        for each in named[1:]
        if each.whom != expected and each.text not in said_before
    ]
    return wrong, first.factor() if has_factor else None, others


def processor_seconds():
    """What all programs used, and what this one and those that it waited for used. None: nobody
    knows."""
    try:
        with open("/proc/stat", encoding="utf-8") as file:
            user, nice, system, _, _, interrupts, soft = map(int, file.readline().split()[1:8])
    except OSError:
        return None
    every = (user + nice + system + interrupts + soft) / os.sysconf("SC_CLK_TCK")
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return every - sum(each.ru_utime + each.ru_stime for each in used)


def try_one(given, trial, root):
    """Trains, and prints what the report is like. Returns whether it is right."""
    folder = os.path.join(root, "seed-%d" % trial.seed)
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    with open(os.path.join(folder, "options.json"), "w", encoding="utf-8") as file:
        json.dump(trial.options, file, indent=1)
    begin, used = time.monotonic(), processor_seconds()
    train(given.python, trial.options, folder)
    if used is not None:
        used = (processor_seconds() - used) / (time.monotonic() - begin)
    own = own_times(folder)
    wrong, told, others = judge(trial, report_of(given.program, folder), own)
    text = "%-5s %s" % ("WRONG" if wrong else "right", trial.line())
    if "factor" in trial.fault:
        told = "none" if told is None else "%.2f" % told
        text += "; told %s, true %.2f" % (told, true_factor(trial.fault, own))
    if used is not None:
        text += "; others used %.1f processors" % max(used, 0)
    print("; ".join([text, *wrong, *("also: " + other for other in others)]), flush=True)
    if not given.keep:
        shutil.rmtree(folder)
    return not wrong


def missing_for(program, python):
    """Why this Python cannot train with torch, or with Megatron; empty: it can."""
    command = [python, "-B", "-c", NEEDS[program]]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as error:
        return str(error)
    return done.stderr.strip().split("\n")[-1] if done.returncode else ""


def main():
    text, _, more = __doc__.partition("\n\n")
    parser = argparse.ArgumentParser(
        description=text, epilog=more, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("program", nargs="?", help="the path of pipe-trace")
    parser.add_argument(
        "--seeds", type=seeds_in, default="1-16", help="such as 1-4,9 (default: %(default)s)"
    )
    parser.add_argument(
        "--only", metavar="WORD", help="seeds whose line of --list has this, such as slow_stage"
    )
    parser.add_argument("--list", action="store_true", help="lists the trainings of the seeds")
    parser.add_argument(
        "--python", default=sys.executable, help="has torch (default: the one that runs this)"
    )
    parser.add_argument("--keep", metavar="DIR", help="keeps traces and reports in this folder")
    given = parser.parse_args()

    trials = [Trial(seed) for seed in given.seeds]
    trials = [trial for trial in trials if (given.only or "") in trial.line()]
    if not trials:
        parser.error("no seed has this in its line")
    if given.list:
        print("\n".join(trial.line() for trial in trials))
        return 0
    if given.program is None:
        parser.error("the path of pipe-trace is missing")
    reason = missing_for("torch", given.python)
    if reason:
        print("skipped: %s cannot train with torch: %s" % (given.python, reason))
        return 77
    others = [trial for trial in trials if trial.options["program"] != "megatron"]
    reason = missing_for("megatron", given.python) if len(others) < len(trials) else ""
    if reason:
        seeds = ", ".join(str(trial.seed) for trial in trials if trial not in others)
        print("left out, as there is no Megatron (%s): seeds %s" % (reason, seeds))
        trials = others
        if not trials:
            return 77

    counts = collections.defaultdict(lambda: [0, 0])  # by kind: right, all
    with tempfile.TemporaryDirectory() as temporary:
        try:
            for trial in trials:
                right = try_one(given, trial, os.path.abspath(given.keep or temporary))
                counts[trial.fault["kind"]][0] += 1 if right else 0
                counts[trial.fault["kind"]][1] += 1
        except TrainingFailed as error:
            print("%s\n%s" % (trial.line(), error), file=sys.stderr)
            return 2
    for kind, (right, count) in sorted(counts.items()):
        print("%-11s %d of %d right" % (kind, right, count))
    return 1 if any(right < count for right, count in counts.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
