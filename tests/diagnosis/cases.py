"""Draws runs, plants faults in them, and works out the truth about each.

Everything comes from the seed and the set. A case is a dict of plain values, so that it can be
written down and read again.
"""

import math
import random

import plans
import simulate

MS = 1_000_000
FORMATS = {
    "job_log": 35,
    "torch_gpu": 15,
    "torch_gpu_bare": 10,
    "torch_cpu": 10,
    "torch_cpu_bare": 5,
    "nsight": 15,
    "megatron": 10,
}
SCHEDULES = {
    "1F1B": 35,
    "Interleaved1F1B": 20,
    "GPipe": 8,
    "FThenB": 7,
    "ZBH1": 12,
    "LoopedBFS": 6,
    "Eager1F1B": 6,
    "InterleavedZeroBubble": 6,
}
# Schedules that a format cannot show: the job is known by its name there, or is not known at all.
ONLY_WHOLE_BACKWARDS = ("megatron",)
# Faults by the formats that have them; "all" but those listed.
WITHOUT_MESSAGES = ("megatron",)
KINDS = (
    "slow_stage",
    "slow_rank",
    "slow_link",
    "late_message",
    "late_sends",
    "messages_in_line",
    "late_starts",
    "garbage_collection",
    "data_stall",
    "checkpoint_pauses",
    "uneven_micro_batches",
    "slow_reduction",
    "few_micro_batches",
    "wrong_schedule",
)
# Drawn only where they are asked for (--kind): they came after the first scores.
MORE_KINDS = ("slow_optimizer",)
OF_MESSAGES = ("slow_link", "late_message", "late_sends", "messages_in_line")
# Where no message is recorded, these look like messages that take long.
NEED_MESSAGES = ("late_starts", "garbage_collection", "data_stall")
OF_PLANS = ("few_micro_batches", "wrong_schedule")  # nobody's fault but the plan's
# What the drawn values are, for the documents.
DISTRIBUTIONS = (
    (
        "ranks",
        "2 to 64: positions 2, 3, 4, 6, 8, 12, 16 (small ones more often), replicas 1 (60 %), 2, 3, 4",
    ),
    ("schedule", ", ".join("%s %d %%" % each for each in SCHEDULES.items())),
    ("chunks", "2 (70 %), 3 or 4 where the schedule has them"),
    ("micro-batches", "1 to 4 times the positions; a multiple of them where the schedule needs it"),
    ("steps", "3 to 12"),
    (
        "a forward",
        "1 to 50 ms, even in the logarithm; a backward 1.6 to 2.4 times as long, its weight half 35 to 50 % of it",
    ),
    ("stages", "differ by up to 0.3 %"),
    ("jitter of jobs", "log-normal: 0 (15 %), 0.2 to 3 % (60 %), 3 to 10 % (25 %)"),
    ("launch gaps", "0 to 1 % of a forward"),
    (
        "messages",
        "0.2 to 6 % of a forward, log-normal with 0 to 10 %; posted ahead of the job before (75 %) or behind it",
    ),
    ("reductions", "10 to 150 % of a forward; a norm over all ranks in 50 %"),
    ("first step", "1.8 to 4 times as long in 30 %"),
    ("clocks", "apart by up to 0.5 ms in 30 % of job logs, which compare them; else the same"),
    (
        "loading",
        "a first rank loads for 0.5 to 3 % of a forward in 20 %, where the format shows it",
    ),
    ("formats", ", ".join("%s %d %%" % each for each in FORMATS.items())),
)


def choose(source, weights):
    return source.choices(list(weights), list(weights.values()))[0]


def even_log(source, low, high):
    return math.exp(source.uniform(math.log(low), math.log(high)))


# The run ------------------------------------------------------------------------------------------


def draw(seed, which="one", kind=None, form=None):
    """The case of a seed. `which`: one, two, clean or missing (one fault, and files of two ranks
    are missing). `kind` and `form` take the place of what would be drawn."""
    source = random.Random("%s %d" % (which, seed))
    count = {"clean": 0, "two": 2}.get(which, 1)
    kinds = source.sample([k for k in KINDS if count == 1 or k not in OF_PLANS], count)
    if kind and count:
        kinds[0] = kind
        kinds = list(dict.fromkeys(kinds))
    format_name = form or choose(source, FORMATS)
    while not form and not all(shows(format_name, each) for each in kinds):
        format_name = choose(source, FORMATS)
    case = draw_run(source, seed, kinds, format_name, least=4 if which == "missing" else 2)
    if which == "missing":
        case["left_out"] = sorted(source.sample(range(case["positions"] * case["replicas"]), 2))
    for each in kinds:
        case["faults"].append(plant(source, case, each))
    return case


