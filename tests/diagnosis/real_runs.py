"""How right is a tool about real runs? Trainings on this machine, with faults, and the score.

    real_runs.py PIPE_TRACE --python PYTHON                     60 runs, below 20 minutes
    real_runs.py PIPE_TRACE --seeds 1-6 --keep FOLDER -o FILE   some; keeps recordings
    real_runs.py PIPE_TRACE --judge-only FOLDER -o FILE         judges kept recordings again
    real_runs.py --list                                         what would be run

Everything about a run comes from its seed. Three programs take turns:

- rehearsals of this project's runtime (pipe-run rehearse), whose devices are emulated: a job waits
  until its time is over. 2 to 16 ranks; job logs
- torch.distributed.pipelining over Gloo, 4 ranks: PP 2 x TP 2, PP 2 x FSDP 2, PP 4, under 1F1B,
  GPipe and Interleaved1F1B; traces of torch.profiler, with jobs annotated or not
- Megatron-core over Gloo, 4 ranks: PP 2 x TP 2 and PP 4, with one and two stages a rank

Layers sleep in place of computing, so that two processors are enough (train_with_fault.py).

The truth (README.md) is what the programs measure of themselves: how long they slept, computed,
loaded and stood still. Each runs without its fault, too: what the fault costs is the difference of
the mean steps, or for checkpoints how long the ranks stood still. Rehearsals run twice; trainings
begin with as many steps without the fault, which are not in the trace. No tool has a part in that.
What a training's fault costs is known to `cost_error_ns` only, the standard error of that
difference.

Runs are discarded if the machine was disturbed, as what they measured themselves says. These limits
were fixed before any run was judged:

- a rehearsal: a step is off the planned one by more than 1 %, or more than 2 % of the jobs began
  more than 0.2 ms late
- a training: its sound steps differ by more than 10 % of their median; or the sleeps of a rank
  took 3 % longer than they should; or a rank without a fault computed 5 % longer or shorter in the
  steps with the fault than before
- a training without a fault, or of another fault than a slow rank or stage: a stage or a rank
  computed 2.5 % longer than others all the same

Not counted are findings that more than one rank begins jobs or posts messages late (`passed_over`
in the answer): with four ranks on a few processors, and Python between jobs, they do. What counts
is printed with them as well.

A line a run says what is wrong. The last figures are how many faults were named first, and how many
sound runs have a finding that names somebody. FILE gets lines as of tools/diagnosis.py, whose
--tables reads them. Recordings that --keep's folder has are not made again.

Trainings need torch 2.11, and Megatron's also megatron-core 0.16.1, numpy, packaging, einops and
pyyaml. Where that is missing, their seeds are left out. Exit codes: 0 done; 1 below --fail-below;
2 a run failed; 77 nothing can be run.
"""

import argparse
import collections
import importlib
import json
import math
import os
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.path.insert(1, os.path.join(HERE, "..", "hybrid"))

import cases  # noqa: E402
import plans  # noqa: E402
import real_trainings  # noqa: E402
import score  # noqa: E402
import score_tables  # noqa: E402
from adapters import job_times  # noqa: E402
from judge_reports import seeds_in  # noqa: E402

SCRIPT = os.path.join(HERE, "train_with_fault.py")
PROGRAMS = ("runtime", "torch", "megatron")
WORLD = 4  # ranks of a training
STEPS = 6
MOST_OFF_PLAN = 0.01
MOST_LATE = 0.02  # of a rehearsal's jobs
MOST_SPREAD = 0.10  # of sound steps
MOST_OVERSLEPT = 0.03
MOST_CHANGE = 0.05  # of what a rank without a fault computes
SLOW = ("slow_rank", "slow_stage")
# Findings about what all trainings of ranks that share processors have, if of several ranks.
LATE = ("late_starts", "late_sends")

