#!/usr/bin/env python3
"""Lists or runs the commands of documents, which stand in fenced blocks.

  doc_commands.py [--bin FOLDER] [--python PYTHON] [--work FOLDER] [--quick] [DOCUMENT ...]
                                 runs them; default: the documents of docs/ that have any
  doc_commands.py --list [--section HEADING] DOCUMENT ...     prints them, a line each
  doc_commands.py --check        whether every block of commands in every document is marked, and
                                 every script that is called has its run bit

A block is marked by the words after its three back quotes, which no reader of the page sees:

  sh runnable              runs as it stands, in order, in one empty folder for each document
  sh runnable in-tree      runs in the root of the repository
  sh runnable exit-1       ends with this exit code
  sh runnable slow         takes more than some seconds; --quick leaves it out
  sh runnable needs-torch  also needs-cuda: left out, with a line, where this machine has none
  sh example: REASON       runs nowhere, for that reason
  text output              lines that the command before prints, in this order
  LANGUAGE file=NAME       is written to the file NAME of that folder

--bin has the built programs (default: build/all/bin). --python is what python3 means in the commands.
A window of pipe-view opens in Xvfb, and is
closed when it shows jobs; without Xvfb it opens nowhere. Exit code 0: all ran, 1: a command failed
or a block has no mark, 2: could not begin.
"""
import argparse
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time

from doc_windows import NoScreen, Screen, opens_window

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PROGRAMS = re.compile(
    r"^\s*(?:\$ )?(?:\w+=\S+ )*(?:pipe-(?:run|trace|view)(?![:\w])|(?:bash |python3? )?(?:\./)?(?:tools|tests)/\S+"
    r"|cmake\b|ctest\b|build/\S+/bin/)", re.M)
# A script that a line or a code span begins with; after "bash" or "python3" it needs no run bit.
CALLED = re.compile(r"(?:^\s*(?:\$ )?(?:\w+=\S+ )*|`)(?:\./)?(tools/[\w/]+\.(?:sh|py))\b", re.M)
FENCE = re.compile(r"^```(.*)$")
MARKS = {"runnable", "in-tree", "slow", "needs-torch", "needs-cuda"}


class Block:
    """A fenced or indented block of a document."""

    def __init__(self, document, line, heading, info):
        self.document, self.line, self.heading = document, line, heading
        self.info, self.lines = info, []
        words = info.split()
        self.language = words[0] if words else ""
        self.marks = set(words[1:]) if "example:" not in words else {"example:"}
        named = [w for w in words if w.startswith("file=")]
        codes = [m[len("exit-"):] for m in self.marks if m.startswith("exit-")]
        self.exit_code = int(codes[0]) if codes else 0
        self.file = named[0][len("file="):] if named else None

    @property
    def text(self):
        return "\n".join(self.lines).rstrip("\n") + "\n"

    @property
    def place(self):
        return f"{os.path.relpath(self.document, ROOT)}:{self.line}"

    def commands(self):
        """Each command with its continuation lines; a loop is one command."""
        found, pending = [], ""
        for line in self.lines:
            pending += line + "\n"
            ended = not line.rstrip().endswith("\\") and subprocess.run(
                ["bash", "-n", "-c", pending], capture_output=True).returncode == 0
            if ended:
                if pending.strip() and not pending.lstrip().startswith("#"):
                    found.append(pending.strip())
                pending = ""
        if pending.strip():
            found.append(pending.strip())
        return found


def blocks(document):
    """The blocks of a document in their order."""
    found, block, heading, fenced, blank = [], None, "", False, True
    with open(document, encoding="utf-8") as file:
        for number, line in enumerate(file.read().split("\n"), 1):
            fence = FENCE.match(line)
            if fence:
                fenced = not fenced
                block = Block(document, number, heading, fence[1].strip()) if fenced else None
                if fenced:
                    found.append(block)
            elif fenced:
                block.lines.append(line)
            elif line.startswith("    ") and (block or blank):
                if block is None:
                    block = Block(document, number, heading, "")
                    found.append(block)
                block.lines.append(line[4:])
            elif line.strip():
                block = None
                if line.startswith("#"):
                    heading = line.lstrip("#").strip()
            elif block is not None:
                block.lines.append("")
            blank = not line.strip()
    return found


