"""Random mutants of a folder: which places are changed, and how they are told apart."""

import hashlib
import pathlib
from dataclasses import dataclass

from .changes import find_places

NO_SOURCES = ("testing", "bench", "fuzz")


def one_line(text):
    return " ".join(text.split())


@dataclass(frozen=True)
class Mutant:
    path: str  # below the root
    line: int
    before: str  # the whole lines that change, on one line, without their indentation
    after: str
    text: str  # of the changed file
    key: str  # the same as long as the lines and their neighbours are the same
    order: str  # mutants of a seed are drawn by this


def sources(root, folder):
    """Sources of the folder that are no tests."""
    found = []
    for path in sorted((root / folder).rglob("*")):
        inside = path.relative_to(root / folder)
        if path.suffix not in (".cpp", ".h") or path.stem.endswith("_test"):
            continue
        if not any(part in NO_SOURCES for part in inside.parts[:-1]):
            found.append(path.relative_to(root).as_posix())
    return found


def digest(*parts):
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:20]


def mutants_of_file(path, text, seed, every_change=False):
    """One mutant of each place of a file, or with `every_change` all of them.

    The order hangs on the changed line alone, not on where it stands. So a change elsewhere leaves
    the mutants of a seed as they are.
    """
    found, seen = [], {}
    lines = text.split("\n")
    for place in find_places(text):
        line_begin = text.rfind("\n", 0, place.begin) + 1
        line_end = text.find("\n", place.end)
        line_end = len(text) if line_end < 0 else line_end
        line = text.count("\n", 0, place.begin)
        last = text.count("\n", 0, place.end)
        around = "\n".join(lines[max(line - 1, 0):last + 2])
        before = one_line(text[line_begin:line_end])
        column = str(place.begin - line_begin)
        number = seen[before, column] = seen.get((before, column), 0) + 1
        order = digest(seed, path, before, column, str(number))
        choices = place.replacements
        if not every_change:
            choices = [choices[int(order, 16) % len(choices)]]
        for choice in choices:
            after = one_line(text[line_begin:place.begin] + choice + text[place.end:line_end])
            key = digest(path, around, column, str(number), choice)
            changed = text[:place.begin] + choice + text[place.end:]
            found.append(Mutant(path, line + 1, before, after, changed, key, order))
    return found


def draw(root, folder, seed, is_built):
    """All mutants of the folder, in the random order of the seed."""
    found = []
    for path in sources(root, folder):
        if is_built(path):
            found += mutants_of_file(path, (root / path).read_text(), seed)
    return sorted(found, key=lambda mutant: mutant.order)


def at_line(root, place):
    """Every mutant of one line, given as FILE:LINE."""
    path, _, line = place.rpartition(":")
    text = pathlib.Path(root, path).read_text()
    return [m for m in mutants_of_file(path, text, "", every_change=True) if str(m.line) == line]