# What is planted, turn by turn. data_stall: of one rank; data_stalls: of all that load.
FAULTS = {
    "runtime": (
        "slow_stage", "slow_link", "none", "slow_rank", "late_starts",
        "slow_rank", "garbage_collection", "slow_link", "slow_stage", "none",
        "uneven_micro_batches", "slow_link", "slow_rank", "none", "late_starts",
        "slow_stage", "slow_rank", "garbage_collection", "none", "slow_link",
    ),
    "torch": (
        "slow_rank", "data_stall", "slow_stage", "none", "garbage_collection",
        "slow_stage", "slow_rank", "data_stalls", "checkpoint_pauses", "data_stall",
        "none", "slow_rank", "slow_stage", "garbage_collection", "data_stall",
        "slow_rank", "checkpoint_pauses", "none", "slow_stage", "data_stalls",
    ),
}  # fmt: skip
FAULTS["megatron"] = FAULTS["torch"][3:] + FAULTS["torch"][:3]
# What the ranks of a position share, positions, schedule, stages of a rank.
LAYOUTS = {
    "torch": (
        ("tp", 2, "1F1B", 1),
        ("none", 4, "1F1B", 1),
        ("fsdp", 2, "1F1B", 1),
        ("tp", 2, "Interleaved1F1B", 2),
        ("none", 4, "GPipe", 1),
        ("fsdp", 2, "Interleaved1F1B", 2),
        ("tp", 2, "GPipe", 1),
        ("none", 4, "Interleaved1F1B", 2),
        ("fsdp", 2, "GPipe", 1),
    ),
    "megatron": (
        ("tp", 2, "1F1B", 1),
        ("none", 4, "1F1B", 1),
        ("tp", 2, "Interleaved1F1B", 2),
    ),
}


