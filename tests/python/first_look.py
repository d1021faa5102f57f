#!/usr/bin/env python3
"""What a stranger does first with the package that is installed: plans, reads, and asks.

    first_look.py

Needs nothing but the package. tools/fresh_machine.sh wheel runs it on a bare machine.
"""

import pathlib
import subprocess
import sys
import sysconfig
import tempfile
import time

import pipetrace


def main() -> int:
    source = pathlib.Path(pipetrace.__file__)
    packages = pathlib.Path(sysconfig.get_paths()["purelib"])
    assert source.is_relative_to(packages), f"{source} is not what was installed in {packages}"
    begin = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        size = {"ranks": 4, "micro_batches": 8, "steps": 3}
        pipetrace.plan("1F1B", **size, scale="stage=2:1.4").save(f"{folder}/logs/")
        run = pipetrace.load(f"{folder}/logs")
        print(run)
        for finding in run.findings:
            print(finding)
        assert (run.findings[0].kind, run.findings[0].stage) == ("slow_stages", 2)
        assert len(run.jobs) == 3 * 4 * 16, len(run.jobs)
        assert run.advise()["advice"], "there is advice"
        files = [
            f"{folder}/run.{ending}" for ending in ("json", "pftrace", "sqlite", "html", "svg")
        ]
        run.save(*files)
        assert all(pathlib.Path(file).stat().st_size > 0 for file in files)
        program = pathlib.Path(sysconfig.get_path("scripts")) / "pipe-trace"
        command = [program, "report", f"{folder}/logs"]
        printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        assert printed == str(run.report())
    print(f"pipetrace {pipetrace.__version__} works: {time.monotonic() - begin:.1f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
