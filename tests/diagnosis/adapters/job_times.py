"""Reads how long what took on which rank, from traces of several formats, with Python alone.

This is what people get with a few lines of a script: durations by name and rank. Clocks, messages
and waits are not looked at.

    times = job_times.read(folder)
    times.jobs       forwards, backwards and their halves, loading, optimizers (Time)
    times.kernels    what ran on devices, NCCL's included; with the job that launched it, if known
    times.operators  of traces that have neither: the outermost operators of each thread

Formats: job logs (workerlog.<rank>), torch.profiler and other Chrome JSON with B and E or X events,
MegatronApp's files of single ranks, Nsight Systems' SQLite exports.
"""

import bisect
import collections
import dataclasses
import gzip
import json
import os
import re
import sqlite3


@dataclasses.dataclass(slots=True)
class Time:
    rank: int
    name: str  # of a job its kind: forward, backward, backward_input, backward_weight, data, …
    ns: int
    stage: int | None = None
    step: int | None = None
    begin: int = 0  # in the clock of its file
    grid: str = ""  # of a kernel, where known: sizes of its grid and blocks
    thread: tuple = ()


class Times:
    def __init__(self):
        self.jobs, self.kernels, self.operators, self.steps = [], [], [], []

    @property
    def ranks(self):
        lists = (self.jobs, self.kernels, self.operators)
        return sorted({each.rank for times in lists for each in times})


LETTERS = {"F": "forward", "B": "backward", "I": "backward_input", "W": "backward_weight"}
COMPUTE = tuple(LETTERS.values())
PATTERNS = (
    (re.compile(r"(?:PP:)?(\d+)([FBIW])(\d+)$"), None),
    (re.compile(r"(?:.*[._])?forward(?:[-_]compute|[-_]step)?(?: \d+)?$", re.I), "forward"),
    (re.compile(r"(?:.*[._])?backward(?:[-_]compute|[-_]step)?(?: \d+)?$", re.I), "backward"),
    (re.compile(r"(?:.*[._])?backward_(?:input|b)(?: \d+)?$", re.I), "backward_input"),
    (re.compile(r"(?:.*[._])?backward_(?:weight|w)(?: \d+)?$", re.I), "backward_weight"),
    (re.compile(r"Optimizer\.step#|optimizer", re.I), "optimizer"),
    (re.compile(r"enumerate\(DataLoader\)|.*DataLoader|data|batch-generator", re.I), "data"),
)
STEP = re.compile(r"ProfilerStep ?#(\d+)")


def job_of(name):
    """(kind, stage) of a name; None: it is no job's."""
    for pattern, kind in PATTERNS:
        found = pattern.match(name)
        if found:
            return (kind, None) if kind else (LETTERS[found[2]], int(found[1]))
    return None


def is_of_nccl(name):
    return "nccl" in name.lower()


# Job logs -----------------------------------------------------------------------------------------

PAIR = re.compile(r'([\w ()]+) = ("(?:[^"\\]|\\.)*"|[^,\s]+)')


def nanoseconds(milliseconds):
    whole, _, part = milliseconds.partition(".")
    return int(whole) * 1_000_000 + int((part + "000000")[:6])


def read_log(path, rank, times):
    with open(path, encoding="utf-8", errors="replace") as file:
        for line in file:
            meta = line.partition("Profiler Meta: ")[2]
            if meta:
                rank = int(dict(PAIR.findall(meta)).get("rank", rank))
            info = line.partition("Profiler Info: ")[2]
            if not info:
                continue
            values = {key.strip(): value for key, value in PAIR.findall(info)}
            begin, end = (nanoseconds(values["job_%s_time" % which]) for which in ("start", "end"))
            times.jobs.append(
                Time(
                    rank,
                    values["type"],
                    end - begin,
                    int(values["stage"]) if "stage" in values else None,
                    int(values["step"]) if "step" in values else None,
                    begin,
                )
            )


# Chrome JSON --------------------------------------------------------------------------------------


def load_json(path):
    opened = gzip.open if path.endswith(".gz") else open
    with opened(path, "rt", encoding="utf-8", errors="replace") as file:
        return json.load(file)


def number_in(name):
    """The rank in a file's name; None: there is none."""
    found = re.findall(r"(?:rank|worker)[-_.]?(\d+)", name) or re.findall(r"(\d+)", name)
    return int(found[-1]) if found else None


GRID = re.compile(r"(?:dp|data)[-_]?(\d+)[-_](?:pp|pipeline)[-_]?(\d+)[-_](?:tp|tensor)[-_]?(\d+)")