class Run:
    """What the seed draws: `program`, `case` and `fault` are plain values."""

    def __init__(self, seed):
        self.seed = seed
        turn, at = divmod(seed - 1, len(PROGRAMS))
        self.program = PROGRAMS[at]
        self.draw = random.Random("real %d" % seed)
        self.kind = FAULTS[self.program][turn % len(FAULTS[self.program])]
        if self.program == "runtime":
            self.draw_rehearsal()
        else:
            self.draw_training(LAYOUTS[self.program][turn % len(LAYOUTS[self.program])])

    def blank(self, kind, **more):
        """A fault that names nobody yet."""
        empty = {"ranks": [], "stages": [], "link": None, "steps": None, "factor": None}
        return {"kind": kind} | empty | more

    def ranks_of_stage(self, stage):
        position = stage % self.case["positions"]
        if self.program == "runtime":  # replica after replica
            return list(range(position, self.case["world"], self.case["positions"]))
        width = self.case["world"] // self.case["positions"]
        return list(range(width * position, width * (position + 1)))

    def draw_slow(self, kind, least, most):
        stages = range(self.case["positions"] * self.case["chunks"])
        factor = round(self.draw.uniform(least, most), 2)
        if kind == "slow_rank":
            return self.blank(kind, ranks=[self.draw.randrange(self.case["world"])], factor=factor)
        stage = self.draw.choice(stages)
        return self.blank(kind, stages=[stage], ranks=self.ranks_of_stage(stage), factor=factor)

    # Trainings ---------------------------------------------------------------------------------

    def draw_training(self, layout):
        draw, (inner, positions, schedule, chunks) = self.draw, layout
        stages = positions * chunks
        annotated = draw.random() < 0.5
        self.case = {
            "seed": self.seed,
            "program": self.program,
            "format": "torch_cpu" if annotated else "torch_cpu_bare",
            "world": WORLD,
            "positions": positions,
            "replicas": WORLD // positions if inner == "fsdp" else 1,
            "tensor_ranks": WORLD // positions if inner == "tp" else 1,
            "schedule": schedule,
            "chunks": chunks,
            "micro_batches": draw.choice((4, 8) if schedule.startswith("Inter") else (4, 6, 8)),
            "steps": STEPS,
            "records_loading": True,
            "records_checkpoints": annotated,
        }
        self.options = {
            "program": self.program,
            "inner": inner,
            "positions": positions,
            "schedule": schedule,
            "chunks": chunks,
            "layers": stages if stages > 2 else 2 * stages,
            "layer_ms": round(draw.uniform(12, 20) * (1 if stages < 8 else 0.7), 1),
            "micro_batches": self.case["micro_batches"],
            "steps": STEPS,
            "annotated": annotated,
            "reshard": draw.random() < 0.5,
        }
        self.fault = self.options["fault"] = self.training_fault()

    def loads(self):
        """The ranks that load, and how often in a step each of them does."""
        if self.program == "torch":
            return list(range(WORLD)), 1
        width = WORLD // self.case["positions"]
        return [0, WORLD - width], self.case["micro_batches"]

    def training_fault(self):
        draw, options, kind = self.draw, self.options, self.kind
        layers = options["layers"] / options["positions"]
        forward_ms = layers / options["chunks"] * options["layer_ms"]  # of a job
        work_ms = 3 * options["micro_batches"] * layers * options["layer_ms"]  # of a step
        if kind in SLOW:
            return self.draw_slow(kind, 1.2, 1.6)
        if kind.startswith("data_stall"):
            loaders, often = self.loads()
            ranks = loaders if kind == "data_stalls" else [draw.choice(loaders)]
            ms = round(draw.uniform(0.2, 0.5) * work_ms / often, 1)
            return self.blank("data_stall", ranks=ranks, loaders=ranks, ms=ms)
        if kind == "garbage_collection":
            jobs = 2 * options["micro_batches"] * options["chunks"]
            places = {}
            for rank in range(WORLD):
                often = round(STEPS * draw.uniform(0.25, 0.6))
                steps = sorted(draw.sample(range(STEPS), often))
                places[str(rank)] = [[step, draw.randrange(jobs)] for step in steps]
            ms = round(forward_ms * draw.uniform(3, 10), 1)
            return self.blank(kind, ranks=list(range(WORLD)), places=places, ms=ms)
        if kind == "checkpoint_pauses":
            every = draw.choice((2, 3))
            saves = list(range(every - 1, STEPS - 1, every))
            ms = round(work_ms * draw.uniform(0.4, 1.5), 1)
            return self.blank(kind, ranks=list(range(WORLD)), saves=saves, ms=ms)
        return self.blank("none")

    # Rehearsals --------------------------------------------------------------------------------

    def draw_rehearsal(self):
        draw = self.draw
        schedule = draw.choices(("1F1B", "Interleaved1F1B", "GPipe", "ZBH1"), (40, 25, 15, 20))[0]
        positions = draw.choices((2, 3, 4, 6, 8), (15, 15, 40, 15, 15))[0]
        if self.kind == "slow_link":
            positions = max(3, positions)
        replicas = draw.choices((1, 2), (75, 25))[0]
        chunks = 2 if schedule == "Interleaved1F1B" else 1
        micro_batches = round(positions * draw.choice((1.5, 2, 3)))
        if chunks > 1:
            micro_batches = positions * draw.choice((1, 2))
        micro_batches = max(4, micro_batches)
        jobs = (micro_batches + positions) * chunks
        forward_ms = round(min(draw.uniform(4, 20), 500 / (3 * jobs)), 2)
        self.case = {
            "seed": self.seed,
            "program": self.program,
            "format": "job_log",
            "world": positions * replicas,
            "positions": positions,
            "replicas": replicas,
            "schedule": schedule,
            "chunks": chunks,
            "micro_batches": micro_batches,
            "steps": STEPS,
            "jitter": round(draw.choice((0.0, draw.uniform(0.002, 0.03))), 4),
            "forward_ms": forward_ms,
            "backward_ms": round(forward_ms * draw.uniform(1.6, 2.4), 2),
            "message_ms": round(forward_ms * draw.uniform(0.01, 0.06), 3),
            "optimizer_ms": round(forward_ms * draw.uniform(0.1, 1.0), 2),
            "reduce_ms": round(forward_ms * draw.uniform(0.1, 1.5), 2),
            "records_loading": True,
            "records_checkpoints": True,
        }
        self.planted = []  # options of the run with the fault
        self.fault = self.rehearsal_fault()

    def actions(self, rank):
        """The jobs of a rank in a step, as (stage, letter, micro-batch of the replica, name)."""
        case = self.case
        replica, position = divmod(rank, case["positions"])
        first = replica * case["micro_batches"]
        order = plans.order(
            case["schedule"], case["positions"], position, case["micro_batches"], case["chunks"]
        )
        return [
            (stage, letter, number, "%d%s%d" % (stage, letter, first + number))
            for letter, stage, number in order
        ]

    def length_ms(self, letter):
        if letter == "F":
            return self.case["forward_ms"]
        return self.case["backward_ms"] * (1 if letter == "B" else 0.5)

    def plant(self, option, action, ms, step=None):
        at = action if step is None else "%s@%d" % (action, step)
        self.planted += [option, "%s=%.6fms" % (at, ms)]

    def rehearsal_fault(self):
        draw, case, kind = self.draw, self.case, self.kind
        world = range(case["world"])
        if kind in SLOW:
            fault = self.draw_slow(kind, 1.05, 1.6)
            if kind == "slow_stage":
                self.planted += ["--scale", "stage=%d:%g" % (fault["stages"][0], fault["factor"])]
            elif draw.random() < 0.6:
                self.planted += ["--scale", "rank=%d:%g" % (fault["ranks"][0], fault["factor"])]
            else:
                fault["steps"] = draw.choice(([3, 4, 5], sorted(draw.sample(range(1, STEPS), 2))))
                for _, letter, _, action in self.actions(fault["ranks"][0]):
                    for step in fault["steps"]:
                        ms = (fault["factor"] - 1) * self.length_ms(letter)
                        self.plant("--delay", action, ms, step)
            return fault
        if kind == "slow_link":
            p = case["positions"]
            ends = [(a, a + 1) for a in range(p - 1)] + ([(0, p - 1)] if case["chunks"] > 1 else [])
            first = p * draw.randrange(case["replicas"])
            link = [first + end for end in draw.choice(ends)]
            more = case["forward_ms"] * cases.even_log(draw, 0.2, 2)
            factor = round(1 + more / case["message_ms"], 2)
            self.planted += ["--scale", "link=%d-%d:%g" % (*link, factor)]
            return self.blank(kind, link=link, factor=factor, both_ways=True)
        if kind == "late_starts":
            fault = self.blank(kind, ranks=[draw.choice(world)])
            ms = case["forward_ms"] * cases.even_log(draw, 0.1, 0.6)
            for *_, action in self.actions(fault["ranks"][0]):
                self.plant("--launch", action, ms)
            return fault
        if kind == "garbage_collection":
            ms = case["forward_ms"] * cases.even_log(draw, 2, 10)
            for rank in world:
                often = round(STEPS * draw.uniform(0.25, 0.6))
                for step in sorted(draw.sample(range(STEPS), often)):
                    self.plant("--launch", draw.choice(self.actions(rank))[3], ms, step)
            return self.blank(kind, ranks=list(world))
        if kind == "uneven_micro_batches":
            spread = cases.even_log(draw, 0.15, 0.5)
            counts = range(case["micro_batches"])
            drawn = [[math.exp(draw.gauss(0, spread)) for _ in counts] for _ in range(STEPS)]
            drawn = [[each * len(row) / sum(row) for each in row] for row in drawn]
            self.shortest = min(map(min, drawn))
            for rank in world:
                for _, letter, number, action in self.actions(rank):
                    for step, row in enumerate(drawn):
                        ms = (row[number] - self.shortest) * self.length_ms(letter)
                        self.plant("--delay", action, ms, step)
            return self.blank(kind)
        return self.blank("none")

    def jitter(self):
        """Options that make all jobs longer by chance, in the runs with and without the fault."""
        noise = random.Random("jitter %d" % self.seed)
        options = []
        for rank in range(self.case["world"] if self.case["jitter"] else 0):
            for _, letter, _, action in self.actions(rank):
                for step in range(STEPS):
                    longer = abs(noise.gauss(0, self.case["jitter"])) * self.length_ms(letter)
                    options += ["--delay", "%s@%d=%.6fms" % (action, step, longer)]
        return options

    def rehearsal(self, has_fault):
        """The options of pipe-run rehearse."""
        case = self.case
        shorter = getattr(self, "shortest", 1) if has_fault else 1
        names = {"ZBH1": "ZB-H1"}
        options = ["--schedule", names.get(case["schedule"], case["schedule"])]
        for name, value in (
            ("ranks", case["positions"]),
            ("dp", case["replicas"]),
            ("micro-batches", case["micro_batches"]),
            ("steps", STEPS),
            ("forward-ms", round(case["forward_ms"] * shorter, 6)),
            ("backward-ms", round(case["backward_ms"] * shorter, 6)),
            ("transfer-ms", case["message_ms"]),
            ("optimizer-ms", case["optimizer_ms"]),
        ):
            options += ["--" + name, str(value)]
        if case["chunks"] > 1:
            options += ["--chunks", str(case["chunks"])]
        if case["replicas"] > 1:
            options += ["--reduce-ms", str(case["reduce_ms"])]
        return options + self.jitter() + (self.planted if has_fault else [])

    # Words -------------------------------------------------------------------------------------

    def line(self):
        case, fault = self.case, self.fault
        ways = "PP %d" % case["positions"]
        for name, count in (("TP", case.get("tensor_ranks", 1)), ("DP", case["replicas"])):
            ways += " x %s %d" % (name, count) if count > 1 else ""
        if case["chunks"] > 1:
            ways += ", %d stages a rank" % case["chunks"]
        what = fault["kind"]
        if fault["kind"] == "slow_stage":
            what += " %d" % fault["stages"][0]
        elif fault["ranks"] and len(fault["ranks"]) < case["world"]:
            what += " of rank " + ", ".join(map(str, fault["ranks"]))
        elif fault["ranks"]:
            what += " of all ranks"
        if fault["link"]:
            what += " %d-%d" % tuple(fault["link"])
        if fault["factor"]:
            what += " x %g" % fault["factor"]
        if fault["steps"]:
            what += " in steps " + ", ".join(map(str, fault["steps"]))
        if "saves" in fault:
            what += " after steps " + ", ".join(map(str, fault["saves"]))
        if "ms" in fault:
            what += ", %g ms each" % fault["ms"]
        named = "" if case["format"] != "torch_cpu" else " annotated"
        return "seed %-3d %s %s, %s%s, %d micro-batches: %s" % (
            self.seed,
            self.program,
            ways,
            case["schedule"],
            named,
            case["micro_batches"],
            what,
        )


