#!/usr/bin/env python3
"""Compares documents with programs, and tests the comparison: each mistake that is put into a document
is found.

  facts_test.py BIN      BIN: the folder of the built programs
"""
import os
import sys

import check_documents as check
from programs import helps_of, helps_of_scripts

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

# Document, what stands there, what is put in its place, a part of the finding.
MISTAKES = [
    ("docs/pipe-trace.md", "`--width C`", "`--widht C`", "no program has an option --widht"),
    ("docs/schedules.md", "--recomputed-gb 0.9", "--recomputed-gb 0.9 --multi-machine",
     "pipe-trace plan has no option --multi-machine"),
    ("docs/viewer.md", "--no-classes", "--dark", "--no-classes of pipe-view is in none of"),
    ("docs/runtime.md", "of the samples (default 600)", "of the samples (default 601)",
     "default 601 of --step-timeout"),
    ("docs/viewer.md", "default 1600 wide", "default 1500 wide", "default 1500 of --size"),
    ("docs/schedules.md", "### ZB-H1", "### ZB-H3", "the schedule ZB-H1 has no heading"),
    ("docs/running.md", "1F1B with two ranks", "1f1B with two ranks", "1f1B is spelled 1F1B"),
    ("docs/viewer.md", "Exit codes: 0 done", "Exit codes: 0 closed", "no --help has the exit codes"),
    ("docs/running.md", "| 2 | could not, or a rank failed |\n", "", "no document has the exit codes"),
    ("docs/profiler.md", "PIPETRACE_LOG_DIR", "PIPETRACE_LOG_FOLDER",
     "no source knows PIPETRACE_LOG_FOLDER"),
    ("README.md", "| `viewer` | | yes |", "| `viewer` | yes | yes |", "the row of the preset viewer"),
    ("README.md", "| `runtime` | yes | |\n", "", "the preset runtime is missing"),
    ("docs/testing.md", "--preset core", "--preset kernel", "there is no preset kernel"),
]


def findings(documents, helps, folder):
    found = []
    check.check_options(documents, helps, found)
    check.check_defaults(documents, helps, found)
    check.check_schedules(documents, folder, found)
    check.check_exit_codes(documents, helps, found)
    check.check_variables(documents, ROOT, found)
    check.check_presets(documents, ROOT, found)
    return found


def main():
    folder = sys.argv[1]
    helps = {**helps_of(folder), **helps_of_scripts(ROOT)}
    wrong = findings(check.Documents(ROOT), helps, folder)
    for finding in wrong:
        print(finding)
    failed = len(wrong)
    for path, there, instead, expected in MISTAKES:
        documents = check.Documents(ROOT)
        if there not in documents.texts[path]:
            print(f"{path} has no {there!r}; choose another mistake")
            failed += 1
            continue
        documents.texts[path] = documents.texts[path].replace(there, instead)
        if not any(expected in finding for finding in findings(documents, helps, folder)):
            print(f"{path}: {instead!r} instead of {there!r} is not found")
            failed += 1
    print(f"{len(wrong)} findings; {len(MISTAKES)} mistakes, {failed - len(wrong)} not found")
    return 1 if failed else 0


sys.exit(main())
