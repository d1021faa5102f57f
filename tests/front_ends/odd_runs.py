"""Job logs of runs that are hard to draw, with counts of their contents that are made here alone.

write_odd_runs(folder) -> [Run]
"""

import dataclasses
import json
import pathlib

EPOCH_NS = 1_697_793_307_213_760_986  # an odd number of ns
ONE_RANK = {"world_size": 1, "num_stages": 1, "num_chunks": 1}
PLAIN = set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.+:/-")
TRICKY = ['quote " inside', "back\\slash\\", 'both \\" of them', "tab\tand\nnew line", "\x01\x1f\x7f",
          "前向 传播", "😀 π ≤", "</script>", "comma, = equals", " spaces ", "100%{}[]"]


@dataclasses.dataclass
class Run:
    """A folder of logs, with the counts of its events and the sum of all lengths in ns."""

    name: str
    logs: pathlib.Path
    jobs: int = 0
    transfers: int = 0
    counters: int = 0
    length_ns: int = 0
    names: set = dataclasses.field(default_factory=set)  # names that slices must have, among others
    strings: set = dataclasses.field(default_factory=set)  # strings that arguments must have


def milliseconds(ns):
    assert ns >= 0
    return f"{ns // 1_000_000}.{ns % 1_000_000:06d}"


def value(text):
    """A value of a line, in quotes if it needs them."""
    text = str(text)
    return text if text and set(text) <= PLAIN else json.dumps(text, ensure_ascii=False)


class Log:
    """The log of one rank."""

    def __init__(self, run, rank, **meta):
        self.run, self.rank, self.ids = run, rank, 0
        self.lines = []
        self.line("Meta", version=1, rank=rank, **meta)

    def line(self, mark, **fields):
        pairs = ", ".join(f"{key} = {value(v)}" for key, v in fields.items())
        self.lines.append(f"Profiler {mark}: {pairs}")

    def job(self, kind, micro_batch, begin, end, **more):
        self.lines.append(
            f"Profiler Info: Job ({micro_batch}), type = {kind}, micro_batch_id = {micro_batch}, "
            f"job_start_time = {milliseconds(begin)}, job_end_time = {milliseconds(end)}"
            + "".join(f", {key} = {value(v)}" for key, v in {"id": self.ids, **more}.items()))
        self.ids += 1
        self.run.jobs += 1
        self.run.length_ns += end - begin

    def transfer(self, kind, micro_batch, begin, end, **more):
        self.line("Stream", type=kind, micro_batch_id=micro_batch, start_time=milliseconds(begin),
                  end_time=milliseconds(end), **more)
        self.run.transfers += 1
        self.run.length_ns += end - begin

    def sample(self, name, time, amount, **more):
        self.line("Counter", name=name, time=milliseconds(time), value=amount, **more)
        self.run.counters += 1

    def write(self):
        self.line("End", written=self.run.jobs)
        path = self.run.logs / f"workerlog.{self.rank}"
        path.write_bytes(("\n".join(self.lines) + "\n").encode())


def pipeline(run, ranks, micro_batches, origin=EPOCH_NS, steps=1, forward=1_000_003):
    """All forward, then all backward, jobs touching to the nanosecond, with sends and receives."""
    backward, transfer = 2 * forward + 1, forward // 10
    for place, rank in enumerate(ranks):
        log = Log(run, rank, num_stages=len(ranks), num_chunks=1,
                  num_micro_batches=micro_batches)
        for step in range(steps):
            at = origin + step * 4 * forward * (micro_batches + len(ranks)) + place * forward
            common = {"step": step, "stage": place}
            log.job("lr", 0, at, at, **common)
            for m in range(micro_batches):
                if place > 0:
                    log.transfer("recv_forward", m, at - transfer // 2, at, stream="recv",
                                 peer=ranks[place - 1], **common)
                log.job("forward", m, at, at + forward, **common)
                at += forward
                log.sample("memory", at, 4096 * (m + 1), unit="bytes")
                if place + 1 < len(ranks):
                    log.transfer("send_forward", m, at, at + transfer, stream="send",
                                 peer=ranks[place + 1], bytes=4096, **common)
            at += (len(ranks) - place) * 3 * forward
            for m in range(micro_batches):
                log.job("backward", m, at, at + backward, **common)
                at += backward
            log.job("optimizer", 0, at, at + 500, **common)
        log.write()