# What a run measured ------------------------------------------------------------------------------


class RunFailed(Exception):
    pass


class Measured:
    """`sound` and `faulty` are (windows, walls) of steps, in ns; `factor` that of the slow rank or
    stage; `discarded` says why, or is empty."""

    def __init__(self, sound, faulty, factor, discarded, facts):
        self.sound, self.faulty, self.factor = sound, faulty, factor
        self.discarded, self.facts = discarded, facts


def windows_of(begins, ends):
    walls = [after - begin for begin, after in zip(begins, begins[1:])]
    limits = [*begins[1:], math.inf]
    return [min(end, limit) - begin for begin, end, limit in zip(begins, ends, limits)], walls


def rehearse(program, run, folder, has_fault):
    """Returns why the rehearsal does not count; empty: it does."""
    options = [*run.rehearsal(has_fault), "--log-dir", folder]
    done = subprocess.run(
        [program, "rehearse", *options], capture_output=True, text=True, check=False, timeout=180
    )
    if done.returncode != 0:
        raise RunFailed("pipe-run rehearse: " + done.stderr[-2000:])
    off = re.findall(r"^step.* length .*?([+-][\d.]+) %$", done.stdout, re.MULTILINE)
    late = re.search(r"began more than 0.2 ms late: (\d+)", done.stdout)
    if not off or not late:
        raise RunFailed("cannot read what pipe-run says:\n" + done.stdout)
    most = max(abs(float(each)) for each in off)
    if most > 100 * MOST_OFF_PLAN:
        return "a step is off the plan by %.1f %%" % most
    jobs = sum(len(run.actions(rank)) for rank in range(run.case["world"])) * STEPS
    if int(late[1]) > MOST_LATE * jobs:
        return "%s of %d jobs began late" % (late[1], jobs)
    return ""


