"""Precompiled headers for files that are compiled alone, which hide no missing include.

A file gets one that holds only headers which it includes, by itself or through headers of the tree.
A file whose first include is a header of the tree checks that header, too: it gets only what that
header includes. Each header of the tree is checked so, and nothing stands in for its includes.
Includes under a condition do not count. Needs clang, which can precompile templates.
"""

import collections
import os
import pathlib
import re
import subprocess

LINE = re.compile(r'^[ \t]*#[ \t]*(if|endif|include)\w*[ \t]*(?:(<[^>\n]+>)|"([^"\n]+)")?', re.M)
# How often a compiler could read the headers in the time that it takes to precompile them.
PRICE = 2.5
BIT = 2048  # bytes


def includes_of(text):
    """The includes of a text that no condition guards: "<name>" or "name"."""
    found, depth = [], 0
    for word, system, own in LINE.findall(text):
        if word != "include":
            depth += 1 if word == "if" else -1
        elif depth == 0 and (system or own):
            found.append(system or own)
    return found


class Tree:
    """Which headers the files of the tree include, as "path" or "<name>"."""

    def __init__(self, text_of, resolved, headers):
        self.text_of, self.resolved, self.headers = text_of, resolved, headers
        self.known = {}

    def direct(self, path):
        names = [name if name.startswith("<") else self.resolved(name, path)
                 for name in includes_of(self.text_of(path))]
        return [name if name.startswith("<") or name in self.headers else f"<{name}>"
                for name in names]

    def all_of(self, path):
        """By itself or through others."""
        if path not in self.known:
            self.known[path] = frozenset()  # two that include each other
            names = self.direct(path)
            self.known[path] = frozenset(names).union(
                *(self.all_of(name) for name in names if name in self.headers))
        return self.known[path]

    def allowed(self, unit):
        """What may be precompiled for it."""
        first = next(iter(self.direct(unit.path)), None)
        return self.all_of(first if first in self.headers and not unit.header else unit.path)


class Sizes:
    """About how many bytes a compiler reads for some headers. A set of files is a number, in which a
    file has a bit for each 2 KiB."""

    known = {}  # by file: its bits, and its includes
    used = 0

    def __init__(self, root, folders):
        self.root, self.folders = root, [pathlib.Path(folder) for folder in folders]
        self.files = {}
        self.closures = {}

    def file_of(self, name):
        if name not in self.files:
            places = [self.root] if not name.startswith("<") else self.folders
            self.files[name] = next((str(place / name.strip("<>")) for place in places
                                     if (place / name.strip("<>")).is_file()), None)
        return self.files[name]

    @classmethod
    def read(cls, file):
        if file not in cls.known:
            text = pathlib.Path(file).read_text(errors="replace")
            bits = len(text) // BIT + 1
            cls.known[file] = (((1 << bits) - 1) << cls.used,
                               [system or f"<{own}>" for _, system, own in LINE.findall(text)])
            cls.used += bits
        return cls.known[file]

    def closure(self, name):
        """The files that a header reads. Those of the tree have their includes as other names."""
        if name not in self.closures:
            bits, seen, row = 0, set(), [name]
            while row:
                file = self.file_of(row.pop())
                if file is None or file in seen:
                    continue
                seen.add(file)
                own, names = self.read(file)
                bits |= own
                if name.startswith("<"):
                    row += names
            self.closures[name] = bits
        return self.closures[name]

    def of(self, names):
        bits = 0
        for name in names:
            bits |= self.closure(name)
        return bits.bit_count()


