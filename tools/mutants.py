#!/usr/bin/env python3
"""Changes random places of a folder's sources, one at a time, and lists the changes that none of the
folder's unit tests notices.

  mutants.py FOLDER N SEED      N mutants, drawn at random; a seed gives the same ones each time
  mutants.py FOLDER --at FILE:LINE [--at …]    every change of these lines
  mutants.py --self-test        tries the script itself on a made-up folder; builds nothing

A mutant has another operator (< and <=, == and !=, && and ||, + and -, * and /, ++ and --, min and
max), another constant (by 1, true and false), a negated condition, or lacks a statement. It is built
and tested in a copy of the tree below build/mutants, without optimization; the sources stay as they
are. One that does not compile does not count: another is drawn.

A run that was ended goes on where it stopped. What is known lies in build/mutants/results.jsonl: a
mutant is tried again when its line or a line beside it changed, and a survivor also when a test of the
folder did.

tools/mutation/equivalent_mutants.txt lists mutants that change nothing that a test could see. They count
neither as killed nor as survivors.

Exit codes: 0 enough were killed; 1 too few were; 2 something fails without a mutant, or cannot start.
Example: nice tools/mutants.py analysis 100 1
"""

import argparse
import fcntl
import pathlib
import signal
import sys
import time

sys.dont_write_bytecode = True
from mutation import mutant as mutants  # noqa: E402
from mutation.projects import CannotTest, CMakeProject, CommandProject  # noqa: E402
from mutation.results import (BadList, Results, find_equivalent, read_equivalents,  # noqa: E402
                              stale_entries)
from mutation.work_tree import WorkTree  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent


def options():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", metavar="FOLDER", nargs="?", help="such as analysis or trace/text")
    parser.add_argument("number", metavar="N", nargs="?", type=int, default=100,
                        help="mutants that compile (default: %(default)s)")
    parser.add_argument("seed", metavar="SEED", nargs="?", default="1", help="(default: %(default)s)")
    parser.add_argument("--at", metavar="FILE:LINE", action="append", default=[],
                        help="instead of random mutants, every one of this line")
    parser.add_argument("--at-least", metavar="PERCENT", type=float, default=85,
                        help="of the mutants that are not equivalent have to be killed "
                             "(default: %(default)s)")
    parser.add_argument("--jobs", metavar="N", type=int, default=2,
                        help="compilers and test programs at a time (default: %(default)s)")
    parser.add_argument("--root", metavar="FOLDER", type=pathlib.Path, default=HERE.parent,
                        help="the tree (default: the one that this script is in)")
    parser.add_argument("--work", metavar="FOLDER", type=pathlib.Path,
                        help="for the copy, the build and the results (default: build/mutants)")
    parser.add_argument("--equivalent", metavar="FILE", type=pathlib.Path,
                        help="the list of equivalent mutants (default: tools/mutation/equivalent_mutants.txt)")
    parser.add_argument("--build-with", metavar="COMMAND",
                        help="builds the copy, in its folder, instead of CMake; with --test-with")
    parser.add_argument("--test-with", metavar="COMMAND", help="tests it; fails if a test fails")
    parser.add_argument("--self-test", action="store_true", help="try the script itself")
    chosen = parser.parse_args()
    if not chosen.self_test and not chosen.folder:
        parser.error("a folder is missing")
    if bool(chosen.build_with) != bool(chosen.test_with):
        parser.error("--build-with and --test-with belong together")
    chosen.root = chosen.root.resolve()
    chosen.work = (chosen.work or chosen.root / "build" / "mutants").resolve()
    chosen.equivalent = chosen.equivalent or chosen.root / "tools" / "mutation" / "equivalent_mutants.txt"
    return chosen


def say(text):
    print(text, flush=True)


def tests_digest(root, folder):
    """Of all files in the folder that are no sources, such as its tests and their inputs."""
    sources = set(mutants.sources(root, folder))
    paths = (p for p in sorted((root / folder).rglob("*")) if p.is_file())
    parts = [p.relative_to(root).as_posix() for p in paths]
    return mutants.digest(*(part + mutants.digest((root / part).read_bytes().hex())
                            for part in parts if part not in sources and "__pycache__" not in part))