def steps_of_logs(times):
    begins, ends = collections.defaultdict(list), collections.defaultdict(list)
    for job in times.jobs:
        if job.name in job_times.COMPUTE:
            begins[job.step].append(job.begin)
        elif job.name == "optimizer":
            ends[job.step].append(job.begin + job.ns)
    steps = sorted(begins)
    return windows_of([min(begins[step]) for step in steps], [max(ends[step]) for step in steps])


def own_of_logs(times, fault):
    """What the fault's stage, or else its ranks, computed in its steps."""
    return sum(
        job.ns
        for job in times.jobs
        if job.name in job_times.COMPUTE
        and (job.stage in fault["stages"] if fault["stages"] else job.rank in fault["ranks"])
        and (not fault["steps"] or job.step in fault["steps"])
    )


def measure_rehearsal(given, run, folder):
    traces = os.path.join(folder, "traces")
    folders = {"sound": os.path.join(folder, "sound"), "faulty": traces}
    why = [rehearse(given.pipe_run, run, each, name == "faulty") for name, each in folders.items()]
    times = {name: job_times.read(each) for name, each in folders.items()}
    factor = run.fault["factor"]
    if run.kind in SLOW:
        factor = own_of_logs(times["faulty"], run.fault) / own_of_logs(times["sound"], run.fault)
    sound, faulty = (steps_of_logs(times[name]) for name in ("sound", "faulty"))
    return Measured(sound, faulty, factor, next(filter(None, why), ""), {})


def steps_of_ranks(parts):
    begins = [min(step[0] for step in steps) for steps in zip(*(part["steps"] for part in parts))]
    ends = [max(step[1] for step in steps) for steps in zip(*(part["steps"] for part in parts))]
    return windows_of(begins, ends)


def own_of_ranks(parts):
    """By rank {stage: seconds}, as real_trainings.stage_factors wants them."""
    return [{int(stage): each for stage, each in part["own"].items()} for part in parts]


