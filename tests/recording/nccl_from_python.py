"""NCCL's profiler plugin as NCCL loads it into a program that is not ours: through
libnccl-profiler-pipetrace.so, with the program's recorder or with one of the plugin's own.

usage: nccl_from_python.py PLUGIN LIBRARY FOLDER
"""
import ctypes
import os
import pathlib
import shutil
import subprocess
import sys

from record_from_python import Job, Options

COLLECTIVE = 1 << 1


class Table(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p)] + [
        (name, ctypes.c_void_p) for name in ("init", "start", "stop", "state", "finalize")]


class Collective(ctypes.Structure):
    _fields_ = [("sequence", ctypes.c_uint64), ("function", ctypes.c_char_p),
                ("send", ctypes.c_void_p), ("receive", ctypes.c_void_p),
                ("count", ctypes.c_size_t), ("root", ctypes.c_int), ("type", ctypes.c_char_p),
                ("channels", ctypes.c_uint8), ("warps", ctypes.c_uint8),
                ("algorithm", ctypes.c_char_p), ("protocol", ctypes.c_char_p),
                ("group", ctypes.c_void_p)]


class Description(ctypes.Structure):
    _fields_ = [("type", ctypes.c_uint64), ("parent", ctypes.c_void_p), ("rank", ctypes.c_int),
                ("collective", Collective)]


MASK = ctypes.c_int(0)


def communicate(table):
    """What NCCL does for a communicator on which all ranks reduce once."""
    def function(address, *arguments):
        return ctypes.CFUNCTYPE(ctypes.c_int, *arguments)(address)
    pointer = ctypes.c_void_p
    init = function(table.init, pointer, ctypes.c_uint64, pointer, ctypes.c_char_p, ctypes.c_int,
                    ctypes.c_int, ctypes.c_int, pointer)
    start = function(table.start, pointer, pointer, pointer)
    context, handle = pointer(), pointer(1)
    assert init(ctypes.addressof(context), 7, ctypes.addressof(MASK), b"world", 1, 2, 1, None) == 0
    described = Description(type=COLLECTIVE)
    described.collective.function, described.collective.algorithm = b"AllReduce", b"TREE"
    described.collective.count, described.collective.type = 3, b"ncclFloat64"
    assert start(context, ctypes.addressof(handle), ctypes.addressof(described)) == 0
    assert function(table.stop, pointer)(handle) == 0
    assert function(table.finalize, pointer)(context) == 0


def find_table(plugin):
    return Table.in_dll(ctypes.CDLL(plugin), "ncclProfiler_v5")


def with_recorder(plugin, library, folder):
    table = find_table(plugin)
    recording = ctypes.CDLL(library)
    recording.pipetrace_begin.restype = ctypes.c_int64
    options, recorder, job = Options(), ctypes.c_void_p(), Job()
    recording.pipetrace_options_init(ctypes.byref(options))
    options.enabled, options.log_directory = 1, str(folder).encode()
    assert recording.pipetrace_open(ctypes.byref(options), ctypes.byref(recorder)) == 0
    compute = recording.pipetrace_add_stream(recorder, b"compute")
    recording.pipetrace_job_init(ctypes.byref(job), 1)
    number = recording.pipetrace_begin(recorder, compute, ctypes.byref(job))
    communicate(table)
    recording.pipetrace_end(recorder, compute)
    assert MASK.value != 0
    assert recording.pipetrace_close(recorder) == 0
    text = (folder / "workerlog.0").read_text()
    assert f"type = all_reduce" in text and f"bytes = 24, job = {number}, untimed = 1" in text, text
    assert text.rstrip().splitlines()[-1].find("Profiler End: ") >= 0, text


def late_recorder(plugin, library, folder):
    """The plugin has opened a recorder by the time that the program opens its own."""
    os.environ.update(PIPETRACE="1", PIPETRACE_LOG_DIR=str(folder), RANK="0")
    table = find_table(plugin)
    communicate(table)
    recording = ctypes.CDLL(library)
    options, recorder = Options(), ctypes.c_void_p()
    recording.pipetrace_options_init(ctypes.byref(options))
    assert recording.pipetrace_open(ctypes.byref(options), ctypes.byref(recorder)) == 0
    communicate(table)
    assert recording.pipetrace_close(recorder) == 0
    lines = (folder / "workerlog.0").read_text().splitlines()
    kinds = [line.split("Profiler ")[1].split(":")[0] for line in lines]
    assert kinds == ["Meta", "Stream", "End"] * 2, lines
    for name in ("PIPETRACE", "PIPETRACE_LOG_DIR", "RANK"):
        del os.environ[name]


def alone(plugin, folder):
    child = [sys.executable, __file__, plugin]
    environment = dict(os.environ, PIPETRACE="1", PIPETRACE_LOG_DIR=str(folder), RANK="5")
    subprocess.run(child, env=environment, check=True)
    text = (folder / "workerlog.5").read_text()
    assert "rank = 5, world_size = 2" in text and "algorithm = TREE" in text, text
    assert "Profiler End: " in text, "the plugin closes its recorder when the program ends"
    shutil.rmtree(folder)
    environment["PIPETRACE"] = "0"
    subprocess.run(child, env=environment, check=True)
    assert not folder.exists(), "switched off, nothing is written"


def main():
    if len(sys.argv) == 2:
        communicate(find_table(sys.argv[1]))
        return
    plugin, library, folder = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])
    for child in ("recorder", "late", "alone"):
        shutil.rmtree(folder / child, ignore_errors=True)
    with_recorder(plugin, library, folder / "recorder")
    late_recorder(plugin, library, folder / "late")
    alone(plugin, folder / "alone")


main()
