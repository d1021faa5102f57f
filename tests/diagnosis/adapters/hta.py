"""Meta's Holistic Trace Analysis (the package HolisticTraceAnalysis; tried: 0.5.0 with pandas 2.3;
with pandas 3 it fails on large traces).

It reads traces of torch.profiler from GPUs. What of it singles a rank out:

- get_potential_stragglers(): the two ranks whose last long collective begins latest, in the most
  steps. It always names two (the package's default). It knows kernels called ncclKernel… alone,
  and fails where they are called ncclDevKernel…, as newer versions of NCCL call them.
- get_temporal_breakdown(): idle, compute and other time of each rank. It names nobody. A reader's
  eye falls on the rank that computes longest, which is the answer here, if it computes 2 % longer
  than the median rank (setting `least`): less would not be seen. Where it is one of several that
  stick out, at least half as far, and these are just the ranks of a stage, it is that stage.
  HTA is not made for that, so such answers are marked as `not_its_aim`.
- get_comm_comp_overlap() is put into the doubts, to look at: nothing follows from it about who is
  slow.

Settings: `python`, a Python that has the package (default: the one that runs this), `timeout`.
"""

import json
import os
import statistics
import subprocess
import sys
import time

from . import job_times

AIMS = ["slow_rank", "slow_stage"]
LEAST = 0.02
SHARED = 0.5
SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "hta_figures.py")
ENDINGS = (".json", ".json.gz")
COMPUTE = "compute_time(us)"


def is_installed(python):
    code = "import importlib.metadata; importlib.metadata.version('HolisticTraceAnalysis')"
    return subprocess.run([python, "-c", code], check=False, capture_output=True).returncode == 0


def has_kernels(folder):
    """Whether its first trace is of torch.profiler and has some."""
    names = sorted(name for name in os.listdir(folder) if name.endswith(ENDINGS))
    trace = job_times.load_json(os.path.join(folder, names[0])) if names else None
    events = trace.get("traceEvents", ()) if isinstance(trace, dict) else ()
    return any(event.get("cat") == "kernel" for event in events)


def by_compute(times, ranks_of, least):
    """The rank that computes longest, or its stage."""
    sums = {int(row["rank"]): row[COMPUTE] for row in times}
    rank = max(sums, key=sums.get)
    middle = statistics.median(sums.values())
    if middle <= 0 or sums[rank] < (1 + least) * middle:
        return []
    idle = {int(row["rank"]): row["idle_time_pctg"] for row in times}
    more = 100 * (sums[rank] / middle - 1)
    text = "rank %d computes longest, %.1f %% more than the median" % (rank, more)
    text += "; it is idle for %.1f %%" % idle[rank]
    text += ", the median rank for %.1f %%" % statistics.median(idle.values())
    excess = {each: sums[each] - middle for each in sums}
    high = [each for each in sums if excess[each] >= SHARED * excess[rank]]
    stage = job_times.stage_with(high, ranks_of)
    if stage is not None:
        return [{"kind": "slow_stage", "stages": [stage], "ranks": sorted(high), "text": text}]
    return [{"kind": "slow_rank", "ranks": [rank], "text": text}]


def findings(folder, hints, settings):
    begin = time.monotonic()
    python = settings.get("python", sys.executable)
    if not is_installed(python):
        text = "HolisticTraceAnalysis is not installed for %s" % os.path.basename(python)
        return {"unavailable": text, "findings": []}
    if not has_kernels(folder):
        return {"not_for_format": "no traces of torch.profiler from GPUs", "findings": []}
    try:
        done = subprocess.run(
            [python, SCRIPT, folder],
            capture_output=True,
            text=True,
            check=False,
            timeout=settings.get("timeout", 600),
        )
    except subprocess.TimeoutExpired:
        return {"failed": "no answer in time", "findings": []}
    if done.returncode != 0:
        return {"failed": done.stderr.strip().splitlines()[-1:], "findings": []}
    found = json.loads(done.stdout)
    named = [
        {"kind": "slow_rank", "ranks": [rank], "text": "a potential straggler: rank %d" % rank}
        for rank in found.get("stragglers", ())
    ]
    if not named and "times" not in found:
        return {"not_for_format": found["times_error"], "findings": []}
    seconds = time.monotonic() - begin
    if not named:
        ranks_of = job_times.ranks_by_stage(job_times.read(folder), hints)
        named = by_compute(found["times"], ranks_of, settings.get("least", LEAST))
    return {
        "findings": named,
        "doubts": [json.dumps({key: found[key] for key in found if key not in ("times",)})],
        "aims": AIMS,
        "not_its_aim": not found.get("stragglers"),
        "seconds": seconds,
    }
