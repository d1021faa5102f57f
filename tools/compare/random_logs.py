"""Random job logs of pipeline-parallel runs: the same from the same seed, whole and damaged.

write_run(random, folder) -> Run
"""

import dataclasses
import gzip
import json
import pathlib

PLAIN = set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.+:/-")
OWN_TYPES = ["前向 传播", "tab\there", 'a "quoted" name', "eval", "😀 π ≤", "data", "default"]
FOREIGN = ["loss 0.25", "", "WARNING: slow batch", "Profiler", "Profiler Info:", "ошибка: нет",
           "[1,2,3]", "{\"event\": 1}", "Schedule Profiler start at step 7 and end at step 9"]
BROKEN = [b"Profiler Info: Job (1), type = forward, micro_batch_id = ",
          b"Profiler Info: Job (x), type = forward, micro_batch_id = 0, job_start_time = a",
          b"Profiler Info: nothing = at all",
          b"Profiler Stream: type = send_forward, start_time = 1.0",
          b"Profiler Stream: type = \"open, start_time = 1.000000, end_time = 2.000000",
          b"Profiler Counter: name = memory, time = 1.000000, value = many",
          b"Profiler Counter: name = memory",
          b"Profiler Kernel: name = \xff\xfe, start_time = 5.0, end_time = 6.0",
          b"Profiler Info: \x00\x00, type = forward",
          b"Profiler Clock: time = 1.000000, offset_ns = far",
          b"Profiler Meta: rank = none",
          b"Profiler Info: Job (99999999999), type = forward, micro_batch_id = 99999999999, "
          b"job_start_time = 1.000000, job_end_time = 2.000000",
          b"Profiler Info: Job (0), type = forward, micro_batch_id = 0, "
          b"job_start_time = 9.000000, job_end_time = 8.000000",
          b"\xf0\x28\x8c\x28 \xff plain noise"]


@dataclasses.dataclass
class Run:
    folder: pathlib.Path
    ranks: int
    pp: int
    chunks: int
    layout: str  # flat, machines or one_file
    name: str  # of what programs are given: the folder, or the file in it that holds all ranks
    whole: bool  # nothing is damaged or missing: it can be followed to its end


def milliseconds(ns):
    return f"{ns // 1_000_000}.{ns % 1_000_000:06d}"


def value(text):
    text = str(text)
    return text if text and set(text) <= PLAIN else json.dumps(text, ensure_ascii=False)


def pairs(fields):
    return ", ".join(f"{key} = {value(v)}" for key, v in fields.items() if v is not None)


@dataclasses.dataclass
class Job:
    rank: int
    kind: str
    step: int
    micro_batch: int
    stage: int
    begin: int
    end: int


