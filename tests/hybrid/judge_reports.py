"""Judges reports of pipe-trace on simulated hybrid runs (hybrid_runs.py), of which all is known.

    judge_reports.py build/core/bin/pipe-trace                     some runs
    judge_reports.py build/core/bin/pipe-trace --seeds 1-200       many
    judge_reports.py build/core/bin/pipe-trace --seeds 7 --keep /tmp/runs
    judge_reports.py build/core/bin/pipe-trace --random-rings --seeds 1-50

Each seed is a random run with at most one fault. Its report must
- have findings about the fault alone, and no culprit where ranks take turns at being slow. Not
  counted are findings that blame nobody, as those about transfers on links that are all alike,
  pauses, optimizers, the schedule's own idle time, and jobs of all ranks that vary; where clocks
  of hosts differ, also those about early messages;
- have such a finding if the fault costs 2 % of the step or more (--effect);
- divide the jobs of each rank into own, waiting, moving and launch-bound time as the truth does,
  within 1 % of the jobs (--tolerance), but for runs with --fsdp-overlap;
- be as docs/report.schema.json says, where Python has jsonschema.

A line for each seed says what is wrong. The exit code is 1 where anything is.
"""

import argparse
import collections
import concurrent.futures
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

try:
    import jsonschema
except ImportError:
    jsonschema = None

HERE = os.path.dirname(os.path.abspath(__file__))
PARTS = ("own", "waiting", "moving", "launch")
KEYS = {
    "own": "own_ns",
    "waiting": "wait_inside_ns",
    "moving": "move_inside_ns",
    "launch": "launch_bound_ns",
}
TURNS = "ranks that share stages take turns"
# How findings begin that blame nobody.
NOBODY = (
    "of the idle time ",  # the schedule, optimizers
    "the run stands still",
    "training pauses",
    "ranks wait while messages are on their way, ",
    TURNS,
    "stages do as much work, but collectives",
    "gathers and scatters of weights",
    "gathers of weights",
    "scatters of weights",
    "kernels of jobs take",
)
EARLY = "arrive before they are sent"


def numbers_of(text):
    """ "0, 2 and 5 to 7" as a set."""
    numbers = set()
    for part in re.split(r", | and ", text):
        ends = [int(number) for number in part.split(" to ")]
        numbers.update(range(ends[0], ends[-1] + 1))
    return numbers


SCHEMA = os.path.join(HERE, "..", "..", "docs", "report.schema.json")

NUMBERS = r"(\d+(?:(?:, | and | to )\d+)*)"


class Named:
    """Who a finding blames: `whom` is of ("rank", …), ("stages", …), ("group", …), ("loader", …),
    ("load",) and ("other", its text)."""

    def __init__(self, finding):
        self.text = finding["text"]
        self.evidence = finding["evidence"]
        self.whom = self.find()

    def find(self):
        if "load" in self.evidence:
            return ("load",)
        if "group" in self.evidence:
            return ("group", frozenset(self.evidence["group"]["ranks"]))
        found = re.match(r"rank (\d+)'s data loader", self.text)
        if found:
            return ("loader", int(found[1]))
        found = re.match(r"rank (\d+) takes [\d.]+ times as long as the other ranks", self.text)
        if found:
            return ("rank", int(found[1]))
        found = re.match(r"stages? %s( \(ranks? .*?\))? takes? [\d.]+ times" % NUMBERS, self.text)
        if found:
            return ("stages", frozenset(numbers_of(found[1])))
        return ("other", self.text)

    def factor(self):
        found = re.search(r"takes? ([\d.]+) times", self.text)
        return self.evidence.get("factor") or float(found[1])


def gain(truth, repaired):
    """How much longer the step is than without the fault, as a share."""
    mean = truth.get("mean_%s_step_ns" % repaired)
    return truth["mean_step_ns"] / mean - 1 if mean else 0.0


def culprits_of(truth):
    """Whom findings may name, each with what its repair alone brings, as a share of the step."""
    fault = truth["fault"]
    kind = fault["kind"]
    if kind == "slow_rank":
        return {("rank", fault["rank"]): gain(truth, "repaired")}
    if kind == "slow_stage":
        return {("stages", frozenset(fault["stages"])): gain(truth, "repaired")}
    if kind == "both":
        return {
            ("rank", fault["rank"]): gain(truth, "repaired_rank_only"),
            ("stages", frozenset(fault["stages"])): gain(truth, "repaired_stage_only"),
        }
    if kind == "experts":
        return {("load",): gain(truth, "repaired")}
    if kind == "slow_group":
        return {("group", frozenset(fault["group_ranks"])): gain(truth, "repaired")}
    if kind == "slow_loader":
        return {("loader", fault["rank"]): gain(truth, "repaired")}
    return {}


