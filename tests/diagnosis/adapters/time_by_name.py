"""The table that people make by hand: time by name of job, or of kernel, and rank.

The rank with the largest sum beyond the median of ranks is the finding, or its stage where all
ranks of that stage have it. Nothing else is said, and nothing below 2 % of the median.

- Traces with kernels: the sums of these, NCCL's apart. Other traces with operators: the outermost
  of each thread, those of communication and waits apart. Else forwards and backwards, as long as
  their lines or spans say.
- A rank with several stages is looked at by stage: where three quarters of what it takes too long
  are of one stage, that stage is the finding.
"""

import collections
import statistics
import time

from . import job_times

AIMS = ["slow_rank", "slow_stage"]
WAITS = ("c10d::", "gloo", "nccl", "wait", "record_param_comms", "recv", "send")
LEAST = 0.02
OF_STAGE = 0.75  # of what a rank takes too long
SHARED = 0.5  # of what the worst rank takes too long: others with it are slow as well


def compute_of(times):
    """What counts as work."""
    if times.kernels:
        return [each for each in times.kernels if not job_times.is_of_nccl(each.name)]
    if times.operators:
        names = ((each, each.name.lower()) for each in times.operators)
        return [each for each, name in names if not any(word in name for word in WAITS)]
    return [each for each in times.jobs if each.name in job_times.COMPUTE]


def excess_over_median(sums):
    """Of each key what it takes beyond the median of all, and that median."""
    middle = statistics.median(sums.values())
    return {key: value - middle for key, value in sums.items()}, middle


def worst_of(excess):
    return max(excess, key=lambda key: (excess[key], -key))


def stage_of(work, ranks_of, rank, too_long):
    """The stage of a rank, where most of what that rank takes too long is of it."""
    sums = collections.Counter()
    for each in work:
        if each.stage is not None:
            sums[each.stage] += each.ns / len(ranks_of[each.stage])
    own = [stage for stage, ranks in ranks_of.items() if rank in ranks and stage in sums]
    if not own or len(sums) < 2:
        return None
    excess, middle = excess_over_median(sums)
    stage = worst_of({each: excess[each] for each in own})
    of_rank = sum(each.ns for each in work if each.rank == rank and each.stage == stage) - middle
    if len(own) > 1 and of_rank < OF_STAGE * too_long:
        return None
    return stage


def finding_of(times, hints):
    work = compute_of(times)
    sums = collections.Counter()
    for each in work:
        sums[each.rank] += each.ns
    if len(sums) < 2:
        return None
    excess, middle = excess_over_median(sums)
    rank = worst_of(excess)
    if middle <= 0 or excess[rank] < LEAST * middle:
        return None
    slow = sorted(each for each in sums if excess[each] >= SHARED * excess[rank])
    factor = sums[rank] / middle
    ranks_of = job_times.ranks_by_stage(times, hints)
    stage = stage_of(work, ranks_of, rank, excess[rank])
    if stage is None:
        stage = job_times.stage_with(slow, ranks_of)
    said = {
        "factor": factor,
        "text": "%.1f %% more than the median of ranks" % (100 * factor - 100),
    }
    if stage is not None:
        peers = ranks_of[stage]
        alone = len(peers) == 1 and sum(rank in ranks for ranks in ranks_of.values()) > 1
        if alone or (len(peers) > 1 and set(peers) <= set(slow)):
            return {"kind": "slow_stage", "stages": [stage], "ranks": peers, **said}
    return {"kind": "slow_rank", "ranks": [rank] if ranks_of else slow, **said}


def findings(folder, hints, settings):
    begin = time.monotonic()
    times = job_times.read(folder)
    if not compute_of(times):
        return {"not_for_format": "no jobs, kernels or operators were found", "findings": []}
    found = finding_of(times, hints)
    return {
        "findings": [found] if found else [],
        "doubts": [],
        "aims": AIMS,
        "not_its_aim": False,
        "seconds": time.monotonic() - begin,
    }