def shows(format_name, kind):
    """Whether the format has what the fault is seen by."""
    if format_name in WITHOUT_MESSAGES and kind in (*OF_MESSAGES, "slow_reduction", *MORE_KINDS):
        return False
    if kind == "messages_in_line" and format_name not in ("job_log", "torch_gpu", "nsight"):
        return False
    return True


def draw_run(source, seed, kinds, format_name, least=2):
    positions = source.choices((2, 3, 4, 6, 8, 12, 16), (15, 10, 30, 12, 18, 7, 8))[0]
    positions = max(least, positions)
    replicas = source.choices((1, 2, 3, 4), (60, 22, 8, 10))[0]
    if "slow_reduction" in kinds:
        replicas = source.choice((2, 3, 4))
        positions = max(3, positions)
    if "slow_link" in kinds or "late_sends" in kinds:
        positions = max(3, positions)
    schedules = dict(SCHEDULES)
    if format_name in ONLY_WHOLE_BACKWARDS:
        schedules = {s: w for s, w in schedules.items() if s not in plans.WITH_HALVES}
    if "messages_in_line" in kinds:
        schedules = {"Interleaved1F1B": 60, "LoopedBFS": 20, "InterleavedZeroBubble": 20}
        positions = min(8, max(3, positions))
    if "few_micro_batches" in kinds or "wrong_schedule" in kinds:
        schedules = {"1F1B": 70, "GPipe": 15, "FThenB": 15}
        positions = max(4, positions)
    schedule = choose(source, schedules)
    chunks = source.choices((2, 3, 4), (70, 15, 15))[0] if schedule in plans.WITH_CHUNKS else 1
    times = source.choices((1, 1.5, 2, 3, 4), (10, 10, 35, 15, 30))[0]
    if "few_micro_batches" in kinds:
        times = source.choice((0.5, 0.75, 1))
    elif "wrong_schedule" in kinds:
        times = source.choice((1.5, 2))
    elif positions * chunks <= 4:
        times = max(times, 2)
    micro_batches = max(2, round(positions * times))
    if schedule in plans.ROUNDS_OF_POSITIONS:
        micro_batches = max(1, round(micro_batches / positions)) * positions
    steps = source.randint(3, 12)
    jobs = positions * replicas * micro_batches * chunks * 2.4
    steps = max(3, min(steps, int(9000 / jobs)))
    while jobs * steps > 14000 and replicas > 1 and "slow_reduction" not in kinds:
        replicas -= 1
        jobs = positions * replicas * micro_batches * chunks * 2.4
    forward = even_log(source, 1, 50) * MS
    backward = forward * source.uniform(1.6, 2.4)
    weight_share = source.uniform(0.35, 0.5)
    stages = positions * chunks
    spread = source.uniform(0, 0.003)
    lengths = {letter: [] for letter in "FBIW"}
    for _ in range(stages):
        own = 1 + source.uniform(-spread, spread)
        lengths["F"].append(forward * own)
        lengths["B"].append(backward * own)
        lengths["I"].append(backward * own * (1 - weight_share))
        lengths["W"].append(backward * own * weight_share)
    jitter = source.choices(
        (0.0, source.uniform(0.002, 0.03), source.uniform(0.03, 0.10)), (15, 60, 25)
    )[0]
    world = positions * replicas
    has_clocks = format_name == "job_log" and source.random() < 0.3
    clocks = [
        source.randint(-500_000, 500_000) if has_clocks and rank else 0 for rank in range(world)
    ]
    loads = source.random() < 0.2 and format_name in ("job_log", "torch_gpu", "torch_cpu")
    cpu = format_name.startswith("torch_cpu")
    return {
        "seed": seed,
        "format": format_name,
        "schedule": schedule,
        "positions": positions,
        "replicas": replicas,
        "chunks": chunks,
        "micro_batches": micro_batches,
        "steps": steps,
        "lengths": lengths,
        "jitter": jitter,
        "launch_gap_ns": round(forward * source.uniform(0, 0.01)),
        "ahead_ns": 0 if cpu else round(forward * source.uniform(0.3, 3)),
        "message_ns": forward * even_log(source, 0.002, 0.06),
        "message_jitter": source.uniform(0, 0.10),
        "message_bytes": 1 << source.randint(20, 27),
        "posting": source.choices(("at begin" if cpu else "ahead", "late"), (75, 25))[0],
        "reduction_ns": forward * source.uniform(0.1, 1.5),
        "gradient_bytes": 1 << source.randint(24, 30),
        "norm": source.random() < 0.5,
        "norm_ns": round(forward * 0.01),
        "optimizer_ns": round(forward * source.uniform(0.1, 1.0)),
        "first_step": source.uniform(1.8, 4) if source.random() < 0.3 else 1.0,
        "clocks": clocks,
        "loaders": list(range(replicas)) if loads else [],
        "load_ns": round(forward * source.uniform(0.005, 0.03)) if loads else 0,
        "one_thread": cpu,
        "records_loading": format_name
        not in ("nsight", "megatron", "torch_gpu_bare", "torch_cpu_bare"),
        "records_checkpoints": format_name == "job_log" and source.random() < 0.5,
        "left_out": [],
        "faults": [],
    }