def plan_step(random, shape, free, step):
    """The jobs of one step: each rank takes any job that is ready, a backward rather than not."""
    stages, micro_batches = shape["stages"], shape["micro_batches"]
    pp, forward = shape["pp"], shape["forward"]
    todo = {(kind, m, s) for kind in "FB" for m in range(micro_batches) for s in range(stages)}
    done, jobs = {}, []
    for rank in range(pp):
        jobs.append(Job(rank, "lr", step, 0, rank, free[rank], free[rank] + random.randint(1, 9999)))
        free[rank] = jobs[-1].end
    while todo:
        ready = []
        for kind, m, s in todo:
            needs = (("F", m, s - 1) if s else None) if kind == "F" else (
                ("B", m, s + 1) if s + 1 < stages else ("F", m, s))
            if needs is None or needs in done:
                at = max(free[s % pp], done.get(needs, 0))
                ready.append((at, kind, m, s))
        at, kind, m, s = min(ready)
        todo.remove((kind, m, s))
        begin = at + random.choice([0, 0, 1, 500, random.randint(0, forward // 4)])
        length = random.randint(forward // 2, forward) * (1 if kind == "F" else 2)
        job = Job(s % pp, "forward" if kind == "F" else "backward", step, m, s, begin, begin + length)
        free[job.rank] = done[kind, m, s] = job.end
        jobs.append(job)
    for rank in range(pp):
        jobs.append(Job(rank, "optimizer", step, 0, rank, free[rank], free[rank] + forward))
        free[rank] = jobs[-1].end
    return jobs


class Writer:
    """The log of one rank of one run, in that rank's own clock."""

    def __init__(self, random, style, skew):
        self.random, self.style, self.skew = random, style, skew
        self.lines, self.written, self.ids = [], 0, 0

    def time(self, ns):
        return milliseconds(max(0, ns - self.skew))

    def line(self, mark, text):
        glog = "I1020 09:15:07.265326 22317 log_writer.cpp:1] " if self.style["glog"] else ""
        self.lines.append(f"{glog}Profiler {mark}: {text}".encode())

    def job(self, job):
        random, style = self.random, self.style
        self.ids += 1
        kind = job.kind if random.random() > 0.02 else random.choice(OWN_TYPES)
        chunk = job.stage // style["pp"]
        if style["paddle"] and chunk:
            kind += str(chunk)
        begin = job.begin - (style["overlap"] if random.random() < 0.1 else 0)
        text = (f"Job ({job.micro_batch}), type = {value(kind)}, "
                f"micro_batch_id = {job.micro_batch}, job_start_time = {self.time(begin)}, "
                f"job_end_time = {self.time(job.end)}")
        if not style["paddle"]:
            more = {"id": self.ids, "step": job.step, "stage": job.stage, "chunk": chunk,
                    "stream": "compute", "part": random.choice([None] * 9 + [1]),
                    "version": random.choice([None] * 9 + [job.step]),
                    "loss": random.choice([None] * 9 + ["0.5", "1e3", "-7", "007", "тест"])}
            text += ", " + pairs(more)
        self.line("Info", text)
        self.written += 1
        if not style["paddle"]:
            self.beside(job, chunk)

    def beside(self, job, chunk):
        """What other lanes hold of a job: messages, collectives, kernels, samples."""
        random, pp = self.random, self.style["pp"]
        about = {"job": self.ids, "step": job.step, "stage": job.stage, "chunk": chunk}
        kind = {"forward": "send_forward", "backward": "send_backward"}.get(job.kind)
        to = job.stage + (1 if job.kind == "forward" else -1)
        if kind and 0 <= to < self.style["stages"] and to % pp != job.rank:
            base = self.style["first_rank"]
            late = random.randint(0, 40_000)
            self.stream(kind, job.end, job.end + late, job, peer=base + to % pp,
                        bytes=random.choice([None, 4096, 1 << 30]), **about)
        if kind and random.random() < 0.5 and job.stage:
            self.stream("recv_" + job.kind, job.begin - random.randint(0, 90_000), job.begin, job,
                        stream=random.choice(["recv", "recv", "前"]), **about)
        if job.kind == "optimizer" and random.random() < 0.5:
            self.stream("all_reduce", job.begin, job.end, job, **about)
            self.stream("broadcast", job.begin, job.begin, job, stream="nccl", untimed=1,
                        communicator="a1b2", sequence=job.step, **about)
        if random.random() < self.style["kernels"]:
            for n in range(random.randint(1, 3)):
                begin = job.begin + n * 1000
                self.line("Kernel", pairs({
                    "name": random.choice(["gemm<float, 4>", "relu", "核"]),
                    "start_time": self.time(begin), "end_time": self.time(begin + 900),
                    "stream": random.choice([7, 13]), "job": self.ids}))
        if random.random() < self.style["counters"]:
            self.line("Counter", pairs({
                "name": random.choice(["memory", "loss", "温度"]), "time": self.time(job.end),
                "value": random.choice(["4096", "0.125", "-1", "nan", "inf", "1e300"]),
                "unit": random.choice([None, "bytes"])}))
            self.written += 1

    def stream(self, kind, begin, end, of, **fields):
        self.line("Stream", pairs({
            "type": kind, "micro_batch_id": of.micro_batch, "start_time": self.time(begin),
            "end_time": self.time(end), **fields}))
        self.written += fields.get("stream") != "nccl"


def draw_shape(random):
    """How many ranks, hosts, stages, … a run has, and how its logs look."""
    shape = any_shape(random)
    if random.random() < 0.35:
        shape.update(paddle=False, meta=True, full_meta=True, end="all", cut=None, damage=0,
                     lose_rank=False, layout="flat", gzip=False, runs=1)
    return shape


def any_shape(random):
    pp, dp = random.choice([(1, 1), (2, 1), (3, 1), (4, 1), (6, 1), (2, 2), (2, 3), (3, 2), (1, 3)])
    chunks = random.choice([1, 1, 2, 3])
    paddle = random.random() < 0.15
    return {
        "pp": pp, "dp": dp, "chunks": chunks, "stages": pp * chunks, "paddle": paddle,
        "micro_batches": random.randint(1, 6), "steps": random.randint(1, 4),
        "forward": random.choice([2_000, 3_000_000, 40_000_000]),
        "start": random.choice([1_697_793_307_213_760_986, 5_000_000_000, 300_000]),
        "hosts": random.randint(1, 3), "glog": random.random() < 0.7,
        "overlap": random.choice([0, 0, 100_000]), "kernels": random.choice([0, 0, 0.3]),
        "counters": random.choice([0, 0.4]), "noise": random.choice([0, 0, 0.03, 0.2]),
        "damage": random.choice([0, 0, 0.01, 0.1]), "meta": not paddle and random.random() < 0.9,
        "full_meta": random.random() < 0.8, "end": random.choice(["all", "all", "some", "none"]),
        "runs": random.choice([1, 1, 1, 2, 3]), "cut": random.choice([None] * 4 + ["last", "half"]),
        "lose_rank": random.random() < 0.1, "step_0": random.choice([0, 0, 5]),
        "layout": random.choice(["flat", "flat", "flat", "machines", "one_file"]),
        "crlf": random.random() < 0.1, "gzip": random.random() < 0.15}


def meta_text(random, shape, rank):
    fields = {"version": random.choice([1] * 9 + [2]), "rank": rank}
    if shape["full_meta"]:
        fields.update(world_size=shape["pp"] * shape["dp"], host=f"node {rank % shape['hosts']}",
                      device=random.choice(["cpu", "cuda:0", "仿真"]), num_stages=shape["stages"],
                      num_chunks=shape["chunks"], num_micro_batches=shape["micro_batches"],
                      schedule=random.choice(["1F1B", "my own"]) if random.random() < 0.05 else "1F1B",
                      data_parallel_index=rank // shape["pp"], clock="tsc",
                      flops_per_step=10 ** 12, tokens_per_step=2048)
    return pairs(fields)


def end_text(random, written, number):
    return pairs({"written": written + random.choice([0, 0, 0, 3]),
                  "dropped": random.choice([0, 0, 5]), "errors": random.choice([0, 0, 3]),
                  "misuses": random.choice([None, 2]), "failed_writes": random.choice([None, 1]),
                  "late_starts": random.choice([0, 4]), "own_cost_ns": 1000 + number,
                  "log_thread_ns": random.choice([None, 40311])})


def rank_lines(random, shape, rank, jobs, skew, number):
    style = dict(shape, first_rank=rank - rank % shape["pp"])
    log = Writer(random, style, skew)
    if shape["meta"]:
        log.line("Meta", meta_text(random, shape, rank))
    mine = [job for job in jobs if job.rank == rank % shape["pp"]]
    for n, job in enumerate(sorted(mine, key=lambda job: (job.step, job.begin))):
        if shape["hosts"] > 1 and n % 7 == 0 and shape["meta"]:
            log.line("Clock", pairs({"time": log.time(job.begin), "offset_ns": skew,
                                     "bound_ns": random.randint(0, 5000)}))
        log.job(job)
        if random.random() < shape["noise"]:
            log.lines.append(random.choice(FOREIGN).encode())
        if random.random() < shape["damage"]:
            log.lines.append(random.choice(BROKEN))
    ends = shape["end"] == "all" or shape["end"] == "some" and random.random() < 0.5
    if shape["meta"] and ends:
        log.line("End", end_text(random, log.written, number))
    return log.lines


def rank_bytes(random, shape, rank, skew):
    """All runs of a rank's log, one after the other."""
    lines = []
    for number in range(shape["runs"]):
        start = shape["start"] + number * 10_000_000_000 + rank // shape["pp"] * 777_777
        free = [start + random.randint(0, 5000) for _ in range(shape["pp"])]
        shared = type(random)(f"{shape['seed']} {number} {rank // shape['pp']}")
        jobs = [job for step in range(shape["steps"])
                for job in plan_step(shared, shape, free, shape["step_0"] + step)]
        lines += rank_lines(random, shape, rank, jobs, skew, number)
    text = (b"\r\n" if shape["crlf"] else b"\n").join(lines) + b"\n"
    if shape["cut"] == "last":
        text = text[:-random.randint(1, 40)]
    return text[:len(text) // 2] if shape["cut"] == "half" and random.random() < 0.5 else text


def write_log(path, text, squeeze):
    path.parent.mkdir(parents=True, exist_ok=True)
    if squeeze:
        path.with_name(path.name + ".gz").write_bytes(gzip.compress(text, mtime=0))
    else:
        path.write_bytes(text)


def write_run(random, folder):
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True)
    shape = draw_shape(random)
    shape["seed"] = random.random()
    ranks = shape["pp"] * shape["dp"]
    per_host = max(1, -(-ranks // shape["hosts"]))
    skews = [0] + [random.choice([-1, 1]) * random.randint(0, 9_000_000) for _ in range(ranks)]
    if shape["paddle"] or not shape["meta"]:
        skews = [0] * len(skews)
    lost = random.randrange(ranks) if shape["lose_rank"] and ranks > 1 else None
    whole_file = b""
    for rank in range(ranks):
        text = rank_bytes(random, shape, rank, skews[rank // per_host])
        if rank == lost:
            continue
        if shape["layout"] == "one_file":
            whole_file += text
        elif shape["layout"] == "machines":
            write_log(folder / f"machine{rank // per_host}" / f"workerlog.{rank % per_host}", text,
                      shape["gzip"])
        else:
            write_log(folder / f"workerlog.{rank}", text, shape["gzip"])
    if shape["layout"] == "one_file":
        write_log(folder / "all_ranks.log", whole_file, False)
    whole = (shape["meta"] and shape["end"] == "all" and not shape["cut"] and lost is None and
             shape["layout"] == "flat" and not shape["gzip"] and shape["runs"] == 1 and
             shape["full_meta"] and not shape["damage"])
    name = folder.name + ("/all_ranks.log" if shape["layout"] == "one_file" else "")
    return Run(folder, ranks, shape["pp"], shape["chunks"], shape["layout"], name, whole)