def ranks_by_grid(names):
    """The ranks of files that are named by their places, as data-0-pipeline-1-tensor-0: tensor
    ranks count first, then replicas, then positions. Empty: names are of another kind."""
    places = {
        name: tuple(map(int, found.groups())) for name in names if (found := GRID.search(name))
    }
    if len(places) < len(names):
        return {}
    replicas, _, tensors = (1 + max(each[i] for each in places.values()) for i in range(3))
    return {name: (pp * replicas + dp) * tensors + tp for name, (dp, pp, tp) in places.items()}


def microseconds(value):
    return round(float(value) * 1000)


def spans_of(events, time_of):
    """(event, begin, length) of X events and of pairs of B and E."""
    open_spans = collections.defaultdict(list)
    for event in events:
        lane = (event.get("pid"), event.get("tid"))
        phase = event.get("ph")
        if phase == "X":
            yield event, time_of(event), microseconds(event.get("dur", 0))
        elif phase == "B":
            open_spans[lane, event.get("name")].append(event)
        elif phase == "E":
            waiting = open_spans[lane, event.get("name")] or next(
                (spans for key, spans in open_spans.items() if key[0] == lane and spans), []
            )
            if waiting:
                begun = waiting.pop()
                merged = {**event, **begun, "args": {**(event.get("args") or {})}}
                merged["args"].update(begun.get("args") or {})
                merged.update({key: value for key, value in event.items() if key not in begun})
                yield merged, time_of(begun), time_of(event) - time_of(begun)


def read_trace(path, rank, times):
    data = load_json(path)
    events = data.get("traceEvents", []) if isinstance(data, dict) else data
    info = data.get("distributedInfo", {}) if isinstance(data, dict) else {}
    if not events:
        return
    if any("rel_ts" in event for event in events[:20]):
        return read_spans(
            spans_of(events, lambda event: int(event.get("rel_ts", 0))), rank or 0, times
        )
    events = [event for event in events if "ts" in event]
    spans = spans_of(events, lambda event: microseconds(event["ts"]))
    if any(event.get("cat") in ("kernel", "cpu_op", "user_annotation") for event in events):
        return read_kineto(list(spans), int(info.get("rank", rank or 0)), times)
    processes = {event.get("pid") for event in events}
    return read_spans(spans, None if len(processes) > 1 or rank is None else rank, times)


def first_of(event, *keys):
    for key in keys:
        for values in (event, event.get("args") or {}):
            if key in values:
                return values[key]
    return None


def read_spans(spans, rank, times):
    """Spans whose names are those of jobs. `rank` None: that of the process."""
    iterations = collections.Counter()
    for event, begin, length in spans:
        name = str(event.get("name", ""))
        own = event.get("pid", 0) if rank is None else rank
        if name == "iteration":
            iterations[own] += 1
            continue
        job = job_of(name)
        if job is None:
            continue
        step = first_of(event, "iteration", "step")
        position, chunk = first_of(event, "pp_rank"), first_of(event, "model_chunk")
        stage = first_of(event, "stage")
        times.jobs.append(
            Time(
                int(own),
                job[0],
                length,
                stage if isinstance(stage, int) else job[1],
                iterations[own] if step is None else int(step),
                begin,
                thread=(position, chunk),
            )
        )


def set_stages(times):
    """A stage is chunk * positions + position, where no job names it otherwise."""
    if any(job.stage is not None for job in times.jobs):
        return
    places = [job.thread for job in times.jobs if job.thread and job.thread[0] is not None]
    positions = 1 + max((int(place[0]) for place in places), default=0)
    for job in times.jobs:
        if job.thread and job.thread[0] is not None:
            job.stage = int(job.thread[1] or 0) * positions + int(job.thread[0])


def outermost(spans):
    """Of spans (begin, end, …) of one thread those that lie in no other."""
    end = None
    for span in sorted(spans, key=lambda each: (each[0], -each[1])):
        if end is None or span[0] >= end:
            end = span[1]
            yield span


class Enclosing:
    """Which of some spans (begin, end, value) is open at a time; they do not overlap."""

    def __init__(self, spans):
        self.spans = sorted(spans, key=lambda each: each[:2])
        self.begins = [span[0] for span in self.spans]

    def at(self, time):
        place = bisect.bisect_right(self.begins, time) - 1
        if place < 0 or time > self.spans[place][1]:
            return None
        return self.spans[place][2]


