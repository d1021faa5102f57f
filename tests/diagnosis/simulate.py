"""Runs a case: every rank goes through its jobs and waits for what it needs.

Rules, all in whole nanoseconds:
- A rank does its jobs in the order of the schedule, one at a time. A job begins when the one before
  has ended and what it needs has come, plus the launch gap (`launch_gap_ns`, drawn evenly between
  half and one and a half of it).
- A job takes its stage's time, times its random factor (log-normal, mean 1, sigma `jitter`).
- What a job on another rank needs is a message. It is sent when the job has ended. Its receive is
  posted before the job that comes before the one that waits for it: when the device is free for
  that job (`posting` is ahead) or, by a host that runs no further ahead than its device, when it
  begins (at begin). Or it is posted when that job has ended (late). The message moves when both are posted and the one before on its link, in the same
  direction, has ended. It takes `message_ns`, varied by `message_jitter` (log-normal).
- With `one_thread`, as on CPUs, a rank that sends late does nothing else meanwhile, and pauses lie
  inside jobs.
- With `lines`, all messages of a rank run one after the other, in the order in which PyTorch posts
  them (plans.order_of_messages); receives are posted when the step begins.
- Behind the last backward or weight half of a stage its replicas sum gradients: that begins on a
  rank when this job has ended and its sum before has, and ends `reduction_ns` after the last rank
  began it. Then all ranks sum a norm (`norm`), and the optimizer runs.
- A rank begins its next step when its optimizer has ended.

Random numbers belong to a rank and the place in its program, never to a time. So the run without a
fault has the same ones, and what a fault costs is the difference of two runs.

A step lasts from the first job's begin on any rank (loading data does not count) to the last
optimizer's end, or to the next step's begin where that is earlier. Its wall time is from begin to
begin.
"""

import collections
import math
import random
import sys

import plans
import recording


class _Reduction:
    __slots__ = ("came", "end", "waiting")

    def __init__(self):
        self.came, self.end, self.waiting = {}, None, []


