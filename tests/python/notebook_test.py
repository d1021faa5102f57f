#!/usr/bin/env python3
"""Runs the tutorial notebook, and looks at what it shows.

    notebook_test.py LIBRARY_FOLDER OUT.html

OUT.html gets all outputs one after the other, for a look. Exit code 77: nbclient is missing.
"""

from __future__ import annotations

import html
import os
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]

try:
    import nbclient
    import nbformat
    from jupyter_client.manager import AsyncKernelManager
except ImportError as missing:
    print(f"{missing.name} is not installed (tools/setup.sh --tests)")
    sys.exit(77)


def shown(cell: nbformat.NotebookNode) -> dict[str, str]:
    """What a cell shows, by type of contents."""
    found: dict[str, str] = {}
    for output in cell.get("outputs", []):
        for kind, data in output.get("data", {}).items():
            found[kind] = found.get(kind, "") + data
        if output["output_type"] == "stream":
            found[output["name"]] = found.get(output["name"], "") + output["text"]
    return found


def page_of(cells: list[nbformat.NotebookNode]) -> str:
    parts = ["<!doctype html><meta charset='utf-8'><style>body{font-family:sans-serif}</style>"]
    for cell in cells:
        found = shown(cell)
        parts.append(f"<pre style='background:#eee'>{html.escape(cell.source)}</pre>")
        for kind in ("stdout", "stderr"):
            parts.append(f"<pre>{html.escape(found.get(kind, ''))}</pre>")
        plain = f"<pre>{html.escape(found.get('text/plain', ''))}</pre>"
        parts.append(found.get("text/html", plain))
    return "\n".join(parts)


def main() -> int:
    os.environ["PIPETRACE_LIBRARY_PATH"] = os.path.abspath(sys.argv[1])
    os.environ["PYTHONPATH"] = str(ROOT / "python")
    notebook = nbformat.read(ROOT / "docs/python_tutorial.ipynb", as_version=4)
    bar = "from pipetrace.looking import progress\nwith progress.Progress() as bar:\n"
    bar += "    bar._begin -= 10\n    bar.show('reading', 1_000_000, 4_000_000)\n"
    bar += "    print(type(bar._handle).__name__)"
    notebook.cells.append(nbformat.v4.new_code_cell(bar))
    # Through sockets in the file system: no port listens.
    kernels = AsyncKernelManager(kernel_name="python3", transport="ipc")
    nbclient.NotebookClient(notebook, km=kernels, timeout=120).execute()
    cells = notebook.cells
    pathlib.Path(sys.argv[2]).write_text(page_of(cells), encoding="utf-8")
    answers = {cell.source: shown(cell) for cell in cells if cell.cell_type == "code"}

    def after(text: str) -> dict[str, str]:
        return next(found for source, found in answers.items() if text in source)

    wrong = []

    def expect(holds: bool, what: str) -> None:
        if not holds:
            wrong.append(what)

    expect("('slow_stages', 2)" in after("worst.stage")["text/plain"], "stage 2 is found")
    expect(
        "('slow_link', [(1, 2)])" in after("worst.links")["text/plain"],
        "link 1-2 is found",
    )
    expect("('slow_rank', [6])" in after("worst.ranks")["text/plain"], "rank 6 is found")
    expect("<svg" in after("healthy.chart")["text/html"], "a chart draws itself")
    expect("<li>" in after("first.advise()")["text/html"], "advice draws itself")
    frame = after("third.topology, ")
    frame = next(f for s, f in answers.items() if s == "third")["text/html"]
    expect("<iframe srcdoc=" in frame and "rank 6" in frame, "a run draws itself")
    expect("<svg" in after('plan("ZB-H1"')["text/html"], "a plan draws itself")
    expect("<table" in after("pipetrace.compare")["text/html"], "a comparison draws itself")
    drawn = after("progress.Progress()")
    expect(drawn.get("stdout") == "DisplayHandle\n", f"work has a bar: {drawn}")
    for source, found in answers.items():
        expect("stderr" not in found, f"no warnings: {source}: {found.get('stderr')}")
        outside = re.search(r"(src|href)=(&quot;|\")https?://", found.get("text/html", ""))
        expect(outside is None, f"no network: {source}")
    for each in wrong:
        print(f"does not hold: {each}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