def read_kineto(spans, rank, times):
    annotations, steps, launches, kernels = [], [], {}, []
    operators = collections.defaultdict(list)
    for event, begin, length in spans:
        name, category = str(event.get("name", "")), event.get("cat")
        arguments = event.get("args") or {}
        if category == "user_annotation":
            step = STEP.match(name)
            if step:
                steps.append((begin, begin + length, int(step[1])))
            elif job_of(name):
                annotations.append((begin, begin + length, job_of(name)))
        elif category == "kernel":
            kernels.append((event, begin, length))
        elif category in ("cuda_runtime", "cuda_driver"):
            launches[arguments.get("correlation")] = begin
        elif category == "cpu_op":
            thread = (event.get("pid"), event.get("tid"))
            operators[thread].append((begin, begin + length, name))
    step_at, job_at = Enclosing(steps), Enclosing(list(outermost(annotations)))
    times.steps += [Time(rank, "step", end - begin, step=number) for begin, end, number in steps]
    for begin, end, (kind, stage) in annotations:
        times.jobs.append(Time(rank, kind, end - begin, stage, step_at.at(begin), begin))
    for event, begin, length in kernels:
        arguments = event.get("args") or {}
        launched = launches.get(arguments.get("correlation"), begin)
        job = job_at.at(launched)
        kernel = Time(rank, str(event["name"]), length, job[1] if job else None)
        kernel.step, kernel.begin = step_at.at(launched), begin
        kernel.grid = str([arguments.get(key) for key in ("grid", "block") if key in arguments])
        times.kernels.append(kernel)
    for thread, of_thread in operators.items():
        for begin, end, name in outermost(of_thread):
            job = job_at.at(begin)
            operator = Time(rank, name, end - begin, job[1] if job else None, step_at.at(begin))
            operator.begin = begin
            operator.thread = thread
            times.operators.append(operator)


# Nsight Systems -----------------------------------------------------------------------------------


def read_nsight(path, times):
    rank = number_in(os.path.basename(path)) or 0
    base = sqlite3.connect("file:%s?mode=ro" % path, uri=True)
    try:
        tables = {row[0] for row in base.execute("SELECT name FROM sqlite_master")}
        strings = (
            dict(base.execute("SELECT id, value FROM StringIds")) if "StringIds" in tables else {}
        )
        annotations = list(nsight_ranges(base, tables, strings))
        job_at = Enclosing(list(outermost(annotations)))
        for begin, end, (kind, stage) in annotations:
            times.jobs.append(Time(rank, kind, end - begin, stage, None, begin))
        times.kernels += nsight_kernels(base, tables, strings, rank, job_at)
    finally:
        base.close()


def columns_of(base, table):
    return {row[1] for row in base.execute("PRAGMA table_info(%s)" % table)}


def nsight_ranges(base, tables, strings):
    if "NVTX_EVENTS" not in tables:
        return
    text = "textId" if "textId" in columns_of(base, "NVTX_EVENTS") else "NULL"
    rows = base.execute("SELECT start, end, text, %s FROM NVTX_EVENTS WHERE end NOT NULL" % text)
    for begin, end, name, number in rows:
        job = job_of(name or strings.get(number, ""))
        if job:
            yield begin, end, job


def nsight_kernels(base, tables, strings, rank, job_at):
    kernels, calls = "CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_RUNTIME"
    if kernels not in tables:
        return
    launches = {}
    if calls in tables:
        launches = dict(base.execute("SELECT correlationId, start FROM %s" % calls))
    columns = columns_of(base, kernels)
    name = next((each for each in ("demangledName", "shortName") if each in columns), "NULL")
    sizes = [each for each in ("gridX", "gridY", "gridZ", "blockX") if each in columns]
    more = "".join(", " + each for each in sizes)
    rows = base.execute("SELECT start, end, correlationId, %s%s FROM %s" % (name, more, kernels))
    for begin, end, correlation, number, *grid in rows:
        job = job_at.at(launches.get(correlation, begin))
        found = strings.get(number, str(number))
        yield Time(rank, found, end - begin, job[1] if job else None, None, begin, str(grid))


# Folders ------------------------------------------------------------------------------------------


def read(folder):
    times = Times()
    files = sorted(files_in(folder))
    grid = ranks_by_grid([name for _, name in files])
    for path, name in files:
        if name.startswith("workerlog."):
            read_log(path, number_in(name), times)
        elif name.endswith((".json", ".json.gz")):
            read_trace(path, grid.get(name, number_in(name)), times)
        elif name.endswith(".sqlite"):
            read_nsight(path, times)
    set_stages(times)
    return times


def files_in(folder):
    for root, _, names in os.walk(folder):
        for name in names:
            if not name.startswith("."):
                yield os.path.join(root, name), name


def ranks_by_stage(times, hints):
    """The ranks of each stage, as who trained says, or else as jobs and kernels name them."""
    known = hints.get("ranks_of_stage")
    if known:
        return {int(stage): sorted(ranks) for stage, ranks in known.items()}
    ranks = collections.defaultdict(set)
    for each in (*times.jobs, *times.kernels):
        if each.stage is not None:
            ranks[each.stage].add(each.rank)
    return {stage: sorted(found) for stage, found in sorted(ranks.items())}


def stage_with(ranks, ranks_of):
    """The only stage of just these ranks, several of them; None: there is none."""
    stages = [stage for stage, own in ranks_of.items() if own == sorted(ranks)]
    return stages[0] if len(ranks) > 1 and len(stages) == 1 else None
