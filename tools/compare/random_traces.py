"""Random traces of other programs: Chrome JSON with all its oddities, and PipelineLogger's files.

write_chrome(random, path), write_pipeline_logger(random, path), write_pattern_log(random, path)
"""

import json

NAMES = ["forward", "backward", "fwd", "Forward 3", "PP:1F3", "PP:0B1", "optimizer", "send-forward",
         "recv_backward", "nccl:all_reduce", "Memcpy HtoD", "gc", "aten::mm", "名前", "a \"b\"",
         "embed_fwd", "blk_fwd_1_2", "ProfilerStep#7", "forward_compute", "x" * 300]
CATEGORIES = ["cpu_op", "kernel", "user_annotation", "gpu_user_annotation", "", "forward"]


def stamp(random, at):
    """A time in µs, in one of the spellings that programs use."""
    return random.choice([at, at, at + 0.125, f"{at}.250", float(at)])


def event(random, at, pid, tid):
    name = random.choice(NAMES)
    kind = random.choices(["X", "BE", "i", "C", "s", "b", "bad"], [60, 15, 3, 8, 6, 3, 2])[0]
    base = {"name": name, "pid": pid, "tid": tid, "ts": stamp(random, at)}
    if random.random() < 0.4:
        base["cat"] = random.choice(CATEGORIES)
    if random.random() < 0.5:
        base["args"] = random.choice([{"step": 3, "mb_id": 1}, {"micro_batch": "2", "step": "1"},
                                      {"deep": {"er": [1, None, True]}}, {"bytes": 4096}, {}])
    length = random.randint(0, 900)
    if kind == "X":
        return [dict(base, ph="X", dur=stamp(random, length))]
    if kind == "BE":
        both = [dict(base, ph="B"), dict(base, ph="E", ts=at + length)]
        return both if random.random() < 0.9 else both[:1] if random.random() < 0.5 else both[1:]
    if kind == "C":
        return [dict(base, ph="C", args={"memory": random.choice([1, 0.5, "7"])})]
    if kind == "s":
        number = random.randint(1, 5)
        return [dict(base, ph="s", id=number), dict(base, ph=random.choice("ft"), id=number,
                                                    ts=at + length, bp="e")]
    if kind == "bad":
        return [random.choice([dict(base, ph="Z"), {"ph": "X"}, dict(base, ph="X", dur=-5),
                               dict(base, ph="X", ts="soon", dur=1), 7, None])]
    return [dict(base, ph=kind, id=1)]


def write_chrome(random, path):
    pids = random.sample(range(10), random.randint(1, 4))
    events = []
    for pid in pids:
        if random.random() < 0.7:
            events.append({"ph": "M", "name": "process_name", "pid": pid,
                           "args": {"name": random.choice([f"rank {pid}", "python 前", "CANN"])}})
        for tid in range(random.randint(1, 3)):
            events.append({"ph": "M", "name": "thread_name", "pid": pid, "tid": tid,
                           "args": {"name": f"thread {tid}"}})
            at = random.choice([0, 1_697_793_307_213_760])
            for _ in range(random.randint(1, 60)):
                events += event(random, at, pid, tid)
                at += random.randint(0, 1000)
    if random.random() < 0.3:
        random.shuffle(events)
    if random.random() < 0.5:
        text = ",\n".join(json.dumps(e, ensure_ascii=random.random() < 0.5) for e in events)
        text = "[\n" + text + random.choice(["\n]", "", ",", "\n"])
    else:
        more = random.choice([{}, {"distributedInfo": {"rank": 1}, "baseTimeNanoseconds": 5},
                              {"displayTimeUnit": "ms"}])
        text = json.dumps({**more, "traceEvents": events}, indent=random.choice([None, 1]))
    path.write_text(text, encoding="utf-8")


def write_pipeline_logger(random, path):
    entries, at = [], random.random() * 10
    for n in range(random.randint(2, 30)):
        name = random.choice(["forward", "backward", "optimizer", "send_forward"])
        more = {"microbatch": n, "stage": random.randint(0, 3)} if random.random() < 0.7 else {}
        for end in ("_start", "_end"):
            at += random.random()
            if random.random() < 0.97:
                entries.append({"event": name + end, "time": round(at, 6), **more})
    path.write_text(json.dumps(entries, indent=random.choice([None, 2])), encoding="utf-8")


PATTERN = (r"worker (?P<rank>\d+): ran (?P<type>\S+)( of batch (?P<micro_batch_id>\S+))?"
           r" from (?P<start>[\d.]+) to (?P<end>[\d.]+)( tag=(?P<tag>\w+))?")


def write_pattern_log(random, path):
    lines, at = [], 1_697_793_307.0
    for _ in range(random.randint(1, 80)):
        end = at + random.choice([0, 0.25, 1.5, -1])
        batch = random.choice(["", " of batch 3", " of batch -"])
        lines.append(f"worker {random.randint(0, 3)}: ran {random.choice(NAMES[:9])}{batch} from "
                     f"{at:.9f} to {end:.6f}" + random.choice(["", " tag=a", " noise"]))
        at += random.random()
    path.write_text("\n".join(lines) + random.choice(["\n", ""]), encoding="utf-8")