def why_disturbed(run, sound, faulty, windows):
    """Why a training does not count; empty: it does."""
    spread = (max(windows) - min(windows)) / statistics.median(windows)
    if spread > MOST_SPREAD:
        return "its sound steps differ by %.1f %%" % (100 * spread)
    over = max(part["slept"] / part["asked"] - 1 for part in (*sound, *faulty) if part["asked"] > 0)
    if over > MOST_OVERSLEPT:
        return "sleeps took %.1f %% longer than they should" % (100 * over)
    slow = set(run.fault["ranks"]) if run.kind in SLOW else set()
    own = {"sound": own_of_ranks(sound), "faulty": own_of_ranks(faulty)}
    for rank in sorted(set(range(WORLD)) - slow):
        change = sum(own["faulty"][rank].values()) / sum(own["sound"][rank].values()) - 1
        if abs(change) > MOST_CHANGE:
            return "rank %d, without a fault, computed %+.1f %%" % (rank, 100 * change)
    if slow:
        return ""
    factors = real_trainings.stage_factors(own["faulty"])
    stage, factor = max(factors.items(), key=lambda each: each[1])
    if factor >= real_trainings.TRULY_LONGER:
        return "stage %d, without a fault, computed %.1f %% longer" % (stage, 100 * factor - 100)
    for rank, stages in enumerate(own["faulty"]):
        peers = [each for each in own["faulty"] if each.keys() == stages.keys()]
        factor = sum(stages.values()) / min(sum(each.values()) for each in peers)
        if factor >= real_trainings.TRULY_LONGER:
            return "rank %d, without a fault, computed %.1f %% longer" % (rank, 100 * factor - 100)
    return ""


def measure_training(given, run, folder):
    try:
        real_trainings.train(given.python, run.options, folder, SCRIPT)
    except real_trainings.TrainingFailed as error:
        raise RunFailed(str(error)) from error
    return measured_in(folder, run)


def measured_in(folder, run):
    """What the ranks of a training wrote down."""
    measured = []
    for rank in range(WORLD):
        with open(os.path.join(folder, "measured%d.json" % rank), encoding="utf-8") as file:
            measured.append(json.load(file))
    sound, faulty = ([each[part] for each in measured] for part in ("sound", "faulty"))
    steps = {"sound": steps_of_ranks(sound), "faulty": steps_of_ranks(faulty)}
    factor = None
    if run.kind in SLOW:
        own = [
            sum(
                seconds
                for rank in run.fault["ranks"]
                for stage, seconds in part[rank].items()
                if not run.fault["stages"] or stage in run.fault["stages"]
            )
            for part in (own_of_ranks(faulty), own_of_ranks(sound))
        ]
        factor = own[0] / own[1]
    saves = zip(*(part["pauses"] for part in faulty))
    facts = {
        "standstill_s": sum(map(max, saves)) if run.kind == "checkpoint_pauses" else 0.0,
        "own_s": own_of_ranks(faulty),
        "sound_own_s": own_of_ranks(sound),
        "loads_s": [sum(part["loads"]) for part in faulty],
        "pauses_s": [sum(part["pauses"]) for part in faulty],
        "overslept": [part["slept"] / part["asked"] - 1 for part in faulty],
    }
    discarded = why_disturbed(run, sound, faulty, steps["sound"][0])
    return Measured(steps["sound"], steps["faulty"], factor, discarded, facts)


def truth_of(run, measured):
    """The truth as README.md has it, and `discarded`, `planted` and `measured`."""
    step, wall = (round(statistics.mean(each)) for each in measured.faulty)
    without, wall_without = (round(statistics.mean(each)) for each in measured.sound)
    error = statistics.stdev(measured.sound[0]) / without / math.sqrt(STEPS)
    cost, wall_cost = step - without, wall - wall_without
    if measured.facts.get("standstill_s"):  # between steps, of all ranks: just that long
        cost, wall_cost = 0, round(1e9 * measured.facts["standstill_s"] / len(measured.faulty[1]))
    faults = []
    if run.kind != "none":
        kept = ("kind", "ranks", "stages", "link", "steps")
        width = run.case["world"] // run.case["positions"]
        faults.append(
            {key: run.fault[key] for key in kept}
            | {
                "both_ways": run.fault.get("both_ways", False),
                "factor": measured.factor,
                "cost_ns": cost,
                "wall_cost_ns": wall_cost,
                "cost_error_ns": round(error * without * math.sqrt(2)),
                "step_without_ns": step - cost,
                "wall_step_without_ns": wall - wall_cost,
                "plan": None,
                "alike": cases.alike(run.case | {"replicas": width}, run.fault),
                "may_abstain": False,
            }
        )
    return {
        "seed": run.seed,
        "set": "real",
        "format": run.case["format"],
        "case": run.case,
        "left_out": [],
        "step_ns": step,
        "wall_step_ns": wall,
        "step_standard_error": error,
        "jitter_cost_ns": None,
        "step_without_any_ns": without,
        "wall_step_without_any_ns": wall_without,
        "faults": faults,
        "discarded": measured.discarded,
        "planted": run.line(),
        "measured": measured.facts
        | {"windows_ns": measured.faulty[0], "sound_windows_ns": measured.sound[0]},
    }