class Simulation:
    """`without`: the numbers of faults that are repaired, and "jitter" where nothing varies."""

    def __init__(self, case, without=()):
        self.case = case
        self.has_jitter = "jitter" not in without
        self.faults = [
            fault for number, fault in enumerate(case["faults"]) if number not in without
        ]
        self.positions, self.replicas = case["positions"], case["replicas"]
        self.world = self.positions * self.replicas
        self.last_stage = self.positions * case["chunks"] - 1
        self.plan = [
            plans.order(
                case["schedule"], self.positions, position, case["micro_batches"], case["chunks"]
            )
            for position in range(self.positions)
        ]
        self.jobs = [[] for _ in range(self.world)]
        self.messages = {}  # (step, direction, to stage, micro-batch, replica) -> Message
        self.link_free = collections.defaultdict(int)
        self.expecting = {}
        self.reductions = collections.defaultdict(_Reduction)
        self.norms = collections.defaultdict(_Reduction)
        self.collectives = []
        self.lines = None
        if self._of("messages_in_line"):
            self._draw_lines()
        self.ready = collections.deque()
        self._by_rank = [self._times_of(rank) for rank in range(self.world)]

    # What faults say of a rank, a stage, a link ------------------------------------------------

    def _of(self, kind):
        return [fault for fault in self.faults if fault["kind"] == kind]

    def _times_of(self, rank):
        """The parts of faults that concern a rank, so that jobs need not ask all of them."""
        position = rank // self.replicas
        stages = range(position, self.last_stage + 1, self.positions)
        scale = {stage: 1.0 for stage in stages}
        for fault in self._of("slow_stage"):
            for stage in fault["stages"]:
                if stage in scale:
                    scale[stage] *= fault["factor"]
        return {
            "scale": scale,
            "slow": [f for f in self._of("slow_rank") if rank in f["ranks"]],
            "late": sum(f["delay_ns"] for f in self._of("late_starts") if rank in f["ranks"]),
            "sends": sum(f["delay_ns"] for f in self._of("late_sends") if rank in f["ranks"]),
            "pauses": {
                (step, place): f["delay_ns"]
                for f in self._of("garbage_collection")
                for step, place in f["places"].get(str(rank), ())
            },
            "loads": sum(f["delay_ns"] for f in self._of("data_stall") if rank in f["ranks"]),
            "late_message": [f for f in self._of("late_message") if rank == f["link"][0]],
        }

    def _uneven(self, step, micro_batch):
        factor = 1.0
        for fault in self._of("uneven_micro_batches"):
            factor *= fault["lengths"][step][micro_batch]
        return factor

    def _link_factor(self, source, target):
        factor = 1.0
        for fault in self._of("slow_link"):
            ends = (source, target)
            if ends == tuple(fault["link"]) or (
                fault["both_ways"] and ends == tuple(reversed(fault["link"]))
            ):
                factor *= fault["factor"]
        return factor

    # Lines ---------------------------------------------------------------------------------------

    def _draw_lines(self):
        self.orders = plans.order_of_messages(
            self.plan, self.last_stage, lambda stage: stage % self.positions
        )
        self.lines = []
        for rank in range(self.world):
            position, replica = divmod(rank, self.replicas)
            self.lines.append(
                collections.deque(
                    (step, *message, replica)
                    for step in range(self.case["steps"])
                    for message in self.orders[position]
                )
            )
        self.line_free = [0] * self.world

    # Messages --------------------------------------------------------------------------------------

    def _message(self, key):
        message = self.messages.get(key)
        if message is None:
            step, direction, to_stage, micro_batch, replica = key
            stage = to_stage - 1 if direction == "F" else to_stage + 1
            message = self.messages[key] = recording.Message(
                direction,
                step,
                micro_batch,
                stage,
                to_stage,
                stage % self.positions * self.replicas + replica,
                to_stage % self.positions * self.replicas + replica,
                None,
                None,
                None,
                None,
                self.case["message_bytes"],
            )
        return message

    def _posted(self, key, message):
        """Finds the times of a message that both ends have posted, and of those behind it."""
        if self.lines is None:
            if message.sent is not None and message.received is not None:
                link = (message.source, message.target, message.direction)
                self._move(key, message, self.link_free[link])
                self.link_free[link] = message.end
            return
        ends = [message.source, message.target]
        while ends:
            rank = ends.pop()
            if not self.lines[rank]:
                continue
            key = self.lines[rank][0]
            message = self._message(key)
            if message.sent is None or message.received is None:
                continue
            if any(self.lines[end][0] != key for end in (message.source, message.target)):
                continue
            free = max(self.line_free[message.source], self.line_free[message.target])
            self._move(key, message, free)
            for end in (message.source, message.target):
                self.lines[end].popleft()
                self.line_free[end] = message.end
                ends.append(end)

    def _move(self, key, message, free):
        message.begin = max(message.sent, message.received, free)
        message.end = message.begin + message.size_ns
        if key in self.expecting:
            self.ready.append(self.expecting.pop(key))

    # Ranks -----------------------------------------------------------------------------------------

    def run(self):
        ranks = [self._rank(rank) for rank in range(self.world)]
        self.ready.extend(range(self.world))
        finished = 0
        while self.ready:
            if next(ranks[self.ready.popleft()], "done") == "done":
                finished += 1
        if finished != self.world:
            raise RuntimeError("ranks wait for each other for ever")
        messages = sorted(self.messages.values(), key=lambda m: (m.begin, m.end, m.source))
        for (step, stage, _), reduction in self.reductions.items():
            self._keep("all_reduce", "gradients", step, stage, reduction)
        for step, norm in self.norms.items():
            self._keep("all_reduce", "norm", step, -1, norm)
        self.collectives.sort(key=lambda c: (c.end, c.ranks))
        return recording.Recording(
            self.case, self.jobs, messages, self.collectives, self.case["clocks"][: self.world]
        )

    def _keep(self, kind, use, step, stage, meeting):
        size = self.case["gradient_bytes"] if use == "gradients" else 4
        ranks = tuple(sorted(meeting.came))
        self.collectives.append(
            recording.Collective(kind, use, step, stage, ranks, meeting.came, meeting.end, size)
        )

    def _rank(self, rank):
        case, times = self.case, self._by_rank[rank]
        position, replica = divmod(rank, self.replicas)
        jobs, plan = self.jobs[rank], self.plan[position]
        lengths = case["lengths"]
        jitter, gap = case["jitter"], case["launch_gap_ns"]
        noise = random.Random("%d jobs %d" % (case["seed"], rank))
        gaps = random.Random("%d gaps %d" % (case["seed"], rank))
        varies = random.Random("%d messages %d" % (case["seed"], rank))
        last_of = {}  # where each stage's gradients are complete
        for place, (letter, stage, _) in enumerate(plan):
            if letter in "BW":
                last_of[stage] = place
        device = 0
        for step in range(case["steps"]):
            scale = case["first_step"] if step == 0 else 1.0
            load = times["loads"] + (case["load_ns"] if rank in case["loaders"] else 0)
            if load:
                jobs.append(
                    recording.Job("data", step, position, 0, 0, device, device, device + load)
                )
                device += load
            before = posts = device  # when the job before began, and when it posts the next receive
            complete = []
            if self.lines is not None:
                for message in self.lines_of_step(position, step, replica):
                    if message[0].target == rank:
                        message[0].received = device
                        self._posted(message[1], message[0])
            for place, (letter, stage, micro_batch) in enumerate(plan):
                need = plans.needs((letter, stage, micro_batch), self.last_stage)
                ready = device
                if need:
                    if need[1] % self.positions == position:
                        pass  # a stage of the same rank
                    else:
                        key = (step, need[0], stage, micro_batch, replica)
                        message = self._message(key)
                        if message.received is None:
                            message.received = device if case["posting"] == "late" else posts
                            self._posted(key, message)
                        while message.end is None:
                            self.expecting[key] = rank
                            yield
                        ready = max(device, message.end)
                drawn = noise.gauss(0, 1)
                length = lengths[letter][stage] * scale * times["scale"][stage]
                if self.has_jitter and jitter:
                    length *= math.exp(drawn * jitter - jitter * jitter / 2)
                for fault in times["slow"]:
                    if fault["steps"] is None or step in fault["steps"]:
                        length *= fault["factor"]
                length *= self._uneven(step, micro_batch)
                share = gaps.uniform(0.5, 1.5)
                wait = times["late"] + round(gap * (share if self.has_jitter else 1))
                pause = times["pauses"].get((step, place), 0)
                if pause and case["one_thread"]:
                    length += pause
                else:
                    wait += pause
                begin = ready + wait
                chunk = stage // self.positions
                end = begin + round(length)
                launched = begin if wait - gap > gap else max(before, begin - case["ahead_ns"])
                jobs.append(
                    recording.Job(letter, step, stage, chunk, micro_batch, launched, begin, end)
                )
                posts = begin if case["posting"] == "at begin" else device
                before, device = begin, end
                give = plans.gives((letter, stage, micro_batch), self.last_stage)
                if give and give[1] % self.positions != position:
                    key = (step, give[0], give[1], micro_batch, replica)
                    message = self._message(key)
                    drawn = varies.gauss(0, case["message_jitter"]) if self.has_jitter else 0.0
                    moves = case["message_ns"] * math.exp(drawn)
                    moves *= self._link_factor(rank, message.target)
                    message.sent = end + times["sends"]
                    for fault in times["late_message"]:
                        if fault["message"] == [step, give[0], give[1], micro_batch]:
                            message.sent += fault["delay_ns"]
                    message.size_ns = round(moves)
                    if case["one_thread"] and times["sends"]:
                        device = message.sent
                    self._posted(key, message)
                if last_of.get(stage) == place and self.replicas > 1:
                    complete.append((stage, end))
            yield from self._end_of_step(rank, step, device, complete)
            device = jobs[-1].end

    def lines_of_step(self, position, step, replica):
        for direction, stage, micro_batch in self.orders[position]:
            key = (step, direction, stage, micro_batch, replica)
            yield self._message(key), key

    def _end_of_step(self, rank, step, device, complete):
        case = self.case
        position = rank // self.replicas
        free = 0
        for stage, ready in complete:
            moves = case["reduction_ns"]
            for fault in self._of("slow_reduction"):
                if stage in fault["stages"]:
                    moves *= fault["factor"]
            reduction = self.reductions[(step, stage, 0)]
            yield from self._meet(rank, reduction, max(ready, free), self.replicas, round(moves))
            free = reduction.end
        device = max(device, free)
        if case["norm"] and self.world > 1:
            norm = self.norms[step]
            yield from self._meet(rank, norm, device, self.world, case["norm_ns"])
            device = norm.end
        jobs = self.jobs[rank]
        takes = case["optimizer_ns"]
        for fault in self._of("slow_optimizer"):
            if rank in fault["ranks"]:
                takes = round(takes * fault["factor"])
        end = device + takes
        jobs.append(recording.Job("optimizer", step, position, 0, 0, device, device, end))
        for fault in self._of("checkpoint_pauses"):
            if step in fault["steps"]:
                saved = end + fault["delay_ns"]
                jobs.append(recording.Job("checkpoint", step, position, 0, 0, end, end, saved))
                end = saved

    def _meet(self, rank, meeting, came, members, moves):
        meeting.came[rank] = came
        if len(meeting.came) == members:
            meeting.end = max(meeting.came.values()) + moves
            self.ready.extend(meeting.waiting)
        while meeting.end is None:
            meeting.waiting.append(rank)
            yield


