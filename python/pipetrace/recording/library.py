"""libpipetrace.so by ctypes: profiler/pipetrace.h says what each function does."""

import ctypes as c
import os
import struct

from pipetrace import libraries

NOT_GIVEN = -1
SWITCHED_ON = 1
TRAINING, EVALUATE, PREDICT = range(3)

# enum pipetrace_kind, by the names that logs have.
KINDS = {
    "lr": 0,
    "forward": 1,
    "backward": 2,
    "backward_input": 3,
    "backward_weight": 4,
    "forward_backward": 5,
    "recompute": 6,
    "optimizer": 7,
    "data": 8,
    "default": 9,
    "send_forward": 10,
    "recv_forward": 11,
    "send_backward": 12,
    "recv_backward": 13,
    "all_reduce": 14,
    "all_gather": 15,
    "reduce_scatter": 16,
    "copy": 17,
    "checkpoint": 18,
    "all_to_all": 22,
    "broadcast": 23,
}


class Options(c.Structure):
    """pipetrace_options"""

    _fields_ = [
        ("size", c.c_size_t),
        ("enabled", c.c_int32),
        ("rank", c.c_int32),
        ("world_size", c.c_int32),
        ("num_stages", c.c_int32),
        ("num_chunks", c.c_int32),
        ("num_micro_batches", c.c_int32),
        ("device", c.c_char_p),
        ("schedule", c.c_char_p),
        ("log_directory", c.c_char_p),
        ("first_step", c.c_int32),
        ("end_step", c.c_int32),
        ("ring_slots", c.c_uint32),
        ("blocks", c.c_char_p),
        ("data_parallel_index", c.c_int32),
        ("tensor_parallel_index", c.c_int32),
    ]


class Job(c.Structure):
    """pipetrace_job"""

    _fields_ = [
        ("size", c.c_uint32),
        ("kind", c.c_int32),
        ("micro_batch", c.c_int32),
        ("step", c.c_int32),
        ("stage", c.c_int32),
        ("chunk", c.c_int32),
        ("peer", c.c_int32),
        ("bytes", c.c_int64),
        ("id", c.c_int64),
        ("action", c.c_void_p),  # an address of pipetrace_text()
        ("part", c.c_int32),
        ("version", c.c_int32),
    ]


# pipetrace_ended_job in pieces: began and ended; the stream and a Job up to its bytes; its id; the
# rest. A row has few different ones, so the second and the last are kept.
TIMES, FRONT, ID, BACK = map(struct.Struct, ("=qq", "=i4xIiiiiii4xq", "=q", "=Qii"))
ENDED_JOB_SIZE = sum(piece.size for piece in (TIMES, FRONT, ID, BACK))


class Library:
    """The functions of the library. Raises OSError where there is no such library.

    Functions of the training loop keep Python's lock: they never wait, and giving the lock away
    could cost a loop some milliseconds until it is back.
    """

    def __init__(self):
        path = self.path()
        free, held = c.CDLL(path), c.PyDLL(path)

        def function(library, name, result, *arguments):
            found = getattr(library, "pipetrace_" + name)
            found.restype, found.argtypes = result, arguments
            return found

        handle, stream, job = c.c_void_p, c.c_int, c.POINTER(Job)
        self.options_init = function(
            free, "options_init_sized", None, c.POINTER(Options), c.c_size_t
        )
        self.open = function(free, "open", c.c_int, c.POINTER(Options), c.POINTER(handle))
        self.close = function(free, "close", c.c_int, handle)
        self.flush = function(free, "flush", c.c_int, handle)
        self.error = function(free, "error", c.c_char_p)
        self.add_stream = function(free, "add_stream", c.c_int, handle, c.c_char_p)
        self.add_cuda_stream = function(
            free, "add_cuda_stream", c.c_int, handle, c.c_char_p, c.c_void_p, c.c_int32
        )
        where = (handle, c.c_char_p, c.c_int32, c.c_char_p)
        self.serve_clock = function(free, "serve_clock", c.c_int, *where)
        self.compare_clock = function(free, "compare_clock", c.c_int, *where)
        self.job_init = function(held, "job_init_sized", None, job, c.c_size_t, c.c_int32)
        # Called for every job. Without declared arguments, which are Python objects that would have
        # to be in the processor's caches; callers give a c_void_p, an int and a byref().
        self.begin, self.end, self.cancel = (
            held.pipetrace_begin,
            held.pipetrace_end,
            held.pipetrace_cancel,
        )
        self.begin.restype, self.end.restype, self.cancel.restype = c.c_int64, None, None
        self.record = function(held, "record", None, handle, stream, job, c.c_int64, c.c_int64)
        self.record_all = function(
            held, "record_all", None, handle, c.c_char_p, c.c_size_t, c.c_size_t
        )
        self.next_job_id = function(held, "next_job_id", c.c_int64, handle)
        self.begin_step = function(held, "begin_step", None, handle, c.c_int32)
        self.end_step = function(held, "end_step", None, handle, c.c_int32)
        self.set_phase = function(held, "set_phase", None, handle, c.c_int32)
        self.text = function(held, "text", c.c_void_p, handle, c.c_char_p)
        self.counter = function(held, "counter", None, handle, c.c_void_p, c.c_double, c.c_void_p)

    @staticmethod
    def path():
        """That of the recorder: in the folders of all libraries, else where the loader looks."""
        return libraries.find("libpipetrace.so") or "libpipetrace.so"

    @classmethod
    def plugin_path(cls):
        """NCCL's plugin beside the library; None where there is none."""
        path = os.path.join(os.path.dirname(cls.path()), "libnccl-profiler-pipetrace.so")
        return path if os.path.exists(path) else None

    def last_error(self):
        return (self.error() or b"").decode("utf-8", "replace")

    def new_options(self):
        options = Options()
        self.options_init(c.byref(options), c.sizeof(Options))
        return options

    def new_job(self, kind):
        job = Job()
        self.job_init(c.byref(job), c.sizeof(Job), KINDS[kind])
        return job
