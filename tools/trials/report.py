"""Lines about trials as they end, and the table of all of them."""

import statistics

from .trial import FAULTS


def line_of(trial, outcome, place, total, seconds):
    if outcome.skipped:
        return f"{place}/{total} skipped: {outcome.skipped}; {trial.fault_text()}, {trial.text()}"
    word = "FAILED" if outcome.complaints else "ok"
    end = f", ended after {outcome.seconds:.2f} s" if outcome.seconds is not None else ""
    return f"{place}/{total} {word} {seconds:.0f} s  {trial.fault_text()}: {trial.text()}{end}"


def table(results):
    """Markdown: a row for each fault. `results`: pairs of a trial and its outcome."""
    rows = ["| fault | trials | passed | median to the end | worst |", "|---|---|---|---|---|"]
    for name, (title, _) in FAULTS.items():
        own = [outcome for trial, outcome in results if trial.fault == name and not outcome.skipped]
        if not own:
            continue
        passed = sum(not outcome.complaints for outcome in own)
        times = [outcome.seconds for outcome in own if outcome.seconds is not None]
        median = f"{statistics.median(times):.2f} s" if times else "goes on"
        worst = f"{max(times):.2f} s" if times else ""
        rows.append(f"| {title} | {len(own)} | {passed} | {median} | {worst} |")
    return "\n".join(rows)
