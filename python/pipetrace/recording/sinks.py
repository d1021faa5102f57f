"""Where the jobs of a session go: into the log, or into ranges of another profiler."""

import ctypes as c
import functools
import sys

from .library import KINDS, NOT_GIVEN, SWITCHED_ON, Job, Library


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

    Compute jobs are begun and ended. Messages and collectives of a CPU are recorded later, at times
    that were noted, so they may overlap. On a GPU all are begun and ended, as only an event on its
    stream has a time.
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
        """Opens a compute job; returns its id. `chunks` has those of stages."""
        key = kind, stage, micro_batch, action
        job = self.jobs.get(key)
        if job is None:
            job = self.jobs[key] = self._new_job(*key, chunks)
        return self._begin(self.handle, self.compute, job)

    def _new_job(self, kind, stage, micro_batch, action, chunks):
        job = self.library.new_job(kind)
        job.micro_batch, job.stage = micro_batch, stage
        job.chunk = chunks.get(stage, NOT_GIVEN)
        if action is None and kind in LETTERS and stage >= 0:
            action = f"{stage}{LETTERS[kind]}{micro_batch}"
        job.action = self.text(action) if action else None
        return c.byref(job)

    def _described(self, job):
        described = self.scratch
        described.kind = KINDS[job.kind]
        described.micro_batch, described.step = job.micro_batch, job.step
        described.stage, described.chunk = job.stage, job.chunk
        described.peer, described.bytes, described.id = job.peer, job.bytes, job.job_id
        described.action = self.text(job.members) if job.members else None
        return described

    def record(self, stream, job, began, ended):
        """Records a job of a CPU that has ended, by time.monotonic_ns()."""
        described = self._described(job)
        self.library.record(self.handle, self.streams[stream], c.byref(described), began, ended)

    def record_data(self, job, began, ended):
        self.record(self.hosts_data, job, began, ended)

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

    def record(self, stream, job, began, ended):
        pass

    def record_data(self, job, began, ended):
        pass

    def begin_step(self, step, phase):
        pass

    def end_step(self, step):
        pass

    def close(self):
        return None
