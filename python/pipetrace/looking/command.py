"""The command `pipe-trace` of the wheel."""

from __future__ import annotations

import os
import pathlib
import sys


def main() -> None:
    """Becomes the program, with the arguments of this one."""
    program = pathlib.Path(__file__).resolve().parent.parent / "bin" / "pipe-trace"
    try:
        os.execv(program, [str(program), *sys.argv[1:]])
    except OSError as error:
        sys.exit(f"pipe-trace: cannot run {program}: {error.strerror}; install the wheel again")
