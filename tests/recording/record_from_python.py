"""Any language that can call C: records a job through libpipetrace.so without a line of C++.

usage: record_from_python.py LIBRARY FOLDER
"""
import ctypes
import pathlib
import shutil
import sys


class Job(ctypes.Structure):
    _fields_ = [("size", ctypes.c_uint32), ("kind", ctypes.c_int32),
                ("micro_batch", ctypes.c_int32), ("step", ctypes.c_int32),
                ("stage", ctypes.c_int32), ("chunk", ctypes.c_int32), ("peer", ctypes.c_int32),
                ("bytes", ctypes.c_int64), ("id", ctypes.c_int64), ("action", ctypes.c_char_p)]


class LaterJob(Job):  # with the fields that came after version 0.1
    _fields_ = [("part", ctypes.c_int32), ("version", ctypes.c_int32)]


class Options(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("enabled", ctypes.c_int32), ("rank", ctypes.c_int32),
                ("rest", ctypes.c_int32 * 4), ("device", ctypes.c_char_p),
                ("schedule", ctypes.c_char_p), ("log_directory", ctypes.c_char_p),
                ("first_step", ctypes.c_int32), ("end_step", ctypes.c_int32),
                ("ring_slots", ctypes.c_uint32)]


def main():
    library = ctypes.CDLL(sys.argv[1])
    folder = pathlib.Path(sys.argv[2])
    shutil.rmtree(folder, ignore_errors=True)
    library.pipetrace_error.restype = ctypes.c_char_p
    library.pipetrace_begin.restype = ctypes.c_int64
    library.pipetrace_next_job_id.restype = ctypes.c_int64

    options = Options()
    library.pipetrace_options_init(ctypes.byref(options))
    assert options.size == ctypes.sizeof(options), "the struct of the C header is another one"
    options.enabled, options.rank = 1, 3
    options.log_directory = str(folder).encode()
    recorder = ctypes.c_void_p()
    assert library.pipetrace_open(ctypes.byref(options), ctypes.byref(recorder)) == 0, \
        library.pipetrace_error()
    compute = library.pipetrace_add_stream(recorder, b"compute")
    numbers = []
    for step in range(3):
        job = Job()
        library.pipetrace_job_init(ctypes.byref(job), 1)
        assert job.size == ctypes.sizeof(job), "the struct of the C header is another one"
        job.step, job.micro_batch = step, step + 10
        if step == 1:
            job.id = library.pipetrace_next_job_id(recorder)
        given = job.id
        numbers.append(library.pipetrace_begin(recorder, compute, ctypes.byref(job)))
        assert given in (-1, numbers[-1]), (given, numbers)
        library.pipetrace_end(recorder, compute)
    for version in (-1, 12):
        job = LaterJob()
        library.pipetrace_job_init_sized(ctypes.byref(job), ctypes.c_size_t(ctypes.sizeof(job)), 2)
        assert (job.part, job.version) == (-1, -1), "the struct of the C header is another one"
        job.version = version
        library.pipetrace_begin(recorder, compute, ctypes.byref(job))
        library.pipetrace_end(recorder, compute)
    assert len(set(numbers)) == 3 and min(numbers) >= 0, numbers
    assert library.pipetrace_close(recorder) == 0, library.pipetrace_error()

    text = (folder / "workerlog.3").read_text()
    for step in range(3):
        assert f"Job ({step + 10}), type = forward" in text, text
    assert text.count("type = backward") == 2 and text.count(", version = 12\n") == 1, text
    assert ", part = " not in text, text
    assert "written = 5, dropped = 0, errors = 0" in text, text


if __name__ == "__main__":
    main()
