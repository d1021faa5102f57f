"""Where the C libraries of PipeTrace are: the recorder, the one for looking, NCCL's plugin."""

from __future__ import annotations

import os


def folders() -> list[str]:
    """The folders of the variable PIPETRACE_LIBRARY_PATH, then that of the package."""
    given = os.environ.get("PIPETRACE_LIBRARY_PATH", "").split(os.pathsep)
    package = os.path.dirname(os.path.abspath(__file__))
    return [*filter(None, given), os.path.join(package, "lib")]


def find(name: str) -> str | None:
    """The path of a library; None: it is in none of the folders."""
    paths = (os.path.join(folder, name) for folder in folders())
    return next(filter(os.path.exists, paths), None)
