"""When the host of a rank launches what, and on which streams its kernels run: what the writers of
traces of GPUs have in common.

A recording says when each job ran and when the host asked for it, when messages were posted and
moved, and when ranks came to collectives. A trace shows calls of the host, one after the other on a
thread, and kernels on streams. What this file adds:

- A job is 2 to 4 kernels, the same number for all jobs of a stage. The first begins with the job,
  the last ends with it, and each begins where the one before ends.
- A message is a kernel of NCCL on either end. It begins when its end has posted the message and the
  kernel before it on its stream has ended, and ends with the message: it contains the wait for the
  other end. Messages to or from one peer, in one direction (F or B), have a stream of their own; or
  all messages of a rank have one, where the case has the fault `messages_in_line`.
- A collective is a kernel on each rank, from when the rank came to its end, on a stream of its use.
- The host makes its calls in the order of the program: the post of a receive before the job that is
  running when it is posted, or else before the job that waits for it; a job; its sends; sums of
  gradients behind the last job of their stage; the norm; the optimizer. The first launch of a job
  is at `launched`, or where that is too late for its kernel, LATENCY before it.
- A send that is posted later than its job ends is launched then. Else it is launched right behind
  its job, as all of the host runs ahead of the device.
"""

import operator

LATENCY = 2500  # ns from a launch to the begin of its kernel, at least
BEFORE = 1500  # from the begin of a call to its first launch
PITCH = 6000  # from a launch to the next of the same job
AFTER = 4500  # from a job's last launch to the end of the call
POST = 6000  # a call that posts a message or a collective
COMPUTE_STREAM, REDUCTION_STREAM, NORM_STREAM, FIRST_MESSAGE_STREAM = 7, 24, 28, 32
WORK = "FBIW"
SHARES = ((7, 5), (7, 5, 1), (7, 5, 1, 2))  # lengths of the kernels of a forward


class Call:
    """Something that the host's thread does, from `begin` to `end`.

    `kind`: job, send, recv, collective; or data, checkpoint, which launch nothing. `of`: the Job,
    Message or Collective. `key`: calls are made in the order of these; the first part is the time
    at which the host wants to make it. `latest`: the begin that is early enough for all kernels.
    `launches`: the times of its launches. `kernels`: of each (stream, begin, end).
    """

    __slots__ = ("kind", "of", "key", "latest", "begin", "end", "launches", "kernels")

    def __init__(self, kind, of, key, kernels=()):
        self.kind, self.of, self.key, self.kernels = kind, of, key, kernels
        self.latest = self.begin = self.end = 0
        self.launches = ()


def shares_of(job):
    """How long the kernels of a job are, relative to each other, in their order."""
    if job.letter == "optimizer":
        return (1, 1)
    shares = SHARES[job.stage % len(SHARES)]
    return shares if job.letter == "F" else shares[::-1]


def pieces(job):
    """The begins and ends of the kernels of a job."""
    shares = shares_of(job)
    whole, length = sum(shares), job.end - job.begin
    found, done, begin = [], 0, job.begin
    for share in shares:
        done += share
        end = job.begin + length * done // whole
        found.append((begin, end))
        begin = end
    return found


def in_line(case):
    return any(fault["kind"] == "messages_in_line" for fault in case.get("faults", ()))


def by_rank(recording):
    """Of each rank its messages, in the order in which they began, and its collectives."""
    messages = [[] for _ in range(recording.world)]
    collectives = [[] for _ in range(recording.world)]
    for message in sorted(recording.messages, key=operator.attrgetter("begin", "end")):
        messages[message.source].append(message)
        messages[message.target].append(message)
    for collective in recording.collectives:
        for rank in collective.ranks:
            collectives[rank].append(collective)
    return messages, collectives


def places_of(jobs):
    """Where the job of (direction, step, stage, micro-batch) stands: the one that needs a message,
    or whose result is sent."""
    return {
        ("F" if job.letter == "F" else "B", job.step, job.stage, job.micro_batch): place
        for place, job in enumerate(jobs)
        if job.letter in "FBI"
    }


def posted_before(jobs, place, received):
    """Before which job the receive for the job at `place` is posted."""
    if place == 0 or jobs[place - 1].letter not in WORK:
        return place
    return place - 1 if received <= jobs[place - 1].begin else place


def last_jobs(jobs):
    """Of (step, stage) the place of the job behind which gradients are complete."""
    return {(job.step, job.stage): place for place, job in enumerate(jobs) if job.letter in "BW"}


