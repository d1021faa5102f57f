#!/usr/bin/env python3
"""Checks that each file of compile databases compiles alone, and each header by itself.

  alone.py [OPTION]... DATABASE...     a DATABASE is a folder that has a compile_commands.json
  --root FOLDER     files outside of it, or in its build/, are passed over (default: .)
  --path PATTERN    only files whose path from the root matches this regular expression
  --part K/N        only one of N parts of these, by their names; K counts on and on
  --jobs N          how many are compiled at a time (default: one per core)
  --merged FILE     also writes a database with each file once, for clang-tidy
  --list            only lists what would be compiled
  --precompile DIR  saves most of the time where the compiler is clang (precompiled.py); DIR is for
                    the precompiled headers

Each file is compiled with its own options, -fsyntax-only and -Werror, and without the precompiled
header of its target, so it has to include what it needs. A file that several databases or targets
compile is checked once for each set of options that can change its meaning. A header that a checked
source includes before all else, in any part, needs no run of its own. Exit codes: 0 all compile, 1 some do not,
2 nothing was checked.
"""

import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import time
import zlib

import precompiled

# Words in a file that make an option count for it. Without them the option changes only how code is
# made, or library headers.
COUNTS_IF = (
    (re.compile(r"-DNDEBUG$"), re.compile(r"\bassert\b|\bNDEBUG\b")),
    (re.compile(r"-fsanitize=|-D__SANITIZE_"), re.compile(r"__SANITIZE_|__has_feature")),
)
# Options about outputs, precompiled headers, optimization and debug information.
DROPPED = re.compile(r"-(?:M[DP]|Winvalid-pch|O.|g\d?|fPIE|fPIC|fno-omit-frame-pointer|"
                     r"fno-sanitize.*|fsanitize-address-.*|c)$")
# CMake gives clang its precompiled header by -Xclang, and nothing else; g++ gets limits of its
# memory by --param.
DROPPED_WITH_VALUE = ("-o", "-MF", "-MT", "-MQ", "-Xclang", "--param")
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.M)
SEARCH = ("-isystem", "-I", "-iquote")

Unit = collections.namedtuple("Unit", "path options folder header compiler")


def options_of(words):
    """The options of a command line that count for any file, each with its value."""
    options = []
    place = 0
    while place < len(words):
        word = words[place]
        place += 1
        value = words[place] if place < len(words) else ""
        if word in DROPPED_WITH_VALUE:
            place += 1
        elif word == "-include":
            place += 1
            if "cmake_pch" not in value:
                options.append((word, value))
        elif word in SEARCH:
            place += 1
            options.append((word, value))
        elif word.startswith("-") and not DROPPED.match(word):
            options.append((word,))
    return options


def counting(options, text, build):
    """The options that can change the meaning of this text, as a key."""
    kept = set()
    for option in options:
        needed = [words for pattern, words in COUNTS_IF if pattern.match(option[0])]
        if option[0] in SEARCH or (needed and not needed[0].search(text)):
            continue
        kept.add(" ".join(option).replace(build, "BUILD"))
    return frozenset(kept)


class Plan:
    """What is compiled, once each."""

    def __init__(self, root, pattern, part):
        self.root = root
        self.pattern = re.compile(pattern)
        self.part = part
        self.keys = set()
        self.units = []
        self.texts = {}
        self.merged = {}
        self.tree = None  # with the headers

    def inside(self, file):
        if file != self.root and self.root not in file.parents:
            return None
        path = str(file.relative_to(self.root))
        return None if path.startswith(("build/", ".deps/")) else path

    def is_wanted(self, path):
        number, parts = self.part
        return self.pattern.search(path) and zlib.crc32(path.encode()) % parts == number % parts

    def text(self, path):
        if path not in self.texts:
            self.texts[path] = (self.root / path).read_text(errors="replace")
        return self.texts[path]

    def add(self, path, entry, words, folder, header=False):
        options = options_of(words)
        key = (path, counting(options, self.text(path), folder))
        if key in self.keys:
            return False
        self.keys.add(key)
        flat = [word for option in options for word in option]
        self.units.append(Unit(path, flat, entry["directory"], header, words[0]))
        return True

    def read(self, folder):
        """Adds what this database has and no earlier one had; returns how many."""
        before = len(self.units)
        folder = os.path.abspath(folder)
        for entry in json.loads(pathlib.Path(folder, "compile_commands.json").read_text()):
            path = self.inside(pathlib.Path(os.path.normpath(
                os.path.join(entry["directory"], entry["file"]))))
            if path is None or not path.endswith((".cpp", ".cc", ".cxx")):
                continue
            words = entry.get("arguments") or shlex.split(entry["command"])
            words = words[launchers(words):]
            if path not in self.merged:
                flat = [word for option in options_of(words) for word in option]
                self.merged[path] = {
                    "directory": entry["directory"], "file": str(self.root / path),
                    "arguments": [words[0], *flat, "-c", str(self.root / path)]}
            if self.is_wanted(path):
                self.add(path, entry, words, folder)
        return len(self.units) - before

    def add_headers(self, headers):
        """Headers that no checked source includes first are compiled with the options of a source
        that includes them, by itself or through other headers; returns those that none includes."""
        self.tree = precompiled.Tree(self.text, self.resolved, set(headers))
        first = {name for path in self.merged if self.pattern.search(path)
                 for name in self.tree.direct(path)[:1]}
        includers = collections.defaultdict(set)
        for path in set(self.merged) | set(headers):
            for name in INCLUDE.findall(self.text(path)):
                includers[self.resolved(name, path)].add(path)
        left = []
        for header in headers:
            if header in first or not self.is_wanted(header):
                continue
            source = self.nearest_source(header, includers)
            if source is None:
                left.append(header)
                continue
            merged = self.merged[source]
            self.add(header, merged, merged["arguments"][:-2], str(self.root), header=True)
        return left

    def resolved(self, name, user):
        beside = os.path.normpath(os.path.join(os.path.dirname(user), name))
        return beside if (self.root / beside).is_file() else name

    def nearest_source(self, header, includers):
        seen, row = {header}, [header]
        while row:
            users = sorted({user for name in row for user in includers[name]} - seen)
            found = [user for user in users if user in self.merged]
            if found:
                return found[0]
            seen.update(users)
            row = users
        return None


