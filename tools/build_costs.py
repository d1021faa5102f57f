#!/usr/bin/env python3
"""Shows what makes a build long: the longest compilations, the time of each target, the dearest headers.

  build_costs.py BUILD_FOLDER [--headers] [--again PATTERN] [--top N]

BUILD_FOLDER is one that Ninja has built, such as build/all. Times are those of its last build, in
seconds from begin to end of each compilation; on a machine with other work they are longer. What
came out of ccache took no time.

  --again PATTERN   compile the sources whose path matches this regular expression once more, without
                    ccache, one at a time, and show the processor time
  --headers         compile each header that sources include in angle brackets, and those of the
                    project that most units read, alone; show the processor time of one and of all
                    units that read it
  --top N           lines of each table (default: 15)

Exit codes: 0 done, 2 could not.
"""

import argparse
import collections
import json
import pathlib
import re
import resource
import shlex
import subprocess
import sys
import tempfile

INCLUDE = re.compile(r"^\s*#\s*include\s+<([^>]+)>", re.M)


def options():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", metavar="BUILD_FOLDER", type=pathlib.Path)
    parser.add_argument("--again", metavar="PATTERN", help="compile these sources again")
    parser.add_argument("--headers", action="store_true", help="compile headers alone")
    parser.add_argument("--top", metavar="N", type=int, default=15, help="lines of each table")
    return parser.parse_args()


def fail(text):
    sys.exit(print(f"build_costs: {text}", file=sys.stderr) or 2)


def table(title, rows, top):
    """Rows of (seconds, more columns..., name), the most expensive first."""
    print(f"\n{title}")
    for row in sorted(rows, reverse=True)[:top]:
        numbers = "".join(f"{n:10.1f}" if isinstance(n, float) else f"{n:10d}" for n in row[:-1])
        print(f"{numbers}  {row[-1]}")


def last_build(build):
    """Seconds of each output of the last build."""
    log = build / ".ninja_log"
    if not log.exists():
        fail(f"{build} has no .ninja_log; build it with Ninja first, as the presets do")
    seconds = {}
    for line in log.read_text().splitlines():
        parts = line.split("\t")
        if len(parts) == 5:
            seconds[parts[3]] = (int(parts[1]) - int(parts[0])) / 1000
    return seconds


def target_of(output):
    found = re.search(r"CMakeFiles/([^/]+)\.dir/", output)
    return found[1] if found else "links and others"


def processor_time(words, folder):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    ended = subprocess.run(words, cwd=folder, capture_output=True, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
            ended.returncode == 0)


def compiler_words(entry):
    """The command of a source without its launcher."""
    words = shlex.split(entry["command"])
    compilers = [i for i, word in enumerate(words) if re.search(r"(\+\+|/cc|gcc|clang)[-\d.]*$", word)]
    return words[compilers[0]:] if compilers else words


def compile_again(entries, pattern, top):
    rows = []
    targets = collections.Counter()
    for entry in entries:
        if not re.search(pattern, entry["file"]):
            continue
        words = compiler_words(entry)
        output = words[words.index("-o") + 1]
        words[words.index("-o") + 1] = "/dev/null"
        for option in ("-MF", "-MT"):
            if option in words:
                place = words.index(option)
                del words[place:place + 2]
        words = [word for word in words if word not in ("-MD", "-MMD")]
        seconds, compiles = processor_time(words, entry["directory"])
        if not compiles:
            fail(f"{entry['file']} does not compile")
        rows.append((seconds, entry["file"]))
        targets[target_of(output)] += seconds
    if not rows:
        fail(f"no source matches {pattern}")
    table("processor time by source, s", rows, top)
    table("processor time by target, s", [(s, t) for t, s in targets.items()], top)
    print(f"\nall: {sum(row[0] for row in rows):.1f} s, longest {max(rows)[0]:.1f} s")


def units_of_headers(build):
    """How many objects read each file, by its path."""
    listed = subprocess.run(["ninja", "-C", str(build), "-t", "deps"], capture_output=True, text=True)
    counts = collections.Counter()
    for line in listed.stdout.splitlines():
        if line.startswith("    "):
            counts[str((build / line.strip()).resolve())] += 1
    return counts


def header_costs(build, entries, top):
    counts = units_of_headers(build)
    if not counts:
        fail("Ninja knows no headers; build something first")
    root = pathlib.Path(__file__).resolve().parent.parent
    ours = sorted(((n, path) for path, n in counts.items()
                   if path.startswith(f"{root}/") and path.endswith(".h") and "/.deps/" not in path),
                  reverse=True)[:3 * top]
    names = {f'"{pathlib.Path(path).relative_to(root)}"': n for n, path in ours}
    for source in root.glob("*/**/*"):
        if source.suffix in (".h", ".cpp") and "build" not in source.relative_to(root).parts[:1]:
            for name in INCLUDE.findall(source.read_text(errors="replace")):
                ends = [n for path, n in counts.items() if path.endswith("/" + name)]
                if ends:
                    names[f"<{name}>"] = max(ends)
    # With the include folders of all sources, and the options of one.
    searched = dict.fromkeys(word for entry in entries for word in include_options(entry))
    first = compiler_words(entries[0])
    words = [first[0], "-std=c++20", "-O1", *[w for option in searched for w in option], "-fsyntax-only"]
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder, "one_header.cpp")
        for name, units in names.items():
            file.write_text(f"#include {name}\n")
            seconds, compiles = processor_time(words + [str(file)], folder)
            if compiles:
                rows.append((seconds * units, seconds, units, name))
    table("headers: s in all units, s of one, units", rows, top)


def include_options(entry):
    words = compiler_words(entry)
    found = [(w,) for w in words if w.startswith("-I") and len(w) > 2]
    found += [(w, v) for w, v in zip(words, words[1:]) if w in ("-isystem", "-I")]
    return found


def main():
    chosen = options()
    build = chosen.build
    seconds = last_build(build)
    try:
        entries = json.loads((build / "compile_commands.json").read_text())
    except OSError as error:
        fail(error)
    if chosen.again:
        return compile_again(entries, chosen.again, chosen.top)
    compiled = {output: s for output, s in seconds.items() if output.endswith((".o", ".gch", ".pch"))}
    targets = collections.Counter()
    for output, s in seconds.items():
        targets[target_of(output)] += s
    table("longest compilations, s", [(s, output) for output, s in compiled.items()], chosen.top)
    table("targets, s", [(s, target) for target, s in targets.items()], chosen.top)
    print(f"\nall: {sum(seconds.values()):.1f} s in {len(compiled)} compilations")
    if chosen.headers:
        header_costs(build, entries, chosen.top)
    return 0


if __name__ == "__main__":
    sys.exit(main())
