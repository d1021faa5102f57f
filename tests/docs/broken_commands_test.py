#!/usr/bin/env python3
"""Tests tools/doc_commands.py: what is wrong with the commands of a document is found.

  broken_commands_test.py BIN      BIN: the folder of the built programs
"""
import contextlib
import io
import os
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tools"))
import doc_commands
import doc_windows

PLAN = "pipe-trace plan --schedule GPipe --ranks 2 --micro-batches 2"

# What a document holds, and what must be reported; None: nothing.
RUN = [
    (f"```sh runnable\n{PLAN}\n```\n", None),
    (f"```sh runnable\n{PLAN} --nonsense\n```\n", "exit code 2"),
    (f"```sh runnable exit-1\n{PLAN}\n```\n", "exit code 0"),
    ("```sh runnable\npipe-trace nothing-here\n```\n", "exit code 2"),
    (f"```sh runnable\n{PLAN}\n```\n\n```text output\nlength 9.000 ms, bubble ratio 0.3333, span bubble 0.3333\n```\n", None),
    (f"```sh runnable\n{PLAN}\n```\n\n```text output\nlength 8.000 ms\n```\n", "does not print"),
    ("```text file=a.csv\n0F0,0B0\n```\n\n```sh runnable\npipe-trace plan \\\n    --schedule-file a.csv\n```\n", None),
    ("```sh runnable\npipe-view --sample\n```\n", None),
    ("```sh runnable\npipe-view nothing-here\n```\n", "shows no jobs"),
    ("```sh runnable\npipe-view --nonsense\n```\n", "closed by itself"),
]
CHECK = [
    (f"Text\n\n    {PLAN}\n", "commands without a mark"),
    ("```sh\nls\n```\n", "commands without a mark"),
    ("    cmake --preset core\n", "commands without a mark"),
    ("    FOO=1 bash tools/demo.sh\n", "commands without a mark"),
    ("    pipe-run: rank 2 was killed\n", None),
    ("```sh example:\npipe-view logs\n```\n", "an example without a reason"),
    ("```sh example: needs logs\npipe-view logs\n```\n", None),
    ("```sh runnable quickly\npipe-view logs\n```\n", "unknown mark quickly"),
    ("`tools/compare/self_test.py` compares.\n", "calls tools/compare/self_test.py, which has no run bit"),
    ("```sh example: long\ntools/compare/self_test.py --all\n```\n", "has no run bit"),
    ("```sh example: long\nbash tools/compare/self_test.py\n```\n", None),
]


def main():
    doc_windows.PATIENCE = 10
    has_screen = doc_windows.shutil.which("Xvfb") is not None
    failed = 0
    with tempfile.TemporaryDirectory(prefix="broken commands ") as folder:
        runner = doc_commands.Runner(sys.argv[1], folder, quick=True)
        document = os.path.join(folder, "document.md")
        for text, expected in RUN + CHECK:
            if not has_screen and "pipe-view nothing-here" in text:
                print("skipped, no Xvfb: a window without jobs")
                continue
            with open(document, "w", encoding="utf-8") as file:
                file.write(text)
            with contextlib.redirect_stdout(io.StringIO()) as said:
                if (text, expected) in RUN:
                    runner.failed = 0
                    runner.document(document)
                    found = runner.failed > 0
                else:
                    found = doc_commands.check([document]) != 0
            if found != (expected is not None) or (expected or "") not in said.getvalue():
                print(f"expected {expected or 'nothing'} of:\n{text}\nreported:\n{said.getvalue()}")
                failed += 1
        if runner.screen:
            runner.screen.close()
    print(f"{len(RUN) + len(CHECK)} documents, {failed} not judged as they should be")
    return 1 if failed else 0


sys.exit(main())
