"""Turns what a build wrote into lines that can be compared and shown to people."""

import hashlib
import re
import sqlite3
import tempfile

from .protobuf import packet_lines

LONG = 240  # characters: a longer line is cut at its commas, so that a change in it can be seen
VALUE = r'(?:"(?:[^"\\]|\\.)*"|[^\s,\[\]{}"]+)'

# What differs from run to run of one build. Nothing else is changed before comparing.
CHANGING = [(re.compile(rb"\.part-[A-Za-z0-9_-]+"), b".part-X"),
            (re.compile(rb"(?m)^([IWEF])\d{4} \d\d:\d\d:\d\d\.\d{6} \d+ "), rb"\1 TIME "),
            (re.compile(rb"(?m)^.*waiting for ranks? [^\n]*\n"), b"")]


def steady(text):
    """Text of stdout or stderr without what changes from run to run."""
    for pattern, instead in CHANGING:
        text = pattern.sub(instead, text)
    return text


class Ignored:
    """Keys whose values may differ: in JSON anywhere, in columns of tables. Counts what it removed."""

    def __init__(self, keys):
        both = {spelling for key in keys for spelling in (snake(key), camel(key))}
        self.names = both
        words = "|".join(sorted(map(re.escape, both)))
        self.pattern = re.compile(
            rf',\s*"(?:{words})"\s*:\s*{VALUE}|"(?:{words})"\s*:\s*{VALUE}\s*,?') if both else None
        self.removed = 0

    def lines(self, lines):
        if not self.pattern:
            return lines
        kept = []
        for line in lines:
            shorter, times = self.pattern.subn("", line)
            self.removed += times
            if not times or shorter.strip():
                kept.append(shorter)
        return kept


def snake(key):
    return re.sub(r"(?<=[a-z0-9])([A-Z])", lambda m: "_" + m[1].lower(), key)


def camel(key):
    return re.sub(r"_([a-z0-9])", lambda m: m[1].upper(), key)


def text_lines(data):
    return data.decode("utf-8", "backslashreplace").split("\n")


def shown(value):
    return value if isinstance(value, str) else repr(value)


def table_lines(data, ignored):
    """A database: what its tables and views are, and a line for each row."""
    with tempfile.NamedTemporaryFile(suffix=".sqlite") as file:
        file.write(data)
        file.flush()
        database = sqlite3.connect(file.name)
        database.text_factory = lambda text: text.decode("utf-8", "backslashreplace")
        lines = []
        try:
            for kind, name, sql in database.execute("SELECT type, name, sql FROM sqlite_master"):
                if kind != "table":
                    lines.append(f"{kind} {name}: {sql}")
                    continue
                rows = database.execute(f'SELECT * FROM "{name}"')
                columns = [column[0] for column in rows.description]
                kept = [n for n, column in enumerate(columns) if column not in ignored.names]
                ignored.removed += len(columns) - len(kept)
                types = {row[1]: " ".join(map(str, row[2:])) for row in
                         database.execute(f'PRAGMA table_info("{name}")')}
                lines += [f"column {name}.{columns[n]} {types.get(columns[n])}" for n in kept]
                lines += [f"row {name}: " + ", ".join(f"{columns[n]}={shown(row[n])}" for n in kept)
                          for row in rows]
        finally:
            database.close()
        return lines


def cut(line):
    if len(line) <= LONG:
        return [line]
    pieces = re.sub(r',(?=["{\[]|[a-z_]+=)|(?<=[{\[])(?=[{\["])', "\\g<0>\n", line).split("\n")
    return [piece if len(piece) <= 4 * LONG else piece[:4 * LONG] + f"… {hash_of(piece)}"
            for piece in pieces]


def hash_of(text):
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]


def lines_of(kind, data, ignored):
    """The lines of a file or text; None where only its bytes can be compared."""
    if kind in ("png", "gz", "ring"):
        return None
    try:
        if kind == "sqlite":
            lines = table_lines(data, ignored)
        elif kind == "pftrace":
            lines = packet_lines(data)
        else:
            lines = text_lines(data)
    except (sqlite3.Error, ValueError):
        return None
    return [piece for line in ignored.lines(lines) for piece in cut(line)]
