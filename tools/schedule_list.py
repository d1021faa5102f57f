"""The schedules that `pipe-trace plan --list` names."""

import re
import subprocess
from typing import NamedTuple


class Schedule(NamedTuple):
    name: str
    chunks: int  # that a rank has as a rule
    trains: bool
    searches: bool  # for a plan, with the costs that it is given


def schedules(pipe_trace):
    """All of them, in its order."""
    listed = subprocess.run([pipe_trace, "plan", "--list"], check=True, capture_output=True, text=True).stdout
    found = []
    for entry in re.split(r"\n(?=\S)", listed):
        name = entry.split()[0]
        chunks = re.search(r"chunks per rank: (?:.*usually )?(\d+)", entry)
        found.append(Schedule(name, int(chunks[1]) if chunks else 1, "forwards only" not in entry,
                              name == "auto"))
    return found