def all_documents():
    found = [os.path.join(ROOT, name) for name in os.listdir(ROOT) if name.endswith(".md")]
    for folder, _, names in os.walk(os.path.join(ROOT, "docs")):
        found += [os.path.join(folder, name) for name in names if name.endswith(".md")]
    return sorted(found)


def check(documents):
    """Prints every block that looks like commands and has no mark, every mark that is none, and
    every script that a document calls and that has no run bit."""
    findings = []
    for document in documents:
        with open(document, encoding="utf-8") as file:
            scripts = {os.path.join(ROOT, name) for name in CALLED.findall(file.read())}
        for script in sorted(filter(os.path.exists, scripts)):
            if not os.access(script, os.X_OK):
                findings.append(f"{os.path.relpath(document, ROOT)}: calls "
                                f"{os.path.relpath(script, ROOT)}, which has no run bit")
        for block in blocks(document):
            wrong = {m for m in block.marks if not re.fullmatch(r"exit-\d+", m)} - MARKS - {"example:", "output"} - {f"file={block.file}"}
            if block.language == "sh" and "example:" in block.marks:
                if not block.info.partition("example:")[2].strip():
                    findings.append(f"{block.place}: an example without a reason")
            elif block.language == "sh" and "runnable" in block.marks:
                if wrong:
                    findings.append(f"{block.place}: unknown mark {' '.join(sorted(wrong))}")
            elif block.language == "sh" or (
                    PROGRAMS.match(block.text) and "output" not in block.marks):
                findings.append(f"{block.place}: commands without a mark: {block.lines[0].strip()}")
    for finding in findings:
        print(finding)
    if any("mark" in finding for finding in findings):
        print("Write ```sh runnable or ```sh example: REASON (tools/doc_commands.py --help).")
    return 1 if findings else 0


def section(document, heading):
    return [b for b in blocks(document) if heading in (None, b.heading) and "runnable" in b.marks]


def list_commands(documents, heading):
    found = [c for d in documents for b in section(d, heading) for c in b.commands()]
    for command in found:
        print(re.sub(r"\s+#\s.*$", "", command.replace("\\\n", " ")))
    return 0 if found else 1