# Faults -------------------------------------------------------------------------------------------


def ranks_of_stage(case, stage):
    position = stage % case["positions"]
    return list(range(position * case["replicas"], (position + 1) * case["replicas"]))


def links(case):
    """Neighbours that send to each other, as ranks, in the direction of forwards."""
    p, d = case["positions"], case["replicas"]
    ends = [(a, a + 1) for a in range(p - 1)] + (
        [(p - 1, 0)] if case["chunks"] > 1 and p > 2 else []
    )
    return [(a * d + replica, b * d + replica) for a, b in ends for replica in range(d)]


def plant(source, case, kind):
    """A fault: what simulate.py reads, with `ranks`, `stages`, `link`, `steps` where it has some."""
    world = case["positions"] * case["replicas"]
    steps = range(case["steps"])
    forward = sum(case["lengths"]["F"]) / len(case["lengths"]["F"])
    fault = {"kind": kind, "ranks": [], "stages": [], "link": None, "steps": None, "factor": None}
    if kind == "slow_stage":
        fault["stages"] = [source.randrange(case["positions"] * case["chunks"])]
        fault["ranks"] = ranks_of_stage(case, fault["stages"][0])
        fault["factor"] = 1 + even_log(source, 0.02, 0.6)
    elif kind == "slow_rank":
        fault["ranks"] = [source.randrange(world)]
        fault["factor"] = 1 + even_log(source, 0.02, 0.6)
        when = source.choices(("steady", "from", "some"), (60, 20, 20))[0]
        counted = range(1 if case["first_step"] > 1 else 0, case["steps"])
        if when == "from" and len(counted) >= 4:
            fault["steps"] = list(steps)[counted[len(counted) // 2 - source.randint(0, 1)] :]
        elif when == "some" and len(counted) >= 4:
            fault["steps"] = sorted(source.sample(counted, max(1, len(counted) // 3)))
    elif kind == "slow_link":
        fault["link"] = list(source.choice(links(case)))
        fault["both_ways"] = source.random() < 0.5
        if not fault["both_ways"] and source.random() < 0.5:
            fault["link"].reverse()
        fault["factor"] = 1 + even_log(source, 0.1, 2) * forward / case["message_ns"]
    elif kind == "late_message":
        link = list(source.choice(links(case)))
        direction = source.choice("FB")
        position = link[0] // case["replicas"]
        stages = range(position, case["positions"] * case["chunks"], case["positions"])
        stages = [stage for stage in stages if stage < case["positions"] * case["chunks"] - 1]
        if link[1] < link[0]:
            stages = [s for s in stages if (s + 1) % case["positions"] == 0] or stages
        sender = source.choice(stages)
        to_stage = sender + 1
        if direction == "B":
            sender, to_stage = to_stage, sender
        d = case["replicas"]
        replica = link[0] % d
        fault["link"] = [
            sender % case["positions"] * d + replica,
            to_stage % case["positions"] * d + replica,
        ]
        step = source.choice(steps[1:])
        fault["steps"] = [step]
        fault["message"] = [step, direction, to_stage, source.randrange(case["micro_batches"])]
        fault["delay_ns"] = round(forward * even_log(source, 2, 30))
    elif kind == "late_sends":
        senders = {each for link in links(case) for each in link}
        fault["ranks"] = [source.choice(sorted(senders))]
        fault["delay_ns"] = round(forward * even_log(source, 0.1, 1.0))
    elif kind == "messages_in_line":
        case["posting"] = "ahead"
        case["message_ns"] = forward * source.uniform(0.03, 0.15)
    elif kind == "late_starts":
        fault["ranks"] = [source.randrange(world)]
        fault["delay_ns"] = round(forward * even_log(source, 0.05, 0.6))
    elif kind == "garbage_collection":
        count = len(
            plans.order(
                case["schedule"], case["positions"], 0, case["micro_batches"], case["chunks"]
            )
        )
        fault["ranks"] = list(range(world))
        fault["delay_ns"] = round(forward * even_log(source, 1, 10))
        fault["places"] = {}
        for rank in fault["ranks"]:
            often = min(len(steps), max(1, round(len(steps) * source.uniform(0.25, 0.6))))
            fault["places"][str(rank)] = [
                [step, source.randrange(count)] for step in sorted(source.sample(steps, often))
            ]
    elif kind == "data_stall":
        everyone = source.random() < 0.4
        first = ranks_of_stage(case, 0)
        fault["ranks"] = first if everyone else [source.choice(first)]
        fault["delay_ns"] = round(forward * even_log(source, 1, 15))
    elif kind == "checkpoint_pauses":
        every = source.randint(2, max(2, case["steps"] // 2))
        fault["steps"] = list(range(every - 1, case["steps"] - 1, every)) or [0]
        fault["ranks"] = list(range(world))
        fault["delay_ns"] = round(forward * even_log(source, 4, 60))
    elif kind == "uneven_micro_batches":
        sigma = even_log(source, 0.08, 0.5)
        fault["spread"] = sigma
        fault["lengths"] = []
        for _ in steps:
            drawn = [math.exp(source.gauss(0, sigma)) for _ in range(case["micro_batches"])]
            fault["lengths"].append([value * len(drawn) / sum(drawn) for value in drawn])
    elif kind == "slow_optimizer":
        # Others end earlier, and only where all wait for each other does anybody wait for them.
        fault["ranks"] = [source.choice(ranks_of_stage(case, 0))]
        fault["factor"] = 1 + even_log(source, 0.5, 8)
    elif kind == "slow_reduction":
        fault["stages"] = [source.randrange(case["positions"])]
        fault["ranks"] = ranks_of_stage(case, fault["stages"][0])
        fault["stages"] = list(
            range(fault["stages"][0], case["positions"] * case["chunks"], case["positions"])
        )
        fault["factor"] = 1 + even_log(source, 1, 20)
    return fault


# Truth --------------------------------------------------------------------------------------------


def alike(case, fault):
    """Other answers that nobody can tell from this one by what the format holds. Fixed before any
    tool ran.

    - A rank that is alone at its stages, or the only one there whose file is not missing, is as
      slow as they are; also "rank r" and "stages of rank r". With replicas, a slow stage is all of
      its ranks.
    - Loading, or saving, that nothing records is a late start, or a pause between steps.
    - A pause inside a job is a job that takes long now and then.
    - Where sends do not say when they were posted, a late one is a slow message.
    - Where one thread does all, the job behind a late send begins as late.
    """
    kind, answers = fault["kind"], []
    position_stages = lambda rank: list(
        range(rank // case["replicas"], case["positions"] * case["chunks"], case["positions"])
    )
    seen = set(range(case["positions"] * case["replicas"])) - set(case["left_out"])
    if kind == "slow_rank" and fault["steps"] is None:
        stages = position_stages(fault["ranks"][0])
        if seen & set(ranks_of_stage(case, stages[0])) == set(fault["ranks"]):
            answers.append({"kind": "slow_stage", "stages": stages})
    if kind == "slow_stage" and case["chunks"] == 1:
        those = seen & set(fault["ranks"])
        if len(those) == 1:
            answers.append({"kind": "slow_rank", "ranks": sorted(those)})
    if kind == "data_stall" and not case["records_loading"]:
        answers.append({"kind": "late_starts", "ranks": fault["ranks"]})
        answers.append({"kind": "checkpoint_pauses", "ranks": fault["ranks"]})
    if kind == "checkpoint_pauses" and not case["records_checkpoints"]:
        answers.append({"kind": "data_stall", "ranks": fault["ranks"]})
    if kind == "late_sends" and case["one_thread"]:
        answers.append({"kind": "late_starts", "ranks": fault["ranks"]})
    if kind == "late_message":
        answers.append({"kind": "slow_link", "link": fault["link"], "steps": fault["steps"]})
    if kind in OF_PLANS:
        answers += [{"kind": each} for each in OF_PLANS if each != kind]
    return answers


def figures(run):
    windows, walls = simulate.steps_of(run)
    return simulate.mean(windows), simulate.mean(walls) or simulate.mean(windows), windows


def truth_of(case, which, run):
    """What is true of the run: the input of score.py (README.md has the keys)."""
    step, wall, windows = figures(run)
    faults = []
    everything = set(range(len(case["faults"])))

    def without(numbers):
        return figures(simulate.Simulation(case, numbers).run())

    repaired = without(everything) if everything else (step, wall, windows)
    for number, fault in enumerate(case["faults"]):
        plan = None
        if fault["kind"] in OF_PLANS:
            one, plan = of_better_plan(case, fault["kind"])
        elif len(everything) == 1:
            one = repaired
        else:
            one = without({number})
        kind = fault["kind"]
        kept = ("kind", "ranks", "stages", "link", "steps", "factor")
        faults.append(
            {key: fault[key] for key in kept}
            | {
                "both_ways": fault.get("both_ways", False),
                "cost_ns": round(step - one[0]),
                "wall_cost_ns": round(wall - one[1]),
                "step_without_ns": round(one[0]),
                "wall_step_without_ns": round(one[1]),
                "plan": plan,
                "alike": alike(case, fault),
                "errors": errors_of(case, fault),
                "may_abstain": case["format"] in WITHOUT_MESSAGES and kind in NEED_MESSAGES,
            }
        )
    even = without(everything | {"jitter"}) if case["jitter"] else repaired
    deviation = math.sqrt(sum((each - repaired[0]) ** 2 for each in repaired[2]) / len(repaired[2]))
    shown = {
        key: value for key, value in case.items() if key not in ("lengths", "faults", "clocks")
    }
    return {
        "seed": case["seed"],
        "set": which,
        "format": case["format"],
        "case": shown,
        "left_out": case["left_out"],
        "step_ns": round(step),
        "wall_step_ns": round(wall),
        "step_standard_error": deviation / repaired[0] / math.sqrt(len(repaired[2])),
        "jitter_cost_ns": round(repaired[0] - even[0]),
        "step_without_any_ns": round(repaired[0]),
        "wall_step_without_any_ns": round(repaired[1]),
        "faults": faults,
    }


def errors_of(case, fault):
    """By how many standard errors of the mean of their jobs, as jobs vary, a slow rank or stage is
    slower than others; None: it is of another kind, or nothing varies."""
    if fault["kind"] not in ("slow_rank", "slow_stage") or not case["jitter"]:
        return None
    steps = len(fault["steps"] or range(case["first_step"] > 1, case["steps"]))
    jobs = 2 * case["micro_batches"] * steps
    jobs *= case["chunks"] if fault["kind"] == "slow_rank" else case["replicas"]
    return (fault["factor"] - 1) / (case["jitter"] * math.sqrt(2 / jobs))


def of_better_plan(case, kind):
    """The step with the batch cut into four times as many micro-batches, or in the zero-bubble
    order. A quarter of a micro-batch takes a quarter of the time to load, to compute and to send;
    launches, reductions and the optimizer take what they took."""
    better = dict(case, faults=[])
    if kind == "few_micro_batches":
        better["micro_batches"] *= 4
        better["lengths"] = {
            letter: [length / 4 for length in lengths]
            for letter, lengths in case["lengths"].items()
        }
        for key in ("message_ns", "message_bytes", "load_ns"):
            better[key] = case[key] / 4
    else:
        better["schedule"] = "ZBH1"
    return figures(simulate.Simulation(better).run()), {
        key: better[key] for key in ("schedule", "micro_batches") if better[key] != case[key]
    }