def make(given, run, folder):
    """Runs it and keeps what is true of it; returns that."""
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    measure = measure_rehearsal if run.program == "runtime" else measure_training
    truth = truth_of(run, measure(given, run, folder))
    with open(os.path.join(folder, "truth.json"), "w", encoding="utf-8") as file:
        json.dump(truth, file)
    return truth


# Judging ------------------------------------------------------------------------------------------


def hints(truth):
    """What the people who trained would say to a tool."""
    return {key: truth["case"][key] for key in ("positions", "replicas", "schedule")}


def pass_over(truth, answer):
    """Takes out the findings that do not count on processors that ranks share."""
    if truth["case"]["program"] == "runtime":
        return answer
    kept, passed = [], []
    for each in answer.get("findings", ()):
        is_of_several = len(each.get("ranks") or ()) > 1 or bool(
            real_trainings.SEVERAL_LATE.match(each.get("text") or "")
        )
        (passed if each["kind"] in LATE and is_of_several else kept).append(each)
    return answer | {"findings": kept, "passed_over": passed}


def lines_of(given, truth, folder):
    lines = []
    for tool in given.tools.split(","):
        line = {"tool": tool, "truth": truth}
        if truth["discarded"]:
            lines.append(line | {"error": "discarded, as " + truth["discarded"]})
            continue
        adapter = importlib.import_module("adapters." + tool)
        traces = os.path.join(folder, "traces")
        answer = adapter.findings(traces, hints(truth), {"program": given.program})
        line["all_counted"] = score.judge(truth, answer, tool)
        line["answer"] = pass_over(truth, answer)
        lines.append(line | {"verdict": score.judge(truth, line["answer"], tool)})
    return lines


def is_named(verdict):
    return any(fault["place"] == 0 for fault in verdict["faults"])


def costs_of(lines):
    """How many of the costs that are said are as measured: within 5 % or two standard errors."""
    fit = []
    for line in lines:
        for fault, judged in zip(line["truth"]["faults"], line["verdict"]["faults"]):
            cost = judged.get("cost")
            if cost:
                off = abs(cost["said_ns"] - cost["true_ns"])
                fit.append(cost["within"] or off <= 2 * fault["cost_error_ns"])
    return "%d of %d" % (sum(fit), len(fit))


def summary_of(tool, lines):
    """How many faults are named first, and how many sound runs have a culprit, by program."""
    rows = []
    for program in (*PROGRAMS, "all"):
        chosen = [line for line in lines if program in ("all", line["truth"]["case"]["program"])]
        judged = [line for line in chosen if "verdict" in line]
        if not chosen:
            continue
        rows.append([program, len(chosen), len(chosen) - len(judged)])
        for key in ("verdict", "all_counted"):
            verdicts = [line[key] for line in judged]
            ill = [each for each in verdicts if each["faults"]]
            sound = [each for each in verdicts if not each["faults"]]
            blamed = [each for each in sound if each["false_culprits"]]
            rows[-1].append("%d of %d" % (sum(map(is_named, ill)), len(ill)))
            rows[-1].append("%d of %d" % (len(blamed), len(sound)))
        rows[-1].append(costs_of(judged))
    head = ("program", "runs", "discarded", "named first", "sound with a culprit")
    head += ("named first, nothing passed over", "sound with a culprit, likewise")
    head += ("costs within 5 % or two standard errors",)
    return "## %s\n\n%s" % (tool, score_tables.table(head, rows))


# Command line -------------------------------------------------------------------------------------


