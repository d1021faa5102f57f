"""The C library libpipetrace_run.so (python/abi/pipetrace_run.h), and work of it that takes a while.

ctypes releases the interpreter's lock during each call, so other threads of Python run meanwhile.
"""

from __future__ import annotations

import ctypes
import json
import os
import warnings
from collections.abc import Mapping
from typing import Any

from pipetrace import libraries
from pipetrace.looking.progress import Progress


class Error(Exception):
    """What was asked for cannot be done; the text is that of the pipe-trace commands."""


class InputWarning(UserWarning):
    """Something is wrong in what was read, or figures of it are doubtful."""


_FILE = "libpipetrace_run.so"
_BETWEEN_LOOKS_MS = 50

_library: ctypes.CDLL | None = None


def find_library(name: str) -> str:
    """The file of a library of PipeTrace. Raises Error where none is there."""
    path = libraries.find(name)
    if path is None:
        raise Error(
            f"there is no {name} in {', '.join(libraries.folders())}; install the wheel (pip "
            "install ./python), or set PIPETRACE_LIBRARY_PATH to the folder of a build that has it"
        )
    return path


def _declare(library: ctypes.CDLL) -> None:
    pointer, text, number = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int
    functions: dict[str, tuple[Any, list[Any]]] = {
        "pipetrace_run_version": (text, []),
        "pipetrace_run_start_load": (pointer, [text]),
        "pipetrace_run_start_ask": (pointer, [pointer, pointer, text, text]),
        "pipetrace_run_start_table": (pointer, [pointer, text]),
        "pipetrace_task_wait": (number, [pointer, number]),
        "pipetrace_task_cancel": (None, [pointer]),
        "pipetrace_task_progress": (None, [pointer, pointer, pointer, pointer]),
        "pipetrace_task_error": (text, [pointer]),
        "pipetrace_task_text": (pointer, [pointer, pointer]),
        "pipetrace_task_remarks": (text, [pointer]),
        "pipetrace_task_take_run": (pointer, [pointer]),
        "pipetrace_task_stream": (number, [pointer, pointer]),
        "pipetrace_task_free": (None, [pointer]),
        "pipetrace_run_free": (None, [pointer]),
    }
    for name, (result, arguments) in functions.items():
        function = getattr(library, name)
        function.restype = result
        function.argtypes = arguments


def library() -> ctypes.CDLL:
    """The C library, which the first call loads. Raises Error where it is missing."""
    global _library
    if _library is None:
        path = find_library(_FILE)
        try:
            loaded = ctypes.CDLL(path)
        except OSError as error:
            raise Error(f"cannot load {path}: {error}") from None
        _declare(loaded)
        _library = loaded
    return _library


def version() -> str:
    """The version of PipeTrace, such as "0.1.0"."""
    return str(library().pipetrace_run_version().decode())


def printable(text: str) -> str:
    """A text with ? in place of characters that would steer a terminal, as the commands print it."""
    return "".join(c if c.isprintable() or c == "\n" else "?" for c in text)


class Task:
    """Work of the library from its start to its end.

    Leaving the `with` block frees it. An exception meanwhile, such as that of Ctrl-C, cancels it.
    """

    def __init__(self, handle: int) -> None:
        self._handle = handle

    def __enter__(self) -> Task:
        return self

    def __exit__(self, *_: object) -> None:
        handle, self._handle = self._handle, 0
        library().pipetrace_task_free(handle)

    def finish(self, shows: bool = True) -> None:
        """Waits for the end, with a progress bar if `shows`. Raises Error if it failed."""
        wait = library().pipetrace_task_wait
        with Progress(shows) as progress:
            while not wait(self._handle, _BETWEEN_LOOKS_MS):
                progress.show(*self._counts())
        error = library().pipetrace_task_error(self._handle)
        if error is not None:
            raise Error(error.decode(errors="replace"))

    def _counts(self) -> tuple[str, int, int]:
        what, done, all_ = ctypes.c_char_p(), ctypes.c_int64(), ctypes.c_int64()
        library().pipetrace_task_progress(
            self._handle, ctypes.byref(what), ctypes.byref(done), ctypes.byref(all_)
        )
        return (what.value or b"").decode(), done.value, all_.value

    def text(self) -> str:
        length = ctypes.c_size_t()
        address = library().pipetrace_task_text(self._handle, ctypes.byref(length))
        return ctypes.string_at(address, length.value).decode(errors="replace")

    def remarks(self) -> list[str]:
        text = library().pipetrace_task_remarks(self._handle).decode(errors="replace")
        return text.split("\n") if text else []

    def take_run(self) -> int:
        return int(library().pipetrace_task_take_run(self._handle))

    def fill_stream(self, address: int) -> None:
        if library().pipetrace_task_stream(self._handle, address) != 0:
            raise MemoryError


class Handle:
    """A run of the library, which is freed when nobody needs it any more."""

    def __init__(self, address: int) -> None:
        self.address = address

    def __del__(self) -> None:
        if _library is not None:
            _library.pipetrace_run_free(self.address)


def encoded(options: Mapping[str, Any]) -> bytes:
    """Options as JSON. Paths become texts; None leaves an option out."""
    given = {key: value for key, value in options.items() if value is not None}
    return json.dumps(given, default=os.fspath).encode()


def read(options: Mapping[str, Any], shows: bool) -> Handle:
    """Reads a run."""
    with Task(library().pipetrace_run_start_load(encoded(options))) as task:
        task.finish(shows)
        return Handle(task.take_run())


def ask(
    question: str,
    options: Mapping[str, Any],
    run: Handle | None = None,
    other: Handle | None = None,
    shows: bool = True,
) -> str:
    """The answer to a question of pipetrace_run.h. What it says besides becomes warnings."""
    start = library().pipetrace_run_start_ask
    one, two = (None if handle is None else handle.address for handle in (run, other))
    with Task(start(one, two, question.encode(), encoded(options))) as task:
        task.finish(shows)
        for remark in task.remarks():
            warnings.warn(printable(remark), InputWarning, stacklevel=4)
        return task.text()


def fill_stream(run: Handle, table: str, shows: bool, address: int) -> None:
    """Fills in the ArrowArrayStream at an address with a table of the run."""
    with Task(library().pipetrace_run_start_table(run.address, table.encode())) as task:
        task.finish(shows)
        task.fill_stream(address)