class Count:
    def __init__(self, folder):
        self.folder = folder
        self.killed, self.broken, self.equivalent, self.survivors = 0, 0, [], []

    @property
    def tried(self):
        return self.killed + len(self.equivalent) + len(self.survivors)

    @property
    def percent(self):
        counted = self.killed + len(self.survivors)
        return 100 * self.killed / counted if counted else 100.0

    def add(self, mutant, outcome, equivalents):
        if outcome == "killed":
            self.killed += 1
        elif outcome == "broken":
            self.broken += 1
        else:
            known = find_equivalent(equivalents, mutant)
            (self.equivalent.append((mutant, known)) if known else self.survivors.append(mutant))

    def print(self):
        for mutant, known in self.equivalent:
            say(f"\nequivalent: {shown(mutant)}\n  {known.reason}")
        for mutant in self.survivors:
            say(f"\nsurvives: {shown(mutant)}")
        say(f"\n{self.folder}: {self.killed} of {self.tried} killed ({len(self.equivalent)} equivalent, "
            f"{len(self.survivors)} {'survives' if len(self.survivors) == 1 else 'survive'}; "
            f"{self.broken} more did not compile): {self.percent:.1f} %")


def shown(mutant):
    return f"{mutant.path}:{mutant.line}\n  - {mutant.before}\n  + {mutant.after}"


def try_mutants(chosen, tree, project, equivalents):
    if chosen.at:
        drawn = [m for place in chosen.at for m in mutants.at_line(chosen.root, place)]
        wanted = len(drawn)
    else:
        drawn = mutants.draw(chosen.root, chosen.folder, chosen.seed, project.is_built)
        wanted = chosen.number
    results = Results(chosen.work / "results.jsonl")
    tests = tests_digest(chosen.root, chosen.folder)
    count = Count(chosen.folder)
    try:
        for mutant in drawn:
            if count.tried >= wanted:
                break
            entry = results.find(mutant, tests)
            begin = time.monotonic()
            if entry is None:
                with tree.changed(mutant.path, mutant.text):
                    verdict = project.judge(mutant)
                entry = results.add(mutant, tests, verdict, time.monotonic() - begin)
                reason = f" by {entry['reason']}" if entry["reason"] else ""
                say(f"{count.tried + (entry['outcome'] != 'broken')}/{wanted} {entry['seconds']:.0f} s "
                    f"{mutant.path}:{mutant.line} {entry['outcome']}{reason}")
            count.add(mutant, entry["outcome"], equivalents)
    except KeyboardInterrupt:
        count.print()
        say("stopped; the same command goes on from here")
        return 2
    count.print()
    if count.tried < wanted and not chosen.at:
        say(f"{chosen.folder} has no more places")
    return 0 if count.percent >= chosen.at_least else 1


def stop(_number, _frame):
    raise KeyboardInterrupt


def main():
    chosen = options()
    if chosen.self_test:
        from mutation.self_test import self_test
        return self_test(pathlib.Path(__file__).resolve())
    if not (chosen.root / chosen.folder).is_dir():
        raise CannotTest(f"no folder {chosen.folder} in {chosen.root}")
    chosen.folder = chosen.folder.rstrip("/")
    equivalents = read_equivalents(chosen.equivalent)
    for entry in stale_entries(equivalents, chosen.root):
        say(f"{chosen.equivalent.name}: no line of {entry.path} is any more\n  - {entry.before}")
    chosen.work.mkdir(parents=True, exist_ok=True)
    with open(chosen.work / "lock", "w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise CannotTest(f"another run works in {chosen.work}: wait, or give a --work") from None
        tree = WorkTree(chosen.root, chosen.work / "tree")
        tree.refresh()
        if chosen.build_with:
            project = CommandProject(tree, chosen.build_with, chosen.test_with)
        else:
            project = CMakeProject(tree, chosen.work / "build", chosen.folder, chosen.jobs, say)
        project.prepare()
        return try_mutants(chosen, tree, project, equivalents)


if __name__ == "__main__":
    # Background jobs of a shell ignore these two, and tests that send them would wait for ever.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGQUIT, signal.SIG_DFL)
    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGHUP, stop)
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit("mutants: stopped; the same command goes on from here")
    except (CannotTest, BadList) as problem:
        print(f"mutants: {problem}", file=sys.stderr)
        sys.exit(2)
