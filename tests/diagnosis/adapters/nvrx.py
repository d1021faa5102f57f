"""Scores of NVIDIA's Resiliency Extension (its straggler detection), worked out from traces.

The extension measures while a program runs, so traces cannot be given to it. Its formulas are few,
and are followed here. Source: NVIDIA/nvidia-resiliency-ext d8686d9c (August 2026),
src/nvidia_resiliency_ext/attribution/straggler (reporting.py, straggler.py, cupti_src) and
docs/source/straggler_det/usage_guide.rst:

- A report has, of each rank, the medians of the times of each section (a part of the program that
  the user marked; of an even number the lower one) and of each kernel (of an even number the mean).
  A kernel's name has the sizes of its grid and blocks. Kernels with "ncclDev" in their names are
  left out.
- The score of a section is the reference's median over the rank's own. That of a GPU is the mean of
  the same ratios over kernels, each weighted by the rank's total time in it. In relative scores,
  kernels and sections that some rank did not run are left out.
- Relative scores: the reference is the least median of all ranks. Individual scores: the least
  median that the rank had in any report so far.
- A score below 0.75 makes a straggler (the default of Report.identify_stragglers(); setting
  `threshold`).

What was chosen here:
- Sections are what the usage guide marks: forward passes, their backwards (each half is one), and
  loading. They are taken from jobs and annotations. Of traces with kernels, forwards and backwards
  are scored by kernels alone, as their calls on the host only launch work.
- Bare traces of CPUs have neither, and there is no answer.
- There are four reports over the steps (setting `reports`), as individual scores need several;
  relative scores are those of all steps together. Where no trace names steps, there is one report.
- A straggler by relative scores is a slow rank; by the section of loading, a stall of its data. One
  by individual scores alone is a rank that is slow in the steps of that report. The lowest score
  comes first. Where the stragglers by relative scores are just the ranks of one stage, several of
  them, they count as that stage: who trains knows which ranks these are.
- It looks for slow ranks, and for loading where that is marked. It says nothing of costs.
"""

import collections
import statistics
import time

from . import job_times

AIMS = ["slow_rank", "slow_stage", "data_stall"]
THRESHOLD = 0.75
REPORTS = 4
LOADING = "data"


def medians_of(measured, median):
    """Of each rank and name (median, total), of the times of these."""
    return {
        rank: {name: (median(values), sum(values)) for name, values in of_rank.items()}
        for rank, of_rank in measured.items()
    }


def collect(times, name_of):
    """Of each rank and name the times; name None: it is left out."""
    measured = collections.defaultdict(lambda: collections.defaultdict(list))
    for each in times:
        name = name_of(each)
        if name is not None and each.ns > 0:
            measured[each.rank][name].append(each.ns)
    return measured


def kernel_name(kernel):
    return None if "ncclDev" in kernel.name else kernel.name + kernel.grid


def section_name(job, has_kernels):
    if job.name == LOADING or (job.name in job_times.COMPUTE and not has_kernels):
        return job.name
    return None


def least_of(summaries, ranks):
    """The least medians of the names that all ranks have."""
    common = set.intersection(*(set(summaries.get(rank, ())) for rank in ranks))
    return {name: min(summaries[rank][name][0] for rank in ranks) for name in common}


def gpu_score(summary, reference):
    """None: no kernel has a reference."""
    scores = weights = 0.0
    for name, (middle, total) in summary.items():
        if name in reference:
            scores += reference[name] / middle * total
            weights += total
    return scores / weights if weights else None


class Reporter:
    """Reports of one part of the steps after the other, with the best medians so far."""

    def __init__(self):
        self.best = collections.defaultdict(dict)

    def individual(self, kernels, sections):
        """The GPU's score of each rank, and the scores of its sections."""
        result = {}
        for rank in {*kernels, *sections}:
            best = self.best[rank]
            for kind, summaries in (("kernel", kernels), ("section", sections)):
                for name, (middle, _) in summaries.get(rank, {}).items():
                    best[kind, name] = min(best.get((kind, name), middle), middle)
            known = {name: value for (kind, name), value in best.items() if kind == "kernel"}
            scores = {}
            whole = gpu_score(kernels.get(rank, {}), known)
            if whole is not None:
                scores["GPU"] = whole
            for name, (middle, _) in sections.get(rank, {}).items():
                scores[name] = best["section", name] / middle
            result[rank] = scores
        return result


