#!/usr/bin/env python3
"""Checks that each link of a document leads to a file that is there, and to one of its headings.

  doc_links.py [FILE ...]    default: every .md file that git tracks

Exit code 1 when a link leads nowhere.
"""
import argparse
import pathlib
import re
import subprocess
import sys


def anchors(text):
    """The anchors that front ends of Markdown give the headings of a document."""
    headings = re.findall(r"^#+ (.*)$", text, re.M)
    return {re.sub(r"[^\w\- ]", "", h.strip().lower()).replace(" ", "-") for h in headings}


def broken_links(path):
    """(line, what is wrong, link) of each link that leads nowhere."""
    text = re.sub(r"```.*?```", lambda m: "\n" * m[0].count("\n"), path.read_text(), flags=re.S)
    for number, line in enumerate(text.split("\n"), 1):
        for link in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"`[^`]*`", "", line)):
            if re.match(r"\w+:", link) or line.startswith("    "):
                continue
            name, _, anchor = link.partition("#")
            target = path.parent / name if name else path
            if not target.exists():
                yield number, "no such file", link
            elif anchor and target.suffix == ".md" and anchor not in anchors(target.read_text()):
                yield number, "no such heading", link


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("files", metavar="FILE", nargs="*", type=pathlib.Path)
    files = parser.parse_args().files
    if not files:
        listed = subprocess.run(["git", "ls-files", "-z", "*.md"], capture_output=True, check=True)
        files = [pathlib.Path(p) for p in listed.stdout.decode().split("\0") if p]
    found = [f"{path}:{line}: {problem}: {link}"
             for path in files for line, problem, link in broken_links(path)]
    print("\n".join(found + [f"{len(found)} broken links in {len(files)} documents"]))
    return 1 if found else 0


sys.exit(main())