def files_of(root):
    """The sources and headers of the tree, without build/ and hidden folders."""
    found = []
    for folder, folders, names in os.walk(root):
        folders[:] = [name for name in folders if name != "build" and not name.startswith(".")]
        found += [os.path.relpath(os.path.join(folder, name), root) for name in names
                  if name.endswith((".h", ".cpp"))]
    return sorted(found)


def launchers(words):
    """The number of words before the compiler, such as ccache."""
    return next((at for at, word in enumerate(words)
                 if re.search(r"(?:\+\+|/cc|gcc|clang)[-\d.]*$", word)), 0)


def compile_alone(unit, root, more):
    command = [unit.compiler, *more, *unit.options, "-fsyntax-only", "-Werror"]
    text = None
    if unit.header:  # as a file that includes it: "#pragma once" is an error in a main file
        command += ["-I", str(root), "-x", "c++", "-"]
        text = f'#include "{unit.path}"\n'
    else:
        command.append(str(root / unit.path))
    done = subprocess.run(command, cwd=unit.folder, input=text, text=True, errors="replace",
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    return unit, done.returncode, done.stdout


def processor_time():
    times = os.times()
    return f"{times.children_user + times.children_system:.0f} s of processor time so far"


def check(units, root, jobs, shared):
    """Compiles all; returns the paths that fail, each once."""
    failed = []
    shown = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        if shared:
            count = shared.compile(pool)
            print(f"   {count} precompiled headers, {processor_time()}", flush=True)
        runs = [pool.submit(compile_alone, unit, root, shared.options_for(unit) if shared else [])
                for unit in units]
        for count, run in enumerate(concurrent.futures.as_completed(runs), 1):
            unit, code, said = run.result()
            if code != 0:
                if unit.path not in failed:
                    failed.append(unit.path)
                print(f"-- {unit.path} does not compile alone:\n{said.rstrip()}", flush=True)
            if time.monotonic() - shown > 30:
                shown = time.monotonic()
                print(f"   {count} of {len(units)}, {processor_time()}", flush=True)
    return failed


def part_of(text):
    number, _, parts = text.partition("/")
    if not number.isdigit() or not parts.isdigit() or int(parts) == 0:
        raise argparse.ArgumentTypeError(f"'{text}' is not K/N, such as 3/8")
    return int(number), int(parts)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("databases", nargs="+", metavar="DATABASE")
    parser.add_argument("--root", default=".")
    parser.add_argument("--path", default="", metavar="PATTERN")
    parser.add_argument("--part", default=(0, 1), type=part_of, metavar="K/N")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--merged")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--precompile", metavar="DIR")
    arguments = parser.parse_args()

    root = pathlib.Path(arguments.root).resolve()
    plan = Plan(root, arguments.path, arguments.part)
    for database in arguments.databases:
        if not pathlib.Path(database, "compile_commands.json").is_file():
            print(f"lint: {database} has no compile_commands.json", file=sys.stderr)
            return 2
        print(f"{os.path.basename(os.path.normpath(database))}: {plan.read(database)} compilations "
              "that no preset before it has")
    tree = files_of(root)
    left = plan.add_headers([path for path in tree if path.endswith(".h")])
    left += [path for path in tree if path.endswith(".cpp") and path not in plan.merged
             and plan.is_wanted(path)]
    if arguments.merged:
        pathlib.Path(arguments.merged).write_text(json.dumps(list(plan.merged.values()), indent=1))
    headers = sum(unit.header for unit in plan.units)
    files = len({unit.path for unit in plan.units if not unit.header})
    said = (f"{files} sources in {len(plan.units) - headers} compilations, and {headers} headers "
            "that no source includes first")
    print(f"compiling alone: {said}", flush=True)
    for path in sorted(left):
        print(f"   not checked, as nothing compiles it here: {path}")
    if arguments.list:
        for unit in plan.units:
            print(unit.path)
        return 0
    if not plan.units:
        print("lint: nothing was checked", file=sys.stderr)
        return 2
    shared = arguments.precompile and precompiled.Precompiled(
        plan.units, plan.tree, root, os.path.abspath(arguments.precompile), SEARCH)
    failed = check(plan.units, root, arguments.jobs, shared)
    for path in sorted(failed):
        print(f"failed: {path}")
    print(f"{len(failed)} of {files + headers} files do not compile alone" if failed
          else f"all compile alone: {said}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
