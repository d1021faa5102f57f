"""Runs the ranks of a training as children of this process, which has torch imported already.

So a training of four processes takes a second in place of ten. Each child does what
`python -m pipetrace PROGRAM` does, or `python PROGRAM`.
"""

import multiprocessing
import os
import pathlib
import re
import runpy
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
SHARED = ROOT.parent / "shared"
sys.path.insert(0, str(ROOT / "python"))
sys.path.insert(1, str(ROOT / "tests" / "bench" / "pipelining"))
from rank_processes import free_ports  # noqa: E402

os.environ["OMP_NUM_THREADS"] = "1"  # before torch is imported

# A doubt about the run, but for two: that some jobs are far longer than others, which a busy machine
# makes, and that nothing shows how long tensor-parallel ranks wait for each other inside their jobs.
DOUBT = re.compile(
    "doubt: (?!the jobs of a step, one after the other|ranks .* share stages with peers)"
)
_PAIR = re.compile(r'(\w+) = ("(?:[^"\\]|\\.)*"|[^,]*)')


def _rank(words, folder, environment, is_recorded, output):
    with open(output, "w") as file:
        for number in (1, 2):
            os.dup2(file.fileno(), number)
    os.environ.update(environment)
    os.chdir(folder)
    if not is_recorded:
        sys.argv = words
        sys.path.insert(0, os.path.dirname(words[0]))
        runpy.run_path(words[0], run_name="__main__")
        return
    sys.argv = ["pipetrace", *words]
    sys.path.insert(0, "")
    from pipetrace.__main__ import main

    main()


def run(words, ranks, folder, environment=(), is_recorded=True, timeout=120):
    """Returns the exit code and the output of each rank."""
    folder.mkdir(parents=True, exist_ok=True)
    context = multiprocessing.get_context("fork")
    port = free_ports(1)[0]
    children = []
    for rank in range(ranks):
        variables = {
            "RANK": str(rank),
            "LOCAL_RANK": str(rank),
            "WORLD_SIZE": str(ranks),
            "MASTER_ADDR": "127.0.0.1",
            "MASTER_PORT": str(port),
            "GLOO_SOCKET_IFNAME": "lo",
            "PYTHONDONTWRITEBYTECODE": "1",
            **dict(environment),
        }
        output = folder / f"output.{rank}.txt"
        arguments = (list(map(str, words)), folder, variables, is_recorded, output)
        child = context.Process(target=_rank, args=arguments)
        child.start()
        children.append((child, output))
    results = []
    for child, output in children:
        child.join(timeout)
        if child.is_alive():
            child.kill()
            child.join()
        results.append((child.exitcode, output.read_text()))
    return results


def is_older(*version):
    """Whether this torch is older than that."""
    return tuple(map(int, sys.modules["torch"].__version__.split(".")[:2])) < version


def complaints(output):
    """What the recorder says in a training that it can record; older versions lack functions."""
    lines = [line for line in output.splitlines() if line.startswith("pipetrace: ")]
    return [line for line in lines if not re.match(r"pipetrace: this [\w]+ has no ", line)]


def fields(line):
    """The pairs of a line of a log; times as whole nanoseconds, other numbers as numbers."""
    found = {}
    for key, value in _PAIR.findall(line):
        if value.startswith('"'):
            value = value[1:-1]
        elif key.endswith("_time"):
            whole, part = value.split(".")
            value = int(whole) * 1_000_000 + int(part)
        elif re.fullmatch(r"-?\d+", value):
            value = int(value)
        found[key] = value
    return found


class Log:
    """A log, its last run."""

    def __init__(self, path):
        text = pathlib.Path(path).read_text()
        self.runs = text.count("Profiler Meta: ")
        lines = text[text.rindex("Profiler Meta: ") :].splitlines()
        self.meta = fields(lines[0])
        self.jobs = [fields(line) for line in lines if "Profiler Info: " in line]
        self.others = [fields(line) for line in lines if "Profiler Stream: " in line]
        ends = [fields(line) for line in lines if "Profiler End: " in line]
        self.end = ends[0] if ends else None

    def actions(self, step):
        return [job["action"] for job in self.jobs if job["step"] == step and "action" in job]

    def of_kind(self, kind):
        return [each for each in self.jobs + self.others if each["type"] == kind]