class Judged:
    """What is right and wrong about the report of one seed."""

    def __init__(self, seed, truth, most_off=None):
        self.seed = seed
        self.most_off = most_off
        self.truth = truth
        self.kind = truth["fault"]["kind"]
        self.wrong = []
        self.figures = []
        self.has_parts = False

    def findings(self, report, least):
        has_clocks = self.truth["options"]["clock_ms"] > 0
        all_vary = "jobs of ranks 0 to %d now and then" % (self.truth["world_size"] - 1)
        named = [
            Named(finding)
            for finding in report["findings"]
            if not finding["minor"]
            and not finding["text"].startswith((*NOBODY, all_vary))
            and not (has_clocks and EARLY in finding["text"])
            and (finding["severity"] != "note" or "culprit" in finding["evidence"])
        ]
        for finding in report["findings"]:
            if finding["text"].startswith(TURNS) and "culprit" in finding["evidence"]:
                self.wrong.append("has a culprit where nobody is slow: " + finding["text"])
        culprits = culprits_of(self.truth)
        for each in named:
            if each.whom not in culprits:
                self.wrong.append("names another: " + each.text)
        found = {each.whom for each in named}
        for whom, share in culprits.items():
            if whom not in found and share >= least:
                self.wrong.append(
                    "does not name %s, %.1f %% of the step" % (said(whom), 100 * share)
                )
        for each in named:
            self.compare(each, report)

    def compare(self, named, report):
        """Figures beside those of the truth, to look at."""
        fault = self.truth["fault"]
        known = {
            "rank": fault.get("rank_factor_by_own"),
            "stages": fault.get("stage_factor_by_own"),
        }.get(named.whom[0])
        if known:
            self.figures.append("factor %.3f of %.3f" % (named.factor(), known))
        predicted = named.evidence.get("predicted_mean_step_ns")
        repaired = "repaired"
        if self.kind == "both" and named.whom[0] in ("rank", "stages"):
            repaired = "repaired_%s_only" % named.whom[0].rstrip("s")
        mean = self.truth.get("mean_%s_step_ns" % repaired)
        if predicted and mean:
            if report.get("advice", {}).get("step_wall_ns"):
                mean += round(1e6 * self.truth["options"]["step_gap_ms"])
            off = predicted / mean - 1
            self.figures.append("predicted step %+.2f %%" % (100 * off))
            if self.most_off is not None and named.whom in culprits_of(self.truth):
                if abs(off) > self.most_off:
                    self.wrong.append("predicts a step that is %.2f %% off" % (100 * off))

    def parts(self, report, tolerance):
        """The four parts of the jobs of each rank."""
        inside = {rank["rank"]: rank for rank in report.get("inside_jobs", [])}
        worst = (0.0, "")
        for rank in self.truth["ranks"]:
            sums = {part: sum(step[part] for step in rank["steps"]) for part in PARTS}
            jobs = sum(step["jobs"] for step in rank["steps"])
            if not inside and sums["waiting"] + sums["moving"] > 0:
                self.wrong.append("says nothing of what happens inside jobs")
                return
            for part in PARTS if inside else ():
                off = abs(inside[rank["rank"]][KEYS[part]] - sums[part]) / jobs
                worst = max(worst, (off, "%s of rank %d" % (part, rank["rank"])))
        self.has_parts = bool(inside)
        if worst[0] > tolerance:
            self.wrong.append("%s is wrong by %.2f %% of its jobs" % (worst[1], 100 * worst[0]))

    def line(self):
        options = self.truth["options"]
        return "%-5s seed %-4d %-11s %s, %s%s" % (
            "WRONG" if self.wrong else "right",
            self.seed,
            self.kind,
            "PP %(pp)d TP %(tp)d CP %(cp)d DP %(dp)d %(schedule)s" % options + rings_of(options),
            "effect %.1f %%" % (100 * gain(self.truth, "repaired")),
            "".join("; " + text for text in self.figures + self.wrong),
        )


def rings_of(options):
    if options.get("cp_comm", "gather") == "gather":
        return ""
    return " %(cp_comm)s, %(cp_written)s" % options


def said(whom):
    return " ".join(
        str(part) if not isinstance(part, frozenset) else str(sorted(part)) for part in whom
    )


def report_of(given, folder, truth, *more):
    clocks = ["--align", "causal"] if truth["options"]["clock_ms"] > 0 else []
    command = [given.program, "report", folder, "--json", "--threads", "1", *clocks, *more]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError("%s\n%s" % (" ".join(command), done.stderr))
    return json.loads(done.stdout)


