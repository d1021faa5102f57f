"""Collects differences over all cases, puts them under headings, and prints them."""

import collections
import re
import shlex

SHOWN = 60  # changed lines that are printed; the file holds all


def shape(line):
    """Lines of one shape differ in numbers only, and are listed once."""
    return re.sub(r"-?\d+(\.\d+)?", "#", line)


class Expected:
    """Headings with regular expressions, from a file, for lines like `info: stdout | -old text`."""

    def __init__(self, text):
        self.rules, self.counts, heading = [], collections.Counter(), "expected"
        for line in text.splitlines():
            if line.startswith("[") and line.rstrip().endswith("]"):
                heading = line.strip()[1:-1]
            elif line.strip() and not line.startswith("#"):
                self.rules.append((re.compile(line), heading))

    def take(self, text):
        for pattern, heading in self.rules:
            if pattern.search(text):
                self.counts[heading] += 1
                return True
        return False


class Report:
    def __init__(self, expected):
        self.expected = expected
        self.groups = collections.defaultdict(collections.Counter)
        self.files = collections.defaultdict(collections.Counter)
        self.changes = {}  # (where, shape): [example, cases, count, example case, groups]
        self.unsteady, self.crashed, self.removed = [], [], 0

    def add(self, number, case, found, removed, files, unsteady, code):
        """Counts one case. Says whether its outcomes should be kept for people."""
        group = self.groups[case.group]
        group["run"] += 1
        group["exit 2"] += code == 2
        self.removed += removed
        if not isinstance(code, int):
            self.crashed.append(f"{code}: {command(case)}")
        if unsteady:
            group["unsteady"] += 1
            self.unsteady.append((number, case))
            return True
        for kind, equal in files:
            self.files[kind]["equal" if equal else "changed"] += 1
        rest = [d for d in found if not self.expected.take(f"{case.group}: {d.where} | {d.line}")]
        group["changed" if rest else "expected" if found else "equal"] += 1
        for key in {(d.where, shape(d.line)) for d in rest}:
            self.changes.setdefault(key, ["", 0, 0, None, set()])[1] += 1
        for d in rest:
            change = self.changes[d.where, shape(d.line)]
            if not change[2]:
                change[0], change[3] = d.line, (number, case)
            change[2] += 1
            change[4].add(case.group)
        return bool(rest)

    def failed(self):
        return bool(self.changes or self.unsteady)

    def change_texts(self):
        for (where, _), (line, cases, count, (number, case), groups) in sorted(
                self.changes.items(), key=lambda item: (item[0][0], -item[1][1])):
            yield (f"{where} | {line}\n    {count} times in {cases} commands "
                   f"({', '.join(sorted(groups))}); first: {number}, {case.source}: {command(case)}")

    def print(self, write, changes_file):
        texts = list(self.change_texts())
        changes_file.write_text("\n".join(texts) + "\n" if texts else "", encoding="utf-8",
                                errors="backslashreplace")
        if texts:
            write("Changed lines, each shape once (numbers apart):")
        for text in texts[:SHOWN]:
            write("  " + text)
        if len(texts) > SHOWN:
            write(f"  … and {len(texts) - SHOWN} more, all in {changes_file}")
        for number, case in self.unsteady:
            write(f"Two runs of BEFORE differ: {number}, {case.source}: {command(case)}")
        for text in sorted(set(self.crashed)):
            write(f"BEFORE ended by {text}")
        self.print_tables(write)

    def print_tables(self, write):
        write(f"{'commands':<16}{'run':>8}{'equal':>8}{'expected':>10}{'changed':>9}"
              f"{'unsteady':>10}{'exit 2':>8}")
        total = collections.Counter()
        for name, counts in sorted(self.groups.items()):
            total.update(counts)
            write(row(name, counts))
        write(row("all", total))
        write(f"{'files':<16}{'equal':>8}{'changed':>9}")
        for kind, counts in sorted(self.files.items()):
            write(f"{kind:<16}{counts['equal']:>8}{counts['changed']:>9}")
        for heading, count in self.expected.counts.items():
            write(f"expected lines: {count:6}  {heading}")
        if self.removed:
            write(f"values of ignored keys that were left out: {self.removed}")


def row(name, counts):
    return (f"{name:<16}{counts['run']:>8}{counts['equal']:>8}{counts['expected']:>10}"
            f"{counts['changed']:>9}{counts['unsteady']:>10}{counts['exit 2']:>8}")


def command(case):
    given = f" < {' '.join(path.name for path in case.stdin)}" if case.stdin else ""
    return shlex.join([case.program, *case.args]) + given