class Runner:
    """Runs blocks; each document has a folder of its own, in which its commands run in order."""

    def __init__(self, programs, work, quick):
        self.work, self.quick = work, quick
        self.environment = dict(os.environ, PATH=os.path.abspath(programs) + os.pathsep + os.environ["PATH"])
        # Settings and files that were opened last are those of a new user.
        self.environment["XDG_CONFIG_HOME"] = os.path.join(work, "config")
        self.failed, self.ran, self.skipped = 0, 0, 0
        self.screen = None

    def use_python(self, python):
        folder = os.path.join(self.work, "python")
        os.makedirs(folder, exist_ok=True)
        wrapper = os.path.join(folder, "python3")
        with open(wrapper, "w", encoding="utf-8") as file:
            file.write(f'#!/bin/sh\nexec {shlex.quote(shutil.which(python) or python)} "$@"\n')
        os.chmod(wrapper, 0o755)
        self.environment["PATH"] = folder + os.pathsep + self.environment["PATH"]

    def missing(self, block):
        """Why this machine cannot run a block; None if it can."""
        if "slow" in block.marks and self.quick:
            return "it takes long"
        if "needs-torch" in block.marks and not self.answers("python3", "-c", "import torch, numpy"):
            return "python3 has no torch here"
        if "needs-cuda" in block.marks and not self.answers("nvcc", "--version"):
            return "no CUDA toolkit here"
        return None

    def answers(self, *command):
        try:
            return subprocess.run(command, env=self.environment, capture_output=True).returncode == 0
        except FileNotFoundError:
            return False

    def document(self, document):
        folder = os.path.join(self.work, os.path.splitext(os.path.relpath(document, ROOT))[0])
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        printed = ""
        for block in blocks(document):
            if block.file:
                with open(os.path.join(folder, block.file), "w", encoding="utf-8") as file:
                    file.write(block.text)
            elif "output" in block.marks and block.language == "text":
                if printed is not None:
                    self.compare(block, printed)
            elif "runnable" in block.marks:
                why = self.missing(block)
                if why:
                    printed = None
                for command in block.commands():
                    if why:
                        self.skipped += 1
                        print(f"skipped, {why}: {command}", flush=True)
                        continue
                    printed = self.run(block, command, ROOT if "in-tree" in block.marks else folder)
                    if printed is None:
                        print("what follows in this document may need it, and is left out")
                        return

    def run(self, block, command, folder):
        """Runs one command. Returns what it printed, None if it failed."""
        print(f"\n{block.place}$ {command}", flush=True)
        begin = time.monotonic()
        self.ran += 1
        if opens_window(command):
            why, out = self.window(command, folder), ""
        else:
            try:
                done = subprocess.run(["bash", "-c", command], cwd=folder, env=self.environment,
                                      stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                      stderr=subprocess.STDOUT, text=True, errors="replace",
                                      timeout=3600)
                out = done.stdout
                why = None if done.returncode == block.exit_code else f"exit code {done.returncode}"
            except subprocess.TimeoutExpired as end:
                out, why = str(end.stdout or ""), "it did not end within an hour"
        lines = out.rstrip("\n").split("\n")
        print("\n".join(lines if why or len(lines) <= 12 else lines[:10] + ["…"]))
        print(f"({time.monotonic() - begin:.1f} s)", flush=True)
        if why:
            self.failed += 1
            print(f"FAILED: {block.place}: {why}: {command}", flush=True)
            return None
        return out

    def window(self, command, folder):
        if self.screen is None:
            self.screen = Screen(self.environment, self.work)
        return self.screen.show(command, folder)

    def compare(self, block, printed):
        lines = [line.rstrip() for line in printed.split("\n")]
        position = 0
        for expected in (line.rstrip() for line in block.lines):
            if not expected or expected == "…":
                continue
            if expected not in lines[position:]:
                self.failed += 1
                print(f"FAILED: {block.place}: the command does not print: {expected}", flush=True)
                return
            position = lines.index(expected, position) + 1


def main():
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("-h", "--help", action="store_true")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--section")
    parser.add_argument("--bin", default=os.path.join(ROOT, "build/all/bin"))
    parser.add_argument("--work")
    parser.add_argument("--python")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("documents", nargs="*")
    options = parser.parse_args()
    if options.help:
        print(__doc__.strip())
        return 0
    if options.check:
        return check(all_documents())
    documents = [os.path.abspath(d) for d in options.documents]
    if options.list:
        return list_commands(documents, options.section)
    # The README's commands install and build; tools/fresh_machine.sh runs them.
    documents = documents or [
        d for d in all_documents() if d.startswith(os.path.join(ROOT, "docs")) and section(d, None)]
    programs = os.path.abspath(options.bin)
    for name in ("pipe-run", "pipe-trace", "pipe-view"):
        if not os.access(os.path.join(programs, name), os.X_OK):
            print(f"doc_commands: no {name} in {programs}; build it, or name its folder with --bin",
                  file=sys.stderr)
            return 2
    with tempfile.TemporaryDirectory(prefix="doc commands ") as temporary:
        runner = Runner(programs, os.path.abspath(options.work or temporary), options.quick)
        os.makedirs(runner.work, exist_ok=True)
        if options.python:
            runner.use_python(options.python)
        try:
            for document in documents:
                runner.document(document)
        except NoScreen as why:
            print(f"doc_commands: {why}", file=sys.stderr)
            return 2
        finally:
            if runner.screen:
                runner.screen.close()
    print(f"\n{runner.ran} commands of {len(documents)} documents ran, {runner.failed} failed, "
          f"{runner.skipped} were skipped")
    return 1 if runner.failed else 0


if __name__ == "__main__":
    sys.exit(main())
