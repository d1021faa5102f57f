"""What callers give, as options of the commands."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Union

Paths = Union[str, "os.PathLike[str]", Iterable[Union[str, "os.PathLike[str]"]]]
Steps = Union[int, str, range, slice, "tuple[int | None, int | None]"]
Ranks = Union[int, str, Iterable[int]]


def paths_of(paths: Paths) -> list[str]:
    """One path, or several."""
    if isinstance(paths, (str, os.PathLike)):
        return [os.fspath(paths)]
    if not isinstance(paths, Iterable):
        raise TypeError(f"a folder or file, or several, and not {paths!r}")
    found = [os.fspath(path) for path in paths]
    if not found:
        raise ValueError("no folder or file is given")
    return found


def steps_of(steps: Steps | None) -> str | None:
    """3, "2:5", (2, 5), range(2, 5) and slice(2, 5): from the first to before the last."""
    if steps is None or isinstance(steps, (str, int)):
        return None if steps is None else str(steps)
    if isinstance(steps, (range, slice)):
        if steps.step not in (None, 1):
            raise ValueError(f"steps follow each other, and {steps} leaves some out")
        begin, end = steps.start, steps.stop
    else:
        begin, end = steps
    return f"{'' if begin is None else begin}:{'' if end is None else end}"


def ranks_of(ranks: Ranks | None) -> str | None:
    """3, "0,2,4-7" and [0, 2]."""
    if ranks is None or isinstance(ranks, (str, int)):
        return None if ranks is None else str(ranks)
    return ",".join(str(rank) for rank in ranks)


def rank_list_of(ranks: Ranks | None) -> list[str] | None:
    """One of these texts for each rank, for options that take one: ["3"], ["0", "2"]."""
    if ranks is None or isinstance(ranks, (str, int)):
        return None if ranks is None else [str(ranks)]
    return [str(rank) for rank in ranks]


def texts_of(values: str | Iterable[str] | None) -> list[str] | None:
    """One text, or several."""
    if values is None:
        return None
    return [values] if isinstance(values, str) else list(values)