def steps_of(run):
    """Windows and wall times of the steps that count, ns. The first one does not where it is a
    slow one; the last one has no wall time."""
    count = run.case["steps"]
    begins, ends = [math.inf] * count, [0] * count
    for jobs in run.jobs:
        for job in jobs:
            if job.letter in "FBIW":
                begins[job.step] = min(begins[job.step], job.begin)
            elif job.letter == "optimizer":
                ends[job.step] = max(ends[job.step], job.end)
    first = 1 if run.case["first_step"] > 1 else 0
    windows = [
        min(ends[step], begins[step + 1] if step + 1 < count else ends[step]) - begins[step]
        for step in range(first, count)
    ]
    walls = [begins[step + 1] - begins[step] for step in range(first, count - 1)]
    return windows, walls


def mean(values):
    return sum(values) / len(values) if values else None


# Checks -------------------------------------------------------------------------------------------


def plain_case(schedule, positions, micro_batches, chunks=1, lengths=(1.0, 2.0, 1.0, 1.0), **more):
    """A step without optimizer, jitter and gaps. `lengths`: of F, B, I, W, of all stages, in ms."""
    stages = positions * chunks
    return {
        "seed": 0,
        "schedule": schedule,
        "positions": positions,
        "replicas": 1,
        "chunks": chunks,
        "micro_batches": micro_batches,
        "steps": 1,
        "lengths": {letter: [1e6 * length] * stages for letter, length in zip("FBIW", lengths)},
        "jitter": 0.0,
        "launch_gap_ns": 0,
        "ahead_ns": 0,
        "message_ns": 0,
        "message_jitter": 0.0,
        "message_bytes": 1,
        "posting": "ahead",
        "reduction_ns": 0,
        "gradient_bytes": 1,
        "norm": False,
        "norm_ns": 0,
        "optimizer_ns": 0,
        "first_step": 1.0,
        "clocks": [0] * positions,
        "loaders": [],
        "load_ns": 0,
        "one_thread": False,
        "faults": [],
    } | more


