"""A bar for work that takes a while, in terminals and in notebooks."""

from __future__ import annotations

import os
import sys
import time
from typing import Any

_PATIENCE = 1.0  # seconds until it appears
_WIDTH = 30  # of the bar in a terminal, in characters


def _amounts(what: str, done: int, all_: int) -> str:
    """ "50 %  1.2 of 2.4 GB"; bytes where the work is reading."""
    if what != "reading":
        return f"{done} of {all_} changes" if all_ > 0 else f"{done} changes"
    unit, name = (1e9, "GB") if max(done, all_) >= 1e9 else (1e6, "MB")
    amount = f"{done / unit:.1f}"
    if all_ <= 0:
        return f"{amount} {name}"
    return f"{100 * done // all_:3d} %  {amount} of {all_ / unit:.1f} {name}"


def line(what: str, done: int, all_: int) -> str:
    """ "reading [#####     ]  50 %  1.2 of 2.4 GB"."""
    bar = ""
    if all_ > 0:
        filled = min(_WIDTH, _WIDTH * done // all_)
        bar = f"[{'#' * filled}{' ' * (_WIDTH - filled)}] "
    return f"{what or 'working'} {bar}{_amounts(what, done, all_) if what else ''}".rstrip()


def _notebook() -> Any:
    """IPython.display where this runs in a notebook; else None. Imports nothing."""
    ipython = sys.modules.get("IPython")
    if ipython is None:
        return None
    shell = ipython.get_ipython()
    if shell is None or type(shell).__name__ != "ZMQInteractiveShell":
        return None
    import IPython.display

    return IPython.display


class Progress:
    """Shows how far work is once it has taken a second; gone when the `with` block ends."""

    def __init__(self, shows: bool = True) -> None:
        self._begin = time.monotonic()
        self._shows = shows and os.environ.get("PIPETRACE_PROGRESS", "1") != "0"
        self._columns = 0  # of what stands in the terminal
        self._handle: Any = None

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_: object) -> None:
        if self._columns > 0:
            sys.stderr.write("\r" + " " * self._columns + "\r")
            sys.stderr.flush()
        if self._handle is not None:
            self._handle.update(_notebook().HTML(""))

    def show(self, what: str, done: int, all_: int) -> None:
        if not self._shows or time.monotonic() - self._begin < _PATIENCE:
            return
        display = _notebook()
        if display is not None:
            self._show_in_notebook(display, what, done, all_)
        elif sys.stderr is not None and sys.stderr.isatty():
            text = line(what, done, all_)
            sys.stderr.write("\r" + text.ljust(self._columns))
            sys.stderr.flush()
            self._columns = len(text)

    def _show_in_notebook(self, display: Any, what: str, done: int, all_: int) -> None:
        value = f' value="{done}" max="{all_}"' if all_ > 0 else ""
        text = f"{what or 'working'} <progress{value}></progress> "
        html = display.HTML(text + (_amounts(what, done, all_) if what else ""))
        if self._handle is None:
            self._handle = display.display(html, display_id=True)
        elif self._handle is not None:
            self._handle.update(html)