def calls_of(recording, rank, messages, collectives):
    """The calls of the host, in their order."""
    jobs = recording.jobs[rank]
    places = places_of(jobs)
    calls, job_calls = [], {}
    for place, job in enumerate(jobs):
        fixed = job.letter in ("data", "checkpoint")
        kernels = [] if fixed else [(COMPUTE_STREAM, *piece) for piece in pieces(job)]
        call = Call(job.letter if fixed else "job", job, (job.launched, 4 * place + 1, 0), kernels)
        calls.append(call)
        job_calls[place] = call
    if in_line(recording.case):
        found = _messages_in_line(jobs, places, rank, messages)
    else:
        found = _messages_on_links(jobs, places, rank, messages)
    for call in found:  # a job is launched when its receive has been posted
        if call.kind == "recv":
            message = call.of
            waits = job_calls[
                places[(message.direction, message.step, message.to_stage, message.micro_batch)]
            ]
            waits.key = max(waits.key, call.key[:2] + (call.key[2] + 1,))
    calls += found
    calls += _collectives(jobs, rank, collectives)
    calls.sort(key=operator.attrgetter("key"))
    _place(calls)
    return calls


def _message_call(jobs, places, rank, message):
    """The call that posts a message, as if it were the only one."""
    if message.source == rank:
        place = places[(message.direction, message.step, message.stage, message.micro_batch)]
        job = jobs[place]
        late = message.sent > job.end
        at = max(job.launched, message.sent - LATENCY - BEFORE) if late else job.launched
        return Call("send", message, (at, 4 * place + 2, 0))
    place = places[(message.direction, message.step, message.to_stage, message.micro_batch)]
    place = posted_before(jobs, place, message.received)
    return Call("recv", message, (jobs[place].launched, 4 * place, 0))


def _message_kernel(call, stream, free):
    """Its kernel, on a stream that is free from a time on."""
    message = call.of
    posted = message.sent if call.kind == "send" else message.received
    return stream, min(message.begin, max(posted, free)), message.end


def _messages_on_links(jobs, places, rank, messages):
    """Each link has a stream, on which kernels run in the order in which they were launched."""
    streams, free, last, calls = {}, {}, {}, []
    for message in messages:
        call = _message_call(jobs, places, rank, message)
        peer = message.target if call.kind == "send" else message.source
        link = (call.kind, peer, message.direction)
        stream = streams.setdefault(link, FIRST_MESSAGE_STREAM + 2 * len(streams))
        if link in last:
            call.key = max(call.key, last[link][:2] + (last[link][2] + 1,))
        last[link] = call.key
        call.kernels = [_message_kernel(call, stream, free.get(link, 0))]
        free[link] = message.end
        calls.append(call)
    return calls


def _messages_in_line(jobs, places, rank, messages):
    """All messages have one stream: the host posts each one as soon as the one before is posted
    and, if it is a send, its job is launched."""
    calls, last, free, step = [], (0, 0, 0), 0, None
    for message in messages:
        if message.step != step:
            step = message.step
            first = next(place for place, job in enumerate(jobs) if job.step == step)
            while jobs[first].letter not in WORK:
                first += 1
            last = max(last, (jobs[first].launched, 4 * first - 1, 0))
        call = _message_call(jobs, places, rank, message)
        following = last[:2] + (last[2] + 1,)
        call.key = max(call.key, following) if call.kind == "send" else following
        last = call.key
        call.kernels = [_message_kernel(call, FIRST_MESSAGE_STREAM, free)]
        free = message.end
        calls.append(call)
    return calls


def _collectives(jobs, rank, collectives):
    last = last_jobs(jobs)
    optimizers = {job.step: place for place, job in enumerate(jobs) if job.letter == "optimizer"}
    calls = []
    for collective in collectives:
        if collective.use == "gradients":
            place = last[(collective.step, collective.stage)]
            key = (jobs[place].launched, 4 * place + 3, 0)
            stream = REDUCTION_STREAM
        else:
            place = optimizers[collective.step]
            key = (jobs[place - 1].launched, 4 * place, 0)
            stream = NORM_STREAM
        kernel = (stream, collective.came[rank], collective.end)
        calls.append(Call("collective", collective, key, [kernel]))
    return calls


def _place(calls):
    """Gives all calls their times: when the host wants to make them, but after the one before, and
    early enough for their kernels."""
    latest = 1 << 62
    for call in reversed(calls):
        latest -= _length(call)
        for index, kernel in enumerate(call.kernels):
            must = call.of.begin if call.kind == "recv" else kernel[1]
            latest = min(latest, must - LATENCY - BEFORE - index * PITCH)
        call.latest = latest
    free = -(1 << 62)
    before = None
    for call in calls:
        wanted = call.key[0] - BEFORE if call.kernels else call.of.begin
        if call.kind == "recv":
            wanted -= POST  # so that the job behind it is launched when it was
        call.begin = min(max(free, wanted), call.latest)
        if before is not None and before.end > call.begin:
            before.end = call.begin  # loading and saving end a little early
        call.end = call.begin + _length(call) if call.kernels else call.of.end
        free = call.end
        call.launches = [call.begin + BEFORE + index * PITCH for index in range(len(call.kernels))]
        if call.kind == "recv":  # it cannot run before it is launched
            stream, begin, end = call.kernels[0]
            begin = min(call.of.begin, max(begin, call.launches[0] + LATENCY))
            call.kernels = [(stream, begin, end)]
        before = call


def _length(call):
    if call.kind == "job":
        return BEFORE + (len(call.kernels) - 1) * PITCH + AFTER
    return POST if call.kernels else 0
