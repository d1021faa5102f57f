#!/usr/bin/env python3
"""Gives the programs of two builds the same inputs, and shows what differs.

Inputs are the files and folders of --data, the logs of --demo, and random runs, traces and plans
that are the same from the same --seed. With each input both builds write profiles of every format,
summaries, info, show, plans, pictures and errors. Exit codes, texts and files are compared: byte
for byte, and where bytes differ, line by line (SQLite by its rows, Perfetto traces by their packets).

Both builds run in the same folder, one after the other, with the same environment, so their texts
hold the same paths. Three things that change from run to run are made equal in stdout and stderr,
and nothing else is: names of temporary files (.part-…), dates and process numbers at the start of
log lines, and the lines "waiting for rank" of --follow. There is no progress bar without a terminal.
When a command differs, BEFORE runs again; if it differs from itself, the command is called unsteady.

Exit codes: 0 equal, or all changes expected; 1 something differs; 2 could not compare.
Example: tools/compare_builds.py old/bin build/viewer/bin --data ../shared/data --runs 50
"""

import argparse
import os
import pathlib
import random
import shutil
import sys
import tempfile
import traceback

sys.dont_write_bytecode = True
from compare.comparison import compare_all  # noqa: E402
from compare.inputs import Inputs  # noqa: E402
from compare.report import Expected, Report  # noqa: E402
from compare.self_test import self_test  # noqa: E402


def options():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before", metavar="BEFORE_BIN", type=pathlib.Path,
                        help="folder with pipe-trace, and perhaps pipe-run and pipe-view")
    parser.add_argument("after", metavar="AFTER_BIN", type=pathlib.Path, help="the same, to compare")
    parser.add_argument("--work", metavar="FOLDER", type=pathlib.Path,
                        help="new or empty folder for inputs and for what differs; it is kept "
                             "(default: a temporary one, removed if all is equal)")
    parser.add_argument("--runs", metavar="N", type=int, default=50, help="random runs (default: 50)")
    parser.add_argument("--seed", metavar="TEXT", default="1", help="of the random runs (default: 1)")
    parser.add_argument("--sample", metavar="N", type=int,
                        help="only N of all commands, drawn by the seed (default: all)")
    parser.add_argument("--data", metavar="FOLDER", nargs="+", action="extend", default=[],
                        help="folders of logs, traces and schedule files")
    parser.add_argument("--demo", metavar="LOGFOLDER", nargs="+", action="extend", default=[],
                        help="folders of job logs, as tools/demo.sh leaves them")
    parser.add_argument("--ignore-keys", metavar="KEY,...", default="",
                        help="JSON keys and columns of tables that may differ, be new or be gone; "
                             "both log_cost and logCost are meant by either")
    parser.add_argument("--expected", metavar="FILE", type=pathlib.Path,
                        help="changes that are meant: lines [Heading], each with regular expressions "
                             "after it, one a line, searched in lines like "
                             "'info: stderr | -old text': the group of commands, then the line as "
                             "this program prints it")
    parser.add_argument("--programs", metavar="NAME,...", default="pipe-trace,pipe-run,pipe-view",
                        help="which to compare (default: %(default)s)")
    parser.add_argument("--jobs", metavar="N", type=int, default=os.cpu_count(),
                        help="commands at once (default: one per core)")
    parser.add_argument("--timeout", metavar="SECONDS", type=int, default=300,
                        help="of one command (default: 300)")
    parser.add_argument("--self-test", action="store_true",
                        help="first change what BEFORE writes, in many ways, and see each found")
    return parser.parse_args()


class CannotCompare(Exception):
    """Something is missing: exit code 2."""


def all_cases(inputs, chosen):
    cases = inputs.plain_logs() + inputs.given(chosen.data, "data") + inputs.given(chosen.demo, "demo")
    for n in range(chosen.runs):
        cases += inputs.random_run(n)
    return cases + inputs.random_plans(3 * chosen.runs)


def missing_programs(names, before, after):
    return [name for name in names if not ((before / name).exists() and (after / name).exists())]


def prepare(chosen, work):
    for folder in (chosen.before, chosen.after):
        if not os.access(folder / "pipe-trace", os.X_OK):
            raise CannotCompare(f"no pipe-trace in {folder}")
    for path in chosen.data + chosen.demo:
        if not os.path.isdir(path):
            raise CannotCompare(f"no folder {path}")
    if work.exists() and any(work.iterdir()):
        raise CannotCompare(f"{work} is not empty")
    (work / "inputs").mkdir(parents=True)


def run(chosen, work):
    prepare(chosen, work)
    try:
        report = Report(Expected(chosen.expected.read_text() if chosen.expected else ""))
    except Exception as error:
        raise CannotCompare(f"{chosen.expected}: {error}") from error
    inputs = Inputs(work / "inputs", chosen.before, chosen.seed)
    cases = all_cases(inputs, chosen)
    if chosen.self_test and not self_test(chosen.before, work, print):
        raise CannotCompare("the self-test failed: differences would not be found")
    names = chosen.programs.split(",")
    missing = missing_programs(names, chosen.before, chosen.after)
    if missing:
        print(f"not in both builds, not compared: {', '.join(missing)}")
    cases = [case for case in cases if case.program in names and case.program not in missing]
    if chosen.sample is not None and chosen.sample < len(cases):
        print(f"{chosen.sample} of {len(cases)} commands are compared")
        cases = random.Random(chosen.seed).sample(cases, chosen.sample)
    compare_all(cases, chosen.before, chosen.after, work, report, timeout=chosen.timeout,
                jobs=chosen.jobs, keys=[key for key in chosen.ignore_keys.split(",") if key],
                progress=lambda text: print(text, file=sys.stderr))
    report.print(print, work / "changes.txt")
    return 1 if report.failed() else 0


def main():
    sys.stdout.reconfigure(errors="backslashreplace", line_buffering=True)
    chosen = options()
    chosen.before, chosen.after = chosen.before.resolve(), chosen.after.resolve()
    work = (chosen.work or pathlib.Path(tempfile.mkdtemp(prefix="compare-builds-"))).resolve()
    try:
        code = run(chosen, work)
    except (CannotCompare, OSError) as error:
        print(f"compare_builds: {error}", file=sys.stderr)
        code = 2
    except Exception:
        traceback.print_exc()  # a mistake of this program is no difference
        code = 2
    if code == 1:
        print(f"what differs is in {work}/differences, all changed lines in {work}/changes.txt")
    elif not chosen.work:
        shutil.rmtree(work, ignore_errors=True)
    return code


if __name__ == "__main__":
    sys.exit(main())