def chosen(allowed, sizes):
    """For each place in `allowed` the headers to precompile for it, or an empty set."""
    counts = collections.Counter(allowed)
    users = collections.defaultdict(list)
    for names in counts:
        for name in names:
            users[name].append(names)
    # All that comes with a header wherever it is included.
    candidates = {frozenset.intersection(*those) for those in users.values()} | set(counts)
    worth = {names: sizes.of(names) for names in candidates}
    fits = {each: [names for names in counts if each <= names] for each in candidates}
    best = {names: frozenset() for names in counts}
    worth[frozenset()] = 0

    def gain(each):
        return sum(counts[names] * max(0, worth[each] - worth[best[names]])
                   for names in fits[each]) - PRICE * worth[each]

    bounds = {each: gain(each) for each in candidates}  # they only fall
    while bounds:
        each = max(bounds, key=bounds.get)
        bounds[each] = gain(each)
        if bounds[each] < max(bounds.values()):
            continue
        if bounds.pop(each) <= 0:
            break
        for names in fits[each]:
            best[names] = max(best[names], each, key=worth.get)
    return [best[names] for names in allowed]


def system_folders(compiler):
    said = subprocess.run([compiler, "-E", "-v", "-x", "c++", os.devnull], text=True, check=False,
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE).stderr
    return re.findall(r"^ (/\S+)$", said, re.M)


class Precompiled:
    """The precompiled headers of some units, in a folder."""

    def __init__(self, units, tree, root, folder, is_search):
        self.folder = pathlib.Path(folder)
        self.of_unit = {}   # id(unit) -> options
        self.commands = {}  # file -> its headers and its command
        groups = collections.defaultdict(list)
        for unit in units:
            groups[self.group_of(unit, is_search)].append(unit)
        for number, ((compiler, options, search), members) in enumerate(groups.items()):
            if "clang" not in os.path.basename(compiler):
                continue
            macros = sorted(self.library_macros(members, tree))
            sizes = Sizes(root, [*search[1::2], *system_folders(compiler)])
            allowed = [tree.allowed(unit) for unit in members]
            files = {}
            for unit, names in zip(members, chosen(allowed, sizes)):
                if not names:
                    continue
                if names not in files:
                    files[names] = self.folder / f"{number}_{len(files)}.h"
                self.of_unit[id(unit)] = ["-include-pch", f"{files[names]}.pch", *macros]
            for names, file in sorted(files.items(), key=lambda item: -sizes.of(item[0])):
                self.commands[file] = (names, [
                    compiler, *options, *search, *macros, "-I", str(root), "-w",
                    "-fpch-instantiate-templates", "-x", "c++-header", str(file), "-o", f"{file}.pch"])

    @staticmethod
    def group_of(unit, is_search):
        options, search = [], []
        words = iter(unit.options)
        for word in words:
            if word in is_search:
                search += [word, next(words)]
            elif word.startswith("-I"):
                search += ["-I", word[2:]]
            elif word == "-include":
                options += [word, next(words)]
            elif not word.startswith(("-D", "-W")):
                options.append(word)
        return unit.compiler, tuple(options), tuple(search)

    @staticmethod
    def library_macros(units, tree):
        """Macros that no file of the tree reads, which so may be defined for all of the units, and
        those that all define."""
        words = [{word for word in unit.options if word.startswith("-D")} for unit in units]
        texts = [tree.text_of(path) for path in {unit.path for unit in units} | tree.headers]

        def is_read(word):
            name = word[2:].partition("=")[0]
            return '"' in word or any(name in text for text in texts)

        common = set.intersection(*words)
        return common | {word for word in set.union(*words) - common if not is_read(word)}

    def compile(self, pool):
        """One that does not compile is left out: a unit will say why."""
        self.folder.mkdir(parents=True, exist_ok=True)

        def compile_one(file):
            names, command = self.commands[file]
            file.write_text("".join(f"#include {name}\n" if name.startswith("<") else
                                    f'#include "{name}"\n' for name in sorted(names)))
            done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                  check=False)
            return f"{file}.pch" if done.returncode == 0 else None

        made = set(pool.map(compile_one, self.commands))
        self.of_unit = {unit: options for unit, options in self.of_unit.items()
                        if options[1] in made}
        return len(made - {None})

    def options_for(self, unit):
        return self.of_unit.get(id(unit), [])