def error_in(report):
    """Where a report is not as its schema says; empty: it is, or nobody can tell."""
    if jsonschema is None:
        return ""
    with open(SCHEMA, encoding="utf-8") as file:
        validator = jsonschema.Draft202012Validator(json.load(file))
    for error in validator.iter_errors(report):
        return "/".join(map(str, error.absolute_path)) + ": " + error.message
    return ""


def judge(given, seed, root):
    """Makes the run of a seed and judges its report. None: it has too many ranks."""
    script = [sys.executable, os.path.join(HERE, "hybrid_runs.py"), "--seed", str(seed)]
    script.append("--random-rings" if given.random_rings else "--random")
    if given.fault:
        script += ["--fault", given.fault]
    drawn = subprocess.run([*script, "--list-options"], capture_output=True, text=True, check=True)
    if json.loads(drawn.stdout)["world_size"] > given.most_ranks:
        return None
    folder = os.path.join(root, "seed-%d" % seed)
    shutil.rmtree(folder, ignore_errors=True)
    subprocess.run([*script, "--out", folder], capture_output=True, text=True, check=True)
    beside = folder + ".truth.json"  # the program reads all files of the folder
    os.replace(os.path.join(folder, "truth.json"), beside)
    with open(beside, encoding="utf-8") as file:
        truth = json.load(file)
    judged = Judged(seed, truth, given.most_off)
    try:
        report = report_of(given, folder, truth)
        error = error_in(report)
        if error:
            judged.wrong.append("is not as the schema says: " + error)
        judged.findings(report, given.effect)
        if not truth["options"]["fsdp_overlap"]:
            steps = len(truth["step_ns"])
            if any(rank["steps"] != steps for rank in report.get("inside_jobs", [])):
                report = report_of(given, folder, truth, "--steps", "0:")
            judged.parts(report, given.tolerance)
    except RuntimeError as error:
        judged.wrong.append("fails: %s" % error)
    if not given.keep:
        shutil.rmtree(folder)
        os.remove(beside)
    return judged


def seeds_in(text):
    """ "1-4,9" as a list."""
    seeds = []
    for part in text.split(","):
        first, _, last = part.partition("-")
        seeds += range(int(first), int(last or first) + 1)
    return seeds


def main():
    text, _, more = __doc__.partition("\n\n")
    parser = argparse.ArgumentParser(
        description=text, epilog=more, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("program", help="the path of pipe-trace")
    parser.add_argument(
        "--seeds", type=seeds_in, default="1-16", help="such as 1-4,9 (default: %(default)s)"
    )
    parser.add_argument("--fault", help="all runs have this one (hybrid_runs.py --help)")
    parser.add_argument(
        "--random-rings",
        action="store_true",
        help="all runs have rings of 3 or 4 ranks (hybrid_runs.py --help)",
    )
    parser.add_argument(
        "--most-ranks", type=int, default=64, help="leaves out runs with more (default: %(default)s)"
    )
    parser.add_argument(
        "--effect", type=float, default=0.02, help="that needs a finding (default: %(default)s)"
    )
    parser.add_argument(
        "--tolerance", type=float, default=0.01, help="of the parts (default: %(default)s)"
    )
    parser.add_argument(
        "--most-off",
        type=float,
        help="by how much, as a share, the predicted step may be off (default: any)",
    )
    parser.add_argument("--jobs", type=int, default=1, help="runs at a time (default: %(default)s)")
    parser.add_argument("--keep", metavar="DIR", help="keeps the runs in this folder")
    given = parser.parse_args()

    counts = collections.defaultdict(lambda: [0, 0])  # by kind: right, all
    parts = wrong = 0
    with tempfile.TemporaryDirectory() as temporary:
        root = given.keep or temporary
        os.makedirs(root, exist_ok=True)
        with concurrent.futures.ThreadPoolExecutor(given.jobs) as pool:
            for judged in pool.map(lambda seed: judge(given, seed, root), given.seeds):
                if judged is None:
                    continue
                print(judged.line(), flush=True)
                counts[judged.kind][0] += 0 if judged.wrong else 1
                counts[judged.kind][1] += 1
                parts += 1 if judged.has_parts else 0
                wrong += 1 if judged.wrong else 0
    for kind, (right, count) in sorted(counts.items()):
        print("%-11s %d of %d right" % (kind, right, count))
    print(
        "%d runs, %d wrong; parts of jobs compared in %d"
        % (sum(count for _, count in counts.values()), wrong, parts)
    )
    return 1 if wrong or not counts else 0


if __name__ == "__main__":
    sys.exit(main())
