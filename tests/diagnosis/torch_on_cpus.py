"""The trace of a rank on CPUs, over Gloo, as write_torch.py describes it."""

import itertools

import on_gpus
from torch_trace import ACCUMULATE, COLLECTIVES, FUNCTION, LAYERS, LOADER, OPTIMIZER, SAVER
from torch_trace import Groups, Trace, layers_of, name_of, name_of_message

WITH_WAITS_BEFORE = ("1F1B", "GPipe", "FThenB")  # annotations of jobs begin after the waits


class CpuTrace(Trace):
    """All that the main thread does stands between two jobs, in the order of the program."""

    CALL = 500  # how long a call takes that posts something, with its annotation

    def __init__(self, recording, rank, annotated):
        super().__init__(recording, rank, annotated)
        self.groups = Groups(recording, rank, "gloo")
        self.workers = (self.pid + 103, self.pid + 104)  # of Gloo
        self.next_worker = itertools.cycle(self.workers)
        self.threads = {self.pid}
        runs_as_torch = recording.case["schedule"] not in WITH_WAITS_BEFORE
        self.waits_inside = annotated and runs_as_torch

    def add(self, messages, collectives):
        self.find_posts(messages, collectives)
        begins, time = {}, 0
        for place, job in enumerate(self.jobs):
            begins.setdefault(job.step, time)
            self.cursor = time
            self.before(place, job, time)
            if job.letter in on_gpus.WORK:
                self.work(place, job)
            elif job.letter == "optimizer":
                self.optimizer(job)
            elif job.letter == "data" and self.shows_loading:
                self.annotation(LOADER, self.pid, job.begin, job.end)
            elif job.letter == "checkpoint" and self.shows_saving:
                self.annotation(SAVER, self.pid, job.begin, job.end)
            time = job.end
        for message in self.late:
            self.send(message, max(time, message.sent))
        self.steps(begins, time + 5000)

    def find_posts(self, messages, collectives):
        """Which messages and collectives are posted before which job."""
        places = on_gpus.places_of(self.jobs)
        self.sends, self.receives = {}, {}  # sends behind their job
        self.needed = set()  # jobs that wait for a message
        self.late = []  # sends whose job has ended, and that are posted later
        for message in messages:
            key = (message.direction, message.step)
            if message.source == self.rank:
                self.sends[places[key + (message.stage, message.micro_batch)]] = message
            else:
                place = places[key + (message.to_stage, message.micro_batch)]
                self.needed.add(place)
                before = on_gpus.posted_before(self.jobs, place, message.received)
                self.receives.setdefault(before, []).append((place, message))
        self.sums, self.norms = {}, {}
        last = on_gpus.last_jobs(self.jobs)
        for collective in collectives:
            if collective.use == "gradients":
                place = last[(collective.step, collective.stage)]
                self.sums.setdefault(place, []).append(collective)
            else:
                self.norms[collective.step] = collective
        self.last_work = {job.step: job.end for job in self.jobs if job.letter in on_gpus.WORK}

    # Between jobs ------------------------------------------------------------------------------

    def before(self, place, job, time):
        """What the main thread does between the end of the job before, `time`, and this one."""
        posts = []  # (when, what)
        if place - 1 in self.sends:
            self.late.append(self.sends[place - 1])
        for message in self.late:
            if message.sent <= job.begin:
                posts.append((max(time, message.sent), self.send, message))
        self.late = [message for message in self.late if message.sent > job.begin]
        for collective in self.sums.get(place - 1, ()):
            posts.append((time, self.sum, collective))
        if job.letter == "optimizer" and job.step in self.norms:
            norm = self.norms[job.step]
            posts.append((norm.came[self.rank], self.sum, norm))
        ahead = 0
        for waits, message in sorted(self.receives.get(place, ()), key=lambda each: -each[0]):
            at = time
            if waits == place:
                at = max(time, message.received)
            elif not self.waits_inside:  # after the wait, right before the job
                ahead += 1
                at = max(time, job.begin - ahead * self.CALL)
            posts.append((at, self.receive, message, waits))
        posts.sort(key=lambda each: each[0])
        for at, what, *of in posts:
            what(*of, max(at, self.cursor))
        has_wait = self.waits_inside and place in self.needed
        self.waits_from = min(self.cursor, job.begin) if has_wait else None

    def post(self, name, annotation, thread, at, until):
        """`c10d::send` or the like, and what Gloo writes about it; in an annotation if there is
        one."""
        more = f',"Sequence number":{self.sequence},"Fwd thread id":0'
        if annotation and self.annotated:
            self.annotation(annotation, thread, at, at + self.CALL)
            at += 100
        self.op(name, thread, at, at + 300, more)
        gloo = {"c10d::send": "gloo:send", "c10d::recv_": "gloo:recv"}.get(name)
        if gloo:
            self.annotation(gloo, thread, at + 100, max(until, at + 300))
        self.threads.add(thread)

    def send(self, message, at):
        until = max(message.end, self.last_work[message.step])
        self.post("c10d::send", name_of_message("send", message), self.pid, at, until)
        self.cursor = at + self.CALL

    def receive(self, message, waits, at):
        """Posts the receive of the message that the job at the place `waits` needs."""
        until = max(message.end, self.jobs[waits - 1].end if waits else 0)
        self.post("c10d::recv_", name_of_message("recv", message), self.pid, at, until)
        self.cursor = at + self.CALL

    def sum(self, collective, at):
        operator, annotation, _, _ = COLLECTIVES[collective.kind]
        around = f"PP:{collective.stage}REDUCE_GRAD" if collective.use == "gradients" else ""
        self.post(operator, around, self.pid, at, at)
        self.cursor = at + self.CALL
        worker = next(self.next_worker)
        self.threads.add(worker)
        begin = max(collective.came[self.rank], at + 300)
        annotation = "gloo:" + annotation.strip("_").replace("_base", "")
        self.annotation(annotation, worker, begin, collective.end)

    # Jobs --------------------------------------------------------------------------------------

    def work(self, place, job):
        begin = max(job.begin, self.cursor)
        if self.annotated:
            first = begin if self.waits_from is None else self.waits_from
            self.annotation(name_of(job), self.pid, first, job.end)
        pieces = on_gpus.pieces(job)
        pieces[0] = (begin, pieces[0][1])
        inside = [m for m in self.late if begin + 9000 < m.sent < job.end - 9000]
        for index, message in enumerate(inside[: len(pieces) - 1]):
            pieces = with_pause(pieces, index + 1, message.sent, self.CALL)
        if job.letter == "F":
            self.forward(job, pieces)
        else:
            self.backward(job, pieces)
        for message in inside:
            self.late.remove(message)
            self.send(message, message.sent)

    def forward(self, job, pieces):
        self.begin_forward(job)
        for layer, (begin, end) in zip(LAYERS, pieces):
            more = f',"Sequence number":{self.sequence},"Fwd thread id":0'
            end -= 0 if end == job.end else 1000
            self.op(layer[0], self.pid, begin, end, more)
            if layer is LAYERS[0]:
                self.op("aten::t", self.pid, begin + 1000, begin + 3000, more)
                self.arrow_begins(self.sequence, self.pid, begin + 1000)
                self.sequence += 1
                more = f',"Sequence number":{self.sequence},"Fwd thread id":0'
                begin += 4000
            if layer[1]:
                begin += 1000
                self.op(cpu_name(layer[1]), self.pid, begin, end - 500, more)
            self.arrow_begins(self.sequence, self.pid, begin)
            self.sequence += 1

    def backward(self, job, pieces):
        layers, sequences = layers_of(job)[::-1], self.sequences_of(job)[::-1]
        for layer, first, (begin, end) in zip(layers, sequences, pieces):
            sequence = first
            end -= 0 if end == job.end else 1000
            over = end
            if layer is LAYERS[0]:
                sequence, over = first + 1, end - 6000
            more = f',"Sequence number":{sequence},"Fwd thread id":1'
            self.op(FUNCTION + cpu_name(layer[2]), self.pid, begin, over, more)
            self.op(cpu_name(layer[2]), self.pid, begin + 500, over - 500, more)
            self.arrow_ends(sequence, self.pid, begin + 500)
            self.op(cpu_name(layer[3]), self.pid, begin + 1000, over - 1000)
            if layer is not LAYERS[0]:
                continue
            more = f',"Sequence number":{first},"Fwd thread id":1'
            over = end - 3000 if job.letter != "I" else end
            self.op(FUNCTION + "TBackward0", self.pid, end - 5500, over, more)
            self.op("TBackward0", self.pid, end - 5000, over - 500, more)
            self.arrow_ends(first, self.pid, end - 5000)
            if job.letter != "I":
                self.op(FUNCTION + ACCUMULATE, self.pid, end - 2500, end)
                self.op(ACCUMULATE, self.pid, end - 2000, end - 500)

    def optimizer(self, job):
        begin, length = max(job.begin, self.cursor), job.end - job.begin
        self.annotation(OPTIMIZER, self.pid, begin, job.end)
        names = ("aten::mul_", "aten::lerp_", "aten::addcmul_", "aten::addcdiv_")
        for index, name in enumerate(names):
            end = job.begin + length * (index + 1) // len(names)
            self.op(name, self.pid, begin, end)
            begin = end

    def save(self, folder):
        self.name_process(self.pid, "python", "CPU", self.pid)
        for thread in sorted(self.threads):
            self.name_thread(self.pid, thread, f"thread {thread} (python)", thread)
        self.save_as(folder, [], self.groups)


def cpu_name(name):
    """Flash attention has names of its own on CPUs."""
    if "flash_attention" in name:
        return name.replace("flash_attention", "flash_attention_for_cpu")
    return name.replace("FlashAttentionBackward", "FlashAttentionForCpuBackward")


def with_pause(pieces, index, time, length):
    """The pieces, of which the one at the index begins `length` after `time`."""
    cuts = [begin for begin, _ in pieces] + [pieces[-1][1]]
    cuts[index] = time
    for other in range(1, len(cuts) - 1):  # the others share what is left
        if other < index:
            cuts[other] = cuts[0] + (time - cuts[0]) * other // index
        elif other > index:
            left = len(cuts) - 1 - index
            cuts[other] = time + (cuts[-1] - time) * (other - index) // left
    found = list(zip(cuts, cuts[1:]))
    found[index] = (time + length, found[index][1])
    return found
