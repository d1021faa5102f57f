"""Sound runs of one pipeline, made up: the same from the same random numbers.

make(random, folder) writes one file a rank, as the recorder, PyTorch's profiler on processors or
PyTorch's profiler on GPUs would, and returns its jobs.
"""

import dataclasses
import json

MS, US = 1_000_000, 1_000


@dataclasses.dataclass
class Job:
    rank: int
    kind: str  # F or B
    stage: int
    micro_batch: int
    step: int
    begin: int  # ns
    end: int
    received: int = 0  # when its data came, 0: from nowhere


@dataclasses.dataclass
class Shape:
    """What runs have in common with others, and what they have not."""
    name: str  # logs, host or device
    schedule: str
    ranks: int
    chunks: int
    micro_batches: int
    steps: int
    forward: list  # ns of each stage
    jitter: float
    message: int  # ns
    hosts: int
    epoch: int  # ns
    messages_recorded: bool


def draw_shape(random):
    ranks = random.choice([2, 2, 3, 4, 4, 6])
    chunks = random.choice([1, 1, 1, 2])
    base = random.choice([300 * US, 3 * MS, 20 * MS])
    uneven = random.choice([0, 0, 0.3])
    return Shape(
        name=random.choice(["logs", "logs", "host", "device"]),
        schedule="GPipe" if chunks > 1 else random.choice(["1F1B", "1F1B", "GPipe"]),
        ranks=ranks, chunks=chunks, micro_batches=random.choice([2, 4, 8]) * chunks,
        steps=random.randint(2, 5),
        forward=[int(base * (1 + uneven * random.random())) for _ in range(ranks * chunks)],
        jitter=random.choice([0, 0.02, 0.1]), message=random.choice([0, base // 100, base // 8]),
        hosts=random.choice([1, 1, 2]),
        epoch=random.choice([1_697_793_307_213_760_986, 1_750_000_000_000_000_000]),
        messages_recorded=random.random() < 0.7)


def order(shape, rank):
    """The jobs of a step in the order in which the rank runs them, as (kind, stage, micro-batch)."""
    stages = [chunk * shape.ranks + rank for chunk in range(shape.chunks)]
    every = range(shape.micro_batches)
    if shape.schedule == "GPipe":
        return ([("F", s, m) for s in stages for m in every] +
                [("B", s, m) for s in reversed(stages) for m in every])
    warm_up = min(shape.ranks - rank, shape.micro_batches)
    jobs = [("F", rank, m) for m in range(warm_up)]
    for m in every:
        jobs.append(("B", rank, m))
        if warm_up + m < shape.micro_batches:
            jobs.append(("F", rank, warm_up + m))
    return jobs


def simulate(random, shape):
    """All jobs of the run: each begins when its rank is free and its data has come."""
    jobs, free = [], [shape.epoch] * shape.ranks
    last = shape.ranks * shape.chunks - 1
    for step in range(shape.steps):
        todo = {rank: order(shape, rank) for rank in range(shape.ranks)}
        done = {}
        while any(todo.values()):
            for rank, rest in todo.items():
                while rest:
                    kind, stage, m = rest[0]
                    if kind == "F":
                        source = ("F", stage - 1, m) if stage else None
                    else:
                        source = ("B", stage + 1, m) if stage < last else ("F", stage, m)
                    if source is not None and source not in done:
                        break
                    other = source is not None and source[1] % shape.ranks != rank
                    came = done[source] + (shape.message if other else 0) if source else 0
                    length = shape.forward[stage] * (1 if kind == "F" else 2)
                    length = int(length * (1 + shape.jitter * (random.random() - 0.5)))
                    begin = max(free[rank], came)
                    done[kind, stage, m] = free[rank] = begin + length
                    jobs.append(Job(rank, kind, stage, m, step, begin, begin + length,
                                    came if other else 0))
                    rest.pop(0)
        end = max(free) + shape.forward[0] // 10
        free = [end] * shape.ranks
    return jobs


def write_log(shape, rank, jobs, to):
    """As the recorder writes it."""
    def ms(ns):
        return f"{ns // MS}.{ns % MS:06d}"
    lines = [f"Profiler Meta: version = 1, rank = {rank}, world_size = {shape.ranks}, "
             f"host = host{rank * shape.hosts // shape.ranks}, num_stages = "
             f"{shape.ranks * shape.chunks}, num_chunks = {shape.chunks}, num_micro_batches = "
             f"{shape.micro_batches}, data_parallel_index = 0"]
    last = shape.ranks * shape.chunks - 1
    for n, job in enumerate(jobs):
        about = f"step = {job.step}, stage = {job.stage}, chunk = {job.stage // shape.ranks}"
        name = "forward" if job.kind == "F" else "backward"
        lines.append(f"Profiler Info: Job ({job.micro_batch}), type = {name}, micro_batch_id = "
                     f"{job.micro_batch}, job_start_time = {ms(job.begin)}, job_end_time = "
                     f"{ms(job.end)}, id = {n}, {about}")
        if not shape.messages_recorded:
            continue
        to_stage = job.stage + (1 if job.kind == "F" else -1)
        if 0 <= to_stage <= last and to_stage % shape.ranks != rank:
            lines.append(f"Profiler Stream: type = send_{name}, micro_batch_id = {job.micro_batch}, "
                         f"start_time = {ms(job.end)}, end_time = {ms(job.end + shape.message)}, "
                         f"stream = send, peer = {to_stage % shape.ranks}, job = {n}, {about}")
        if job.received:
            source = (job.stage - (1 if job.kind == "F" else -1)) % shape.ranks
            lines.append(f"Profiler Stream: type = recv_{name}, micro_batch_id = {job.micro_batch}, "
                         f"start_time = {ms(job.received - shape.message)}, end_time = "
                         f"{ms(job.received)}, stream = recv, peer = {source}, job = {n}, {about}")
    lines.append(f"Profiler End: written = {len(lines) - 1}, dropped = 0, errors = 0")
    (to / f"workerlog.{rank}").write_text("\n".join(lines) + "\n")


def write_trace(shape, rank, jobs, to):
    """As PyTorch's profiler writes it."""
    host, on_device = 1000 + rank, shape.name == "device"
    events = []

    def add(category, name, pid, tid, begin, end, **args):
        events.append({"ph": "X", "cat": category, "name": name, "pid": pid, "tid": tid,
                       "ts": begin / 1000, "dur": (end - begin) / 1000, "args": args})

    for pid, label in [(host, "CPU")] + ([(rank, f"GPU {rank}")] if on_device else []):
        events.append({"ph": "M", "name": "process_labels", "pid": pid, "tid": 0, "ts": 0,
                       "args": {"labels": label}})
    launched, correlation, step_begin = 0, 0, {}
    for job in jobs:
        name = f"PP:{job.stage}{job.kind}{job.micro_batch}"
        if not on_device:
            step_begin.setdefault(job.step, job.begin)
            add("user_annotation", name, host, host, job.begin, job.end)
            add("cpu_op", "aten::mm", host, host, job.begin + US, job.end - US)
            continue
        launched = max(launched + 20 * US, job.begin - 200 * US)
        step_begin.setdefault(job.step, launched)
        add("user_annotation", name, host, host, launched, launched + 18 * US)
        for half in range(2):
            correlation += 1
            add("cuda_runtime", "cudaLaunchKernel", host, host, launched + (2 + 8 * half) * US,
                launched + (5 + 8 * half) * US, correlation=correlation)
            middle = (job.begin + job.end) // 2
            begin, end = (job.begin, middle) if half == 0 else (middle, job.end)
            add("kernel", "gemm", rank, 7, begin, end, correlation=correlation, stream=7,
                device=rank)
    for step, begin in step_begin.items():
        end = step_begin.get(step + 1, jobs[-1].end)
        add("user_annotation", f"ProfilerStep#{step}", host, host, begin, end)
    trace = {"schemaVersion": 1, "distributedInfo": {
        "backend": "nccl" if on_device else "gloo", "rank": rank, "world_size": shape.ranks},
             "traceEvents": events}
    (to / f"rank{rank}.json").write_text(json.dumps(trace))


def write(shape, jobs, folder):
    folder.mkdir()
    for rank in range(shape.ranks):
        own = [job for job in jobs if job.rank == rank]
        (write_log if shape.name == "logs" else write_trace)(shape, rank, own, folder)


def make(random, folder):
    shape = draw_shape(random)
    jobs = simulate(random, shape)
    write(shape, jobs, folder)
    return shape, jobs


def bubble_ratio(jobs):
    """Idle time over all time, in the windows of steps (docs/metrics.md), of one pipeline."""
    if not jobs:
        return 0.0
    ranks = sorted({job.rank for job in jobs})
    steps = sorted({job.step for job in jobs})
    begins = {step: min(job.begin for job in jobs if job.step == step) for step in steps}
    ends = {step: max(job.end for job in jobs if job.step == step) for step in steps}
    idle = everything = 0
    for n, step in enumerate(steps):
        begin, end = begins[step], ends[step]
        if n + 1 < len(steps):
            end = min(end, begins[steps[n + 1]])
        for rank in ranks:
            busy, up_to = 0, begin
            for job in sorted((j for j in jobs if j.rank == rank), key=lambda j: j.begin):
                low, high = max(job.begin, up_to), min(job.end, end)
                if high > low:
                    busy, up_to = busy + high - low, high
            idle += end - begin - busy
            everything += end - begin
    return idle / everything if everything else 0.0
