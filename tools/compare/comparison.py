"""Runs all cases in both builds and reports what differs."""

import concurrent.futures
import json
import shutil

from .differences import compare
from .report import command
from .runner import run_case


def run_both(case, before, after, folder, timeout, keys):
    """(differences, ignored values, files, BEFORE differs from itself?, both outcomes) of one case."""
    old = run_case(case, before, folder, timeout)
    new = run_case(case, after, folder, timeout)
    found, removed, files = compare(old, new, keys)
    again = compare(old, run_case(case, before, folder, timeout), keys)[0] if found else []
    return found, removed, files, bool(again), old, new


def keep(folder, case, outcome):
    """Leaves an outcome for people to look at."""
    folder.mkdir(parents=True)
    (folder / "command.txt").write_text(f"{case.source}\n{command(case)}\n")
    (folder / "exit_code.txt").write_text(json.dumps(outcome.exit_code) + "\n")
    (folder / "stdout.txt").write_bytes(outcome.stdout)
    (folder / "stderr.txt").write_bytes(outcome.stderr)
    for name, data in outcome.files.items():
        (folder / "files" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "files" / name).write_bytes(data)


def compare_all(cases, before, after, work, report, *, timeout=300, jobs=1, keys=(), progress=None):
    """Cases lie beside `work`/inputs while they run. Differing outcomes stay in `work`/differences."""
    different = work / "differences"
    shutil.rmtree(different, ignore_errors=True)

    def one(number):
        folder = work / f"case{number:05}"
        return run_both(cases[number], before, after, folder, timeout, keys)

    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for number, result in enumerate(pool.map(one, range(len(cases)))):
            found, removed, files, unsteady, old, new = result
            case = cases[number]
            if report.add(number, case, found, removed, files, unsteady, old.exit_code):
                keep(different / str(number) / "before", case, old)
                keep(different / str(number) / "after", case, new)
            if progress and number % 100 == 99:
                progress(f"{number + 1} of {len(cases)} commands")