def relative(kernels, sections, ranks):
    """The same against the best rank."""
    result = {rank: {} for rank in ranks}
    reference = least_of(kernels, ranks)
    for rank in ranks:
        score = gpu_score(kernels.get(rank, {}), reference)
        if score is not None:
            result[rank]["GPU"] = score
    for name, least in least_of(sections, ranks).items():
        for rank in ranks:
            result[rank][name] = least / sections[rank][name][0]
    return result


def summaries_of(times, steps=None):
    chosen = lambda each: steps is None or each.step in steps  # noqa: E731
    has_kernels = bool(times.kernels)
    kernels = collect(filter(chosen, times.kernels), kernel_name)
    sections = collect(filter(chosen, times.jobs), lambda job: section_name(job, has_kernels))
    return medians_of(kernels, statistics.median), medians_of(sections, statistics.median_low)


def parts_of(times, count):
    """The steps of each report."""
    steps = sorted({each.step for each in (*times.jobs, *times.kernels) if each.step is not None})
    size = -(-len(steps) // count) if steps else 0
    return [set(steps[first : first + size]) for first in range(0, len(steps), size or 1)]


def straggler(rank, name, score, steps):
    kind = "data_stall" if name == LOADING else "slow_rank"
    words = "individual" if steps else "relative"
    text = "rank %d: %s score of %s is %.3f" % (rank, words, name, score)
    factor = 1 / score if kind == "slow_rank" else None
    return {"kind": kind, "ranks": [rank], "steps": steps, "factor": factor, "text": text}


def stragglers(times, hints, threshold, count):
    """(score, finding), the lowest first; each rank and kind once."""
    found = []
    ranks = times.ranks
    for rank, scores in relative(*summaries_of(times), ranks).items():
        found += [(score, straggler(rank, name, score, None)) for name, score in scores.items()]
    reporter = Reporter()
    for steps in parts_of(times, count):
        for rank, scores in reporter.individual(*summaries_of(times, steps)).items():
            for name, score in scores.items():
                found.append((score, straggler(rank, name, score, sorted(steps))))
    found = [each for each in found if each[0] < threshold]
    found.sort(key=lambda each: (each[1]["steps"] is not None, each[0]))
    known, result = set(), []
    for _, finding in found:
        key = (finding["kind"], finding["ranks"][0])
        if key not in known:
            known.add(key)
            result.append(finding)
    return joined(result, job_times.ranks_by_stage(times, hints))


def joined(found, ranks_of):
    """Puts one slow stage in the place of its ranks, where just these are slow."""
    slow = [each for each in found if each["kind"] == "slow_rank" and not each["steps"]]
    ranks = sorted(each["ranks"][0] for each in slow)
    stage = job_times.stage_with(ranks, ranks_of)
    if stage is None:
        return found
    text = "; ".join(each["text"] for each in slow)
    factor = statistics.median(each["factor"] for each in slow)
    said = {"kind": "slow_stage", "stages": [stage], "ranks": ranks, "factor": factor, "text": text}
    return [said] + [each for each in found if each not in slow]


def findings(folder, hints, settings):
    begin = time.monotonic()
    times = job_times.read(folder)
    if not any(summaries_of(times)):
        return {"not_for_format": "no kernels and no sections were found", "findings": []}
    threshold = settings.get("threshold", THRESHOLD)
    return {
        "findings": stragglers(times, hints, threshold, settings.get("reports", REPORTS)),
        "doubts": [],
        "aims": AIMS,
        "not_its_aim": False,
        "seconds": time.monotonic() - begin,
    }
