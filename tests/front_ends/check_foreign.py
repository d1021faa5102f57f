#!/usr/bin/env python3
"""Checks that pipe-trace and Perfetto count the same arrows in traces of other programs.

use: check_foreign.py PIPE_TRACE TRACE...

Exit code 77 (skipped) if none of the traces is there.
"""

import json
import pathlib
import subprocess
import sys

from viewers import FrontEnds


def main():
    program, *names = sys.argv[1:]
    traces = [pathlib.Path(name) for name in names if pathlib.Path(name).exists()]
    for name in names:
        if pathlib.Path(name) not in traces:
            print(f"skipped: {name} is not there")
    if not traces:
        return 77
    wrong = 0
    with FrontEnds() as viewers:
        for trace in traces:
            info = subprocess.run([program, "info", str(trace), "--json"], capture_output=True,
                                  text=True, check=True)
            flows = json.loads(info.stdout)["flows"]
            perfetto = viewers.perfetto(trace)
            is_wrong = perfetto["error"] is not None or flows != perfetto["flows"]
            wrong += is_wrong
            print("WRONG" if is_wrong else "ok   ", trace.name, f"arrows: {flows}, in Perfetto:",
                  perfetto["error"] or perfetto["flows"])
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