LINES = [{"kind": "messages_in_line", "ranks": [], "stages": []}]
# Lengths of a step in ms: (case, its length, where that stands).
KNOWN = (
    # Four ranks, eight micro-batches, F = I = W = 1, B = 2, messages take no time.
    (("FThenB", 4, 8), {}, 33),
    (("GPipe", 4, 8), {}, 33),
    (("1F1B", 4, 8), {}, 33),
    (("Eager1F1B", 4, 8), {}, 33),
    (("Interleaved1F1B", 4, 8, 2), {}, 57),
    (("LoopedBFS", 4, 8, 2), {}, 57),
    (("ZBH1", 4, 8), {}, 27),
    (("InterleavedZeroBubble", 4, 8, 2), {}, 51),
    # The same with F = I = W = 10, B = 20, and 1 ms a message: torch 2.11's plans, each message on
    # its own, and all messages of a rank one after the other in its order.
    (("Interleaved1F1B", 4, 8, 2, (10, 20, 10, 10)), {"message_ns": 1e6}, 584),
    (("LoopedBFS", 4, 8, 2, (10, 20, 10, 10)), {"message_ns": 1e6}, 576),
    (("InterleavedZeroBubble", 4, 8, 2, (10, 20, 10, 10)), {"message_ns": 1e6}, 526),
    (("Interleaved1F1B", 4, 8, 2, (10, 20, 10, 10)), {"message_ns": 1e6, "faults": LINES}, 737),
    (("LoopedBFS", 4, 8, 2, (10, 20, 10, 10)), {"message_ns": 1e6, "faults": LINES}, 854),
    (
        ("InterleavedZeroBubble", 4, 8, 2, (10, 20, 10, 10)),
        {"message_ns": 1e6, "faults": LINES},
        618,
    ),
)
# Zero Bubble paper, table 5: 1.5B model, p = 8, m = 24; the rate is that of the longest span.
PAPER = (18.522, 18.086 + 9.337, 18.086, 9.337)
RATES = (("1F1B", 0.2431), ("ZBH1", 0.1585))


def check():
    wrong = 0
    for (name, *shape), more, length in KNOWN:
        run = Simulation(plain_case(name, *shape, **more)).run()
        windows, _ = steps_of(run)
        is_right = windows[0] == length * 1_000_000
        wrong += not is_right
        lines = " in line" if more.get("faults") else ""
        print(
            "%-5s %s%s: %.3f ms of %d"
            % ("right" if is_right else "WRONG", name, lines, windows[0] / 1e6, length)
        )
    for name, rate in RATES:
        run = Simulation(plain_case(name, 8, 24, 1, PAPER, message_ns=0.601e6)).run()
        spans = [jobs[-2].end - jobs[0].begin for jobs in run.jobs]
        work = 24e6 * (PAPER[0] + PAPER[2] + PAPER[3])
        found = (max(spans) - work) / max(spans)
        is_right = abs(found - rate) < 5e-5
        wrong += not is_right
        print(
            "%-5s %s, bubble rate %.4f of %.4f"
            % ("right" if is_right else "WRONG", name, found, rate)
        )
    return 1 if wrong else 0


if __name__ == "__main__":
    if sys.argv[1:] != ["--check"]:
        sys.exit("usage: simulate.py --check")
    sys.exit(check())
