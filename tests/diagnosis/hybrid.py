"""Runs whose ranks meet inside jobs: tensor, context and expert parallelism, FSDP.

tests/hybrid/hybrid_runs.py simulates and writes them, by an event loop of its own. This turns its
truth into that of the yardstick.
"""

import json
import os
import random
import subprocess
import sys

SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "hybrid", "hybrid_runs.py")
MOST_RANKS = 64
KINDS = (
    "slow_rank",
    "slow_stage",
    "uneven_experts",
    "slow_group",
    "data_stall",
    "exposed_gathers",
    "contention",
)
NAMES = {"uneven_experts": "experts", "data_stall": "slow_loader"}  # there, of the yardstick's kinds


# Of as many runs one has gathers that hold up jobs, and one contention. The others have what
# hybrid_runs.py draws.
ONE_IN = 8


def make(seed, folder, kind=None):
    """Writes the run of the first drawing that is small enough; gives what is true of it. `kind`
    takes the place of the fault that would be drawn."""
    source = random.Random("hybrid %d" % seed)
    if not kind:
        kind = {0: "exposed_gathers", 1: "contention"}.get(source.randrange(ONE_IN))
    fault = ["--fault", NAMES.get(kind, kind)] if kind else []
    for drawn in range(seed, seed + 1_000_000_000, 1_000_003):
        command = [sys.executable, SCRIPT, "--seed", str(drawn), "--random", *fault]
        listed = subprocess.run(
            [*command, "--list-options"], capture_output=True, text=True, check=True
        )
        if json.loads(listed.stdout)["world_size"] <= MOST_RANKS:
            break
    subprocess.run([*command, "--out", folder], capture_output=True, text=True, check=True)
    path = os.path.join(folder, "truth.json")
    with open(path, encoding="utf-8") as file:
        truth = json.load(file)
    os.remove(path)
    return truth_of(seed, truth)


def truth_of(seed, truth):
    options, fault = truth["options"], truth["fault"]
    step = round(truth["mean_step_ns"])
    pause = round(1e6 * options["step_gap_ms"])

    def planted(kind, repaired, **more):
        without = truth.get("mean_%s_step_ns" % repaired)
        without = round(without) if without else step
        return {
            "kind": kind,
            "ranks": [],
            "stages": [],
            "link": None,
            "both_ways": False,
            "steps": None,
            "factor": None,
            "cost_ns": step - without,
            "wall_cost_ns": step - without,
            "step_without_ns": without,
            "wall_step_without_ns": without + pause,
            "alike": [],
            "may_abstain": False,
        } | more

    kind = fault["kind"]
    faults = []
    if kind in ("slow_rank", "both"):
        repaired = "repaired" if kind == "slow_rank" else "repaired_rank_only"
        factor = fault.get("rank_factor_by_own")
        faults.append(planted("slow_rank", repaired, ranks=[fault["rank"]], factor=factor))
    if kind in ("slow_stage", "both"):
        repaired = "repaired" if kind == "slow_stage" else "repaired_stage_only"
        factor = fault.get("stage_factor_by_own")
        faults.append(planted("slow_stage", repaired, stages=fault["stages"], factor=factor))
    if kind == "experts":
        faults.append(planted("uneven_experts", "repaired"))
    if kind == "slow_group":
        faults.append(planted("slow_group", "repaired", ranks=fault["group_ranks"]))
    if kind in ("exposed_gathers", "contention"):
        faults.append(planted(kind, "repaired"))
    if kind == "slow_loader":
        faults.append(planted("data_stall", "repaired", ranks=[fault["rank"]]))
    without = round(truth.get("mean_repaired_step_ns") or step)
    return {
        "seed": seed,
        "set": "hybrid",
        "format": "hybrid",
        "case": {
            "schedule": options["schedule"],
            "positions": options["pp"],
            "replicas": options["dp"],
            "chunks": 1,
            "micro_batches": options["micro_batches"],
            "steps": options["steps"],
            "jitter": options["jitter"] / 100,
            "clocks_apart": options["clock_ms"] > 0,
            "tensor_ranks": options["tp"],
        },
        "left_out": [],
        "step_ns": step,
        "wall_step_ns": step + pause,
        "step_standard_error": 0,
        "jitter_cost_ns": 0,
        "step_without_any_ns": without,
        "wall_step_without_any_ns": without + pause,
        "faults": faults,
    }