def options():
    text, _, more = __doc__.partition("\n\n")
    parser = argparse.ArgumentParser(
        description=text, epilog=more, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("program", nargs="?", metavar="PIPE_TRACE", help="the program pipe-trace")
    parser.add_argument(
        "--seeds", type=seeds_in, default="1-60", help="such as 1-4,9 (default: %(default)s)"
    )
    parser.add_argument("--only", metavar="WORD", help="seeds whose line of --list has this")
    parser.add_argument("--list", action="store_true", help="lists the runs of the seeds")
    parser.add_argument(
        "--python", default=sys.executable, help="has torch (default: the one that runs this)"
    )
    parser.add_argument(
        "--pipe-run", metavar="PROGRAM", help="(default: beside PIPE_TRACE, else in PATH)"
    )
    parser.add_argument(
        "--tools", default="pipe_trace", help="adapters, with commas (default: %(default)s)"
    )
    parser.add_argument("--keep", metavar="FOLDER", help="keeps traces and truths there")
    parser.add_argument(
        "--judge-only", metavar="FOLDER", help="judges what --keep kept there, and runs nothing"
    )
    parser.add_argument("-o", "--output", metavar="FILE")
    parser.add_argument(
        "--fail-below", type=float, metavar="P", help="exit code 1 if less than P %% are right"
    )
    given = parser.parse_args()
    given.parser = parser
    return given


def find_pipe_run(given):
    if given.pipe_run or not given.program:
        return given.pipe_run
    beside = os.path.join(os.path.dirname(os.path.abspath(given.program)), "pipe-run")
    return beside if os.access(beside, os.X_OK) else shutil.which("pipe-run")


def runs_possible(given, runs):
    """Leaves out those whose program is missing, and says so."""
    missing = {}
    if not find_pipe_run(given):
        missing["runtime"] = "there is no pipe-run"
    for program in ("torch", "megatron"):
        if any(run.program == program for run in runs):
            missing[program] = missing.get("torch") or real_trainings.missing_for(
                program, given.python
            )
    for program, why in missing.items():
        seeds = [run.seed for run in runs if run.program == program]
        if why and seeds:
            print("left out, as %s cannot run (%s): seeds %s" % (
                program, why, ", ".join(map(str, seeds))
            ))  # fmt: skip
    return [run for run in runs if not missing.get(run.program)]


def kept_truth(folder):
    try:
        with open(os.path.join(folder, "truth.json"), encoding="utf-8") as file:
            return json.load(file)
    except FileNotFoundError:
        return None


def judge_all(given, runs, root):
    """Returns the lines, and how many runs failed."""
    lines, failed = [], 0
    for run in runs:
        folder = os.path.join(root, "real-%d" % run.seed)
        truth = kept_truth(folder)
        if truth is None and given.judge_only:
            continue
        try:
            truth = truth or make(given, run, folder)
            judged = lines_of(given, truth, folder)
        except (RunFailed, subprocess.TimeoutExpired) as error:
            print("FAILS %s; %s" % (run.line(), error), flush=True)
            failed += 1
            continue
        for line in judged:
            lines.append(line)
            if given.output:
                with open(given.output, "a", encoding="utf-8") as file:
                    file.write(json.dumps(line, separators=(",", ":")) + "\n")
            print(words_of(line), flush=True)
        if not given.keep and not given.judge_only:
            shutil.rmtree(folder)
    return lines, failed


def words_of(line):
    truth = line["truth"]
    if "error" in line:
        return "-     %s; %s" % (truth["planted"], line["error"])
    verdict = line["verdict"]
    text = "%-5s %s" % ("right" if verdict["right"] else "WRONG", truth["planted"])
    for fault in truth["faults"]:
        text += "; costs %.1f %%" % (100 * score.share_of(fault, truth))
        if fault["factor"]:
            text += ", true factor %.3f" % fault["factor"]
    if not verdict["right"]:
        counted = [each for each in line["answer"]["findings"] if score.counts(each)]
        said = counted[0].get("text") or counted[0]["kind"] if counted else "nothing"
        text += "; said: " + verdict.get("why", said)
    return text


def main():
    given = options()
    runs = [Run(seed) for seed in given.seeds]
    runs = [run for run in runs if not given.only or given.only in run.line()]
    if given.list:
        print("\n".join(run.line() for run in runs))
        return 0
    if not given.program and "pipe_trace" in given.tools.split(","):
        given.parser.error("say where pipe-trace is")
    if not given.judge_only:
        runs = runs_possible(given, runs)
        given.pipe_run = find_pipe_run(given)
        if not runs:
            return 77
    if given.output:
        open(given.output, "w", encoding="utf-8").close()
    with tempfile.TemporaryDirectory() as temporary:
        root = os.path.abspath(given.judge_only or given.keep or temporary)
        lines, failed = judge_all(given, runs, root)
    by_tool = collections.defaultdict(list)
    for line in lines:
        by_tool[line["tool"]].append(line)
    print("\n" + score.tables(lines))
    for tool, chosen in by_tool.items():
        print(summary_of(tool, chosen))
    if failed:
        print("%d runs failed" % failed, file=sys.stderr)
        return 2
    if given.fail_below is not None and 100 * score.share_right(lines) < given.fail_below:
        return 1
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
