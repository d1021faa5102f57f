"""What differs between two outcomes of one case."""

import collections
import dataclasses
import difflib
import pathlib

from .contents import Ignored, lines_of, steady

MANY = 3000  # lines: longer files are compared as bags of lines, since a diff of them takes minutes


@dataclasses.dataclass
class Difference:
    where: str  # exit code, stdout, stderr, or the ending of a file
    line: str  # begins with - (only before) or + (only after)


def kind_of(name):
    name = pathlib.PurePath(name).name
    return "workerlog" if name.startswith("workerlog.") else name.rpartition(".")[2].lower()


def changed_lines(before, after):
    if max(len(before), len(after)) > MANY:
        old, new = collections.Counter(before), collections.Counter(after)
        changed = ["-" + line for line in (old - new).elements()]
        changed += ["+" + line for line in (new - old).elements()]
        return changed or ["~ the same lines in another order"]
    diff = list(difflib.unified_diff(before, after, lineterm="", n=0))[2:]
    return [line for line in diff if not line.startswith("@@")]


def compare_bytes(where, kind, before, after, keys):
    """(differences, how many ignored values were removed) of a file or text."""
    if before == after:
        return [], 0
    ignored = Ignored(keys)
    old, new = lines_of(kind, before, ignored), lines_of(kind, after, ignored)
    if old is None or new is None:
        return [Difference(where, f"~ other bytes ({len(before)} before, {len(after)} after)")], 0
    if old != new:
        return [Difference(where, line) for line in changed_lines(old, new)], ignored.removed
    if ignored.removed:
        return [], ignored.removed
    return [Difference(where, "~ other bytes, the contents are the same")], 0


def compare(before, after, keys):
    """(differences, ignored values, [(ending, equal?)] for each file) of two outcomes."""
    found, removed, files = [], 0, []
    if before.exit_code != after.exit_code:
        found += [Difference("exit code", f"-{before.exit_code}"),
                  Difference("exit code", f"+{after.exit_code}")]
    for where in ("stdout", "stderr"):
        old, new = steady(getattr(before, where)), steady(getattr(after, where))
        more, times = compare_bytes(where, "text", old, new, keys)
        found, removed = found + more, removed + times
    for name in sorted(before.files.keys() | after.files.keys()):
        kind = kind_of(name)
        if name not in before.files or name not in after.files:
            sign = "-" if name in before.files else "+"
            more, times = [Difference(kind, f"{sign}the file {name}")], 0
        else:
            more, times = compare_bytes(kind, kind, before.files[name], after.files[name], keys)
        found, removed = found + more, removed + times
        files.append((kind, not more))
    return found, removed, files
