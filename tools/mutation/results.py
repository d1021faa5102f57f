"""What is known of mutants: results of earlier runs, and those that change nothing."""

import json
import re
from dataclasses import dataclass

from .mutant import one_line


class Results:
    """One JSON object a line, added as each mutant is done, so that a run can be ended anywhere."""

    def __init__(self, path):
        self.path, self.known = path, {}
        if path.exists():
            for line in path.read_text().split("\n"):
                try:
                    entry = json.loads(line)
                    self.known[entry["key"]] = entry
                except (ValueError, KeyError):
                    continue  # cut where a run was killed

    def find(self, mutant, tests):
        """A mutant that was killed stays so; one that survived is tried again with other tests."""
        entry = self.known.get(mutant.key)
        if entry and (entry["outcome"] != "survived" or entry["tests"] == tests):
            return entry
        return None

    def add(self, mutant, tests, verdict, seconds):
        entry = {"key": mutant.key, "outcome": verdict.outcome, "reason": verdict.reason,
                 "tests": tests, "seconds": round(seconds, 1), "path": mutant.path,
                 "before": mutant.before, "after": mutant.after}
        self.known[mutant.key] = entry
        self.path.parent.mkdir(parents=True, exist_ok=True)
        begin = "\n" if self._is_cut() else ""
        with open(self.path, "a") as file:
            file.write(begin + json.dumps(entry) + "\n")
        return entry

    def _is_cut(self):
        if not self.path.exists() or self.path.stat().st_size == 0:
            return False
        with open(self.path, "rb") as file:
            file.seek(-1, 2)
            return file.read() != b"\n"


@dataclass(frozen=True)
class Equivalent:
    path: str
    before: str
    after: str
    reason: str


class BadList(Exception):
    """The list of equivalent mutants cannot be read: exit code 2."""


def read_equivalents(path):
    """Entries of four or more lines, with blank lines between them: the file, `- ` the line, `+ ` the
    line as the mutant has it, the reason. Lines that begin with `#` are comments."""
    if not path.exists():
        return []
    entries = []
    text = re.sub(r"^#.*\n", "", path.read_text(), flags=re.M)
    for block in re.split(r"\n\s*\n", text):
        lines = [line.strip() for line in block.strip().split("\n")]
        if lines == [""]:
            continue
        if len(lines) < 4 or not lines[1].startswith("- ") or not lines[2].startswith("+ "):
            raise BadList(f"{path}: an entry is FILE, '- LINE', '+ LINE', REASON, not:\n{block}")
        entries.append(Equivalent(lines[0], one_line(lines[1][2:]), one_line(lines[2][2:]),
                                  one_line(" ".join(lines[3:]))))
    return entries


def find_equivalent(entries, mutant):
    for entry in entries:
        if (entry.path, entry.before, entry.after) == (mutant.path, mutant.before, mutant.after):
            return entry
    return None


def stale_entries(entries, root):
    """Those whose line is not in the tree any more."""
    stale, texts = [], {}
    for entry in entries:
        if entry.path not in texts:
            source = root / entry.path
            texts[entry.path] = one_line(source.read_text()) if source.exists() else ""
        if entry.before not in texts[entry.path]:
            stale.append(entry)
    return stale
