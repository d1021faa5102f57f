"""A CUDA stream recorded through libpipetrace.so without a line of C++, with a made-up driver.

usage: cuda_from_python.py DRIVER LIBRARY FOLDER
"""
import ctypes
import pathlib
import re
import shutil
import sys

from record_from_python import Job, Options

WORK = 4_000_000  # ns


def main():
    # As a CUDA program has loaded its driver: the library's name is then known.
    driver = ctypes.CDLL(sys.argv[1])
    driver.fakeCudaNewStream.restype = ctypes.c_void_p
    stream = ctypes.c_void_p(driver.fakeCudaNewStream())
    library = ctypes.CDLL(sys.argv[2])
    folder = pathlib.Path(sys.argv[3])
    shutil.rmtree(folder, ignore_errors=True)
    library.pipetrace_error.restype = ctypes.c_char_p
    library.pipetrace_begin.restype = ctypes.c_int64

    options, recorder, job = Options(), ctypes.c_void_p(), Job()
    library.pipetrace_options_init(ctypes.byref(options))
    options.enabled, options.log_directory = 1, str(folder).encode()
    assert library.pipetrace_open(ctypes.byref(options), ctypes.byref(recorder)) == 0, \
        library.pipetrace_error()
    assert library.pipetrace_add_cuda_stream(recorder, b"compute", stream, 5) == -1
    assert b"CUDA device 5" in library.pipetrace_error()
    compute = library.pipetrace_add_cuda_stream(recorder, b"compute", stream, 0)
    assert compute == 0, library.pipetrace_error()
    for step in range(3):
        library.pipetrace_job_init(ctypes.byref(job), 1)
        job.step = step
        library.pipetrace_begin(recorder, compute, ctypes.byref(job))
        driver.fakeCudaWork(stream, ctypes.c_int64(WORK))
        library.pipetrace_end(recorder, compute)
    assert library.pipetrace_close(recorder) == 0, library.pipetrace_error()

    text = (folder / "workerlog.0").read_text()
    times = [int(digits.replace(".", "")) for digits in
             re.findall(r"job_(?:start|end)_time = ([0-9]+[.][0-9]{6})", text)]
    assert len(times) == 6 and times[5] - times[0] > 2 * WORK, text
    assert driver.fakeCudaMisuses() == 0


main()