def overlapping(run):
    log = Log(run, 0, **ONE_RANK)
    at = EPOCH_NS
    for begin, end in ((0, 100), (50, 150), (50, 150), (60, 70), (99, 101), (100, 100), (150, 160)):
        log.job("forward", 0, at + begin, at + end, step=0, stage=0)
    for begin, end in ((0, 90), (10, 20), (89, 91), (90, 90)):
        log.transfer("send_forward", 1, at + begin, at + end, stream="send", step=0, stage=0)
    # The only known lines from PaddlePaddle itself overlap on one device.
    log.job("forward", 2, at + 1_000, at + 40_246_118)
    log.job("forward", 3, at + 981_934, at + 5_407_959)
    log.write()


def zero_length(run):
    log = Log(run, 0, **ONE_RANK)
    at = EPOCH_NS
    for begin, end in ((0, 0), (0, 0), (0, 10), (10, 10), (10, 20), (15, 15), (20, 20), (20, 20),
                       (30, 30), (31, 31), (32, 40), (40, 40)):
        log.job("forward", 0, at + begin, at + end, step=0, stage=0)
    log.transfer("send_forward", 0, at + 5, at + 5, stream="send", step=0, stage=0)
    log.write()


def touching(run):
    for rank in range(3):
        log = Log(run, rank, world_size=3, num_stages=3, num_chunks=1)
        at = EPOCH_NS
        for m in range(200):
            length = 1 if m % 3 == 0 else 7 * m + rank
            log.job("forward" if m % 2 else "backward", m, at, at + length, step=0, stage=rank)
            at += length
        log.write()


def chunks(run):
    for rank in range(2):
        log = Log(run, rank, world_size=2, num_stages=4, num_chunks=2, num_micro_batches=4)
        at = EPOCH_NS + rank * 1_000
        for kind, order in (("forward", (0, 1)), ("backward", (1, 0))):
            for chunk in order:
                for m in range(4):
                    stage = chunk * 2 + rank
                    log.job(kind, m, at, at + 1_001, step=0, stage=stage, chunk=chunk,
                            action=f"{stage}{kind[0].upper()}{m}")
                    at += 1_001
        # A fused pair, halves of a backward pass, and a type with its chunk in it.
        log.job("forward_backward", 5, at, at + 10, step=0, stage=rank, chunk=0,
                action="(0F5;3B1)OVERLAP_F_B")
        log.job("backward_b1", 6, at + 10, at + 20, step=0, stage=rank + 2)
        log.job("backward_w1", 6, at + 20, at + 30, step=0, stage=rank + 2)
        log.write()


def names(run):
    for rank in range(2):
        log = Log(run, rank, world_size=2, num_stages=2, num_chunks=1, host=TRICKY[rank], device=TRICKY[5 + rank], schedule=TRICKY[2])
        at = EPOCH_NS
        for i, text in enumerate(TRICKY):
            log.line("Kernel", name=text, start_time=milliseconds(at), end_time=milliseconds(at + 9),
                     note=text)
            run.transfers += 1
            run.length_ns += 9
            run.names.add(text)
            log.job("forward", i, at, at + 10, step=0, stage=rank, action=text)
            run.strings.add(text)
            log.transfer("copy", i, at, at + 3, stream=text, step=0)
            log.sample(text, at, i, unit=text)
            at += 10
        log.job("前向", 0, at, at + 5)
        run.names.add("前向")
        log.write()


def write_odd_runs(folder):
    makers = {
        "overlapping": overlapping,
        "zero length": zero_length,
        "touching": touching,
        "one rank": lambda run: pipeline(run, [0], 4),
        "1000 ranks": lambda run: pipeline(run, list(range(1000)), 2),
        "chunks": chunks,
        "gaps in ranks": lambda run: pipeline(run, [0, 3, 17, 4711, 999_999], 3, steps=2),
        "odd names": names,
        "at the epoch": lambda run: pipeline(run, [0, 1], 3, origin=1_000_000),
        "at 0": lambda run: pipeline(run, [0], 3, origin=0),
        "nanoseconds long": lambda run: pipeline(run, [0, 1, 2], 3, forward=10),
    }
    runs = []
    for name, make in makers.items():
        run = Run(name, pathlib.Path(folder) / name)
        run.logs.mkdir(parents=True)
        make(run)
        runs.append(run)
    return runs
