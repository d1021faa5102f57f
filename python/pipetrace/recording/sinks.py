"""Where the jobs of a session go: into the log, or into ranges of another profiler."""

import ctypes as c
import functools
import sys

from .library import (
    BACK,
    ENDED_JOB_SIZE,
    FRONT,
    ID,
    KINDS,
    NOT_GIVEN,
    SWITCHED_ON,
    TIMES,
    Job,
    Library,
)


class RecordingError(Exception):
    """The log cannot be written; the text says why, and what to try."""


# Letters of actions, by kind of job.
LETTERS = {
    "forward": "F",
    "backward": "B",
    "backward_input": "I",
    "backward_weight": "W",
}


class LogSink:
    """Jobs go into `workerlog.<rank>` by the C library.

    On a GPU jobs are begun and ended, as only an event on its stream has a time. Those of a CPU are
    recorded later, at times that were noted: add() them, then record_added() does so in one call of
    the library.
    """

    def __init__(self, facts, folder):
        try:
            self.library = library = Library()
        except (OSError, AttributeError) as error:
            raise RecordingError(
                f"cannot load the recorder ({error}): install the package, or set PIPETRACE_LIBRARY_PATH"
            ) from None
        options = library.new_options()
        options.enabled = SWITCHED_ON
        options.rank, options.world_size = facts.rank, facts.world_size or 0
        options.num_stages, options.num_chunks = facts.num_stages or 0, facts.num_chunks or 0
        options.num_micro_batches = facts.num_micro_batches or 0
        options.schedule = (facts.schedule or "").encode()
        options.device = facts.device_name.encode()
        options.log_directory = folder.encode("utf-8", "surrogateescape")
        for name in ("data_parallel_index", "tensor_parallel_index"):
            value = getattr(facts, name)
            setattr(options, name, NOT_GIVEN if value is None else value)
        self.handle = c.c_void_p()
        if library.open(c.byref(options), c.byref(self.handle)) != 0 or not self.handle:
            raise RecordingError(library.last_error() or "the recorder is off")
        self.is_cuda = facts.cuda_stream is not None
        self.streams = {}
        for name in ("compute", "send", "recv", "reduce"):
            self._add_stream(name, facts)
        self.hosts_data = "data" if self.is_cuda else "compute"
        if self.is_cuda:
            self.streams["data"] = library.add_stream(self.handle, b"data")
        self.compute = self.streams["compute"]
        self.jobs = {}
        self.scratch = library.new_job("default")
        self.pieces = {}  # of a pipetrace_ended_job, by what is the same in each step
        self.added = []  # the four pieces of each job that was added
        self.texts = {}
        self._begin = library.begin
        # Called without a Python function in between.
        self.end = functools.partial(library.end, self.handle, self.compute)
        self.cancel = functools.partial(library.cancel, self.handle, self.compute)

    def _add_stream(self, name, facts):
        if self.is_cuda:
            number = self.library.add_cuda_stream(
                self.handle, name.encode(), facts.cuda_stream, facts.cuda_device
            )
            if number < 0:
                raise RecordingError(self.library.last_error())
        else:
            number = self.library.add_stream(self.handle, name.encode())
        self.streams[name] = number

    def text(self, text):
        """The address of a text that stays until the recorder is closed."""
        address = self.texts.get(text)
        if address is None:
            address = self.texts[text] = self.library.text(self.handle, text.encode())
        return address

    def begin(self, kind, stage, micro_batch, action, chunks):
        """Opens a compute job of a GPU; returns its id. `chunks` has those of stages."""
        key = kind, stage, micro_batch, action
        job = self.jobs.get(key)
        if job is None:
            made = self.library.new_job(kind)
            _, made.micro_batch, made.stage, made.chunk, action = self._known(*key, chunks)
            made.action = action or None
            job = self.jobs[key] = c.byref(made)
        return self._begin(self.handle, self.compute, job)

    def _known(self, kind, stage, micro_batch, action, chunks):
        """What a job has in each step: kind, micro-batch, stage, chunk, and the action's address."""
        if action is None and kind in LETTERS and stage >= 0:
            action = f"{stage}{LETTERS[kind]}{micro_batch}"
        address = self.text(action) if action else 0
        return KINDS[kind], micro_batch, stage, chunks.get(stage, NOT_GIVEN), address

    def add_job(self, job, chunks, began, ended):
        """Adds a compute job of a CPU that has ended, by time.monotonic_ns(). Returns its id."""
        pieces = self.pieces.get(job)
        if pieces is None:
            kind, micro_batch, stage, chunk, action = self._known(*job, chunks)
            numbers = kind, micro_batch, NOT_GIVEN, stage, chunk, NOT_GIVEN, NOT_GIVEN
            pieces = self.pieces[job] = self._pieces(self.compute, numbers, action)
        front, back = pieces
        job_id = self.library.next_job_id(self.handle)
        self.added += (TIMES.pack(began, ended), front, ID.pack(job_id), back)
        return job_id

    def add_message(self, message, chunks, job_id, began, ended):
        """Adds a message, which is ((kind, stage, micro-batch), peer, bytes)."""
        pieces = self.pieces.get(message)
        if pieces is None:
            (kind, stage, micro_batch), peer, size = message
            chunk = chunks.get(stage, NOT_GIVEN)
            numbers = KINDS[kind], micro_batch, NOT_GIVEN, stage, chunk, peer, size
            pieces = self.pieces[message] = self._pieces(self.streams[kind[:4]], numbers, 0)
        front, back = pieces
        self.added += (TIMES.pack(began, ended), front, ID.pack(job_id), back)

    def add(self, stream, job, began, ended):
        """Adds any other job of a CPU."""
        numbers = KINDS[job.kind], job.micro_batch, job.step, job.stage, job.chunk, job.peer
        members = self.text(job.members) if job.members else 0
        front, back = self._pieces(self.streams[stream], (*numbers, job.bytes), members)
        self.added += (TIMES.pack(began, ended), front, ID.pack(job.job_id), back)

    def _pieces(self, stream, numbers, text):
        return FRONT.pack(stream, c.sizeof(Job), *numbers), BACK.pack(text, NOT_GIVEN, NOT_GIVEN)

    def record_added(self):
        """Records all that was added, in the order in which it was."""
        jobs = b"".join(self.added)
        self.library.record_all(self.handle, jobs, len(self.added) // 4, ENDED_JOB_SIZE)
        self.added.clear()

    def _described(self, job):
        described = self.scratch
        described.kind = KINDS[job.kind]
        described.micro_batch, described.step = job.micro_batch, job.step
        described.stage, described.chunk = job.stage, job.chunk
        described.peer, described.bytes, described.id = job.peer, job.bytes, job.job_id
        described.action = self.text(job.members) if job.members else None
        return described

    def record_data(self, job, began, ended):
        """Data that the host has loaded."""
        self.add(self.hosts_data, job, began, ended)
        if self.is_cuda:
            self.record_added()

    def begin_on(self, stream, job):
        """Opens a job of a GPU's stream beside the compute stream."""
        self._begin(self.handle, self.streams[stream], c.byref(self._described(job)))

    def end_on(self, stream):
        self.library.end(self.handle, self.streams[stream])

    def begin_step(self, step, phase):
        self.library.set_phase(self.handle, phase)
        self.library.begin_step(self.handle, step)

    def end_step(self, step):
        self.library.end_step(self.handle, step)

    def close(self):
        """Returns what went wrong, or None."""
        return self.library.last_error() if self.library.close(self.handle) != 0 else None


class RangeSink:
    """Jobs become ranges of torch.profiler and NVTX by PipeTrace's names, and nothing else.

    Names have the stage and the micro-batch (`PP:1F3`), so `pipe-trace` reads them from traces.
    """

    is_cuda = False
    _LETTERS = {
        **LETTERS,
        "send_forward": "SEND_F",
        "recv_forward": "RECV_F",
        "send_backward": "SEND_B",
        "recv_backward": "RECV_B",
    }

    def __init__(self, facts):
        from torch.profiler import record_function

        self._range = record_function
        self._nvtx = None
        if facts.cuda_stream is not None:
            self._nvtx = sys.modules["torch"].cuda.nvtx
        self._open = []

    def _enter(self, name):
        made = self._range(name)
        made.__enter__()
        if self._nvtx is not None:
            self._nvtx.range_push(name)
        self._open.append(made)

    def _exit(self):
        if self._nvtx is not None:
            self._nvtx.range_pop()
        self._open.pop().__exit__(None, None, None)

    def _name(self, kind, stage, micro_batch):
        letters = self._LETTERS.get(kind)
        if letters is None:
            return kind
        return f"PP:{stage}{letters}{micro_batch}" if stage >= 0 else f"{kind} {micro_batch}"

    def begin(self, kind, stage, micro_batch, action, chunks):
        named = kind == "forward_backward" and action
        self._enter(f"PP:{action}" if named else self._name(kind, stage, micro_batch))
        return NOT_GIVEN

    def end(self):
        self._exit()

    cancel = end

    def begin_on(self, stream, job):
        self._enter(self._name(job.kind, job.stage, job.micro_batch))

    def end_on(self, stream):
        self._exit()

    def record_data(self, job, began, ended):
        pass

    def begin_step(self, step, phase):
        pass

    def end_step(self, step):
        pass

    def close(self):
        return None
