"""The figures of a report as names and numbers, for programs that log such."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

_NS = 1e9


class _Figure(NamedTuple):
    name: str
    labels: dict[str, str]
    value: float
    help: str


# Distributions of the summary: name, key of the report, unit of the key, what it is.
_OF_STEPS = [
    ("step_wall_seconds", "step_wall_ns", _NS, "Median time from a step to the next one"),
    ("step_seconds", "window_ns", _NS, "Median length of a step, from its first job to its last"),
    ("bubble_ratio", "bubble_ratio", 1, "Median share of the ranks' time in which they were idle"),
    ("parallel_efficiency", "parallel_efficiency", 1, "Median of 1 - bubble ratio"),
    ("load_balance", "load_balance", 1, "Median of mean over longest work of a rank"),
    ("communication_efficiency", "communication_efficiency", 1, "Median of longest work over step"),
    ("schedule_efficiency", "schedule_efficiency", 1, "Median of planned over measured step"),
]


def _figures(report: Mapping[str, Any]) -> Iterator[_Figure]:
    summary = report["summary"]
    for name, key, unit, text in _OF_STEPS:
        found = summary.get(key)
        if isinstance(found, dict) and found.get("median") is not None:
            yield _Figure(name, {}, found["median"] / unit, text)
    yield _Figure("steps", {}, summary["steps"], "Steps that figures are about")
    yield _Figure("ranks", {}, report["profile"]["ranks"], "Ranks")
    exposed = summary.get("exposed_communication_ns")
    if exposed is not None:
        text = "Communication that no work hides, of all ranks and steps"
        yield _Figure("exposed_communication_seconds", {}, exposed / _NS, text)
    for key, text in (
        ("tokens_per_second", "Tokens of the whole run a second"),
        ("mfu", "Model FLOPs utilization"),
    ):
        if summary.get(key) is not None:
            yield _Figure(key, {}, summary[key], text)
    classes: dict[str, int] = {}
    for rank in report["ranks"]:
        for name, time in rank["bubbles"].items():
            classes[name] = classes.get(name, 0) + time
    text = "Idle time of all ranks and steps, by its cause"
    for name, time in classes.items():
        yield _Figure("bubble_seconds", {"class": name}, time / _NS, text)
    for rank in report["ranks"]:
        label = {"rank": str(rank["rank"])}
        yield _Figure("rank_busy_seconds", label, rank["busy_ns"] / _NS, "Time in compute jobs")
        yield _Figure("rank_idle_seconds", label, rank["idle_ns"] / _NS, "Time without one")
    costs: dict[str, float] = {}
    for finding in report["findings"]:
        time = finding["evidence"].get("time_ns") or 0
        costs[finding["kind"]] = costs.get(finding["kind"], 0) + time / _NS
    for kind, cost in costs.items():
        yield _Figure("finding_seconds", {"kind": kind}, cost, "What findings cost, by their kind")
    yield _Figure("doubts", {}, len(report["trust"]), "Doubts about the run")


def flat(report: Mapping[str, Any], prefix: str) -> dict[str, float]:
    """Names and numbers: "pipetrace/bubble_seconds/transfer": 1.5."""
    return {
        prefix + "/".join([figure.name, *figure.labels.values()]): float(figure.value)
        for figure in _figures(report)
    }


def prometheus(report: Mapping[str, Any]) -> str:
    """The text format of Prometheus, version 0.0.4."""
    lines: list[str] = []
    known: set[str] = set()
    for figure in _figures(report):
        name = "pipetrace_" + figure.name
        if name not in known:
            known.add(name)
            lines += [f"# HELP {name} {figure.help}", f"# TYPE {name} gauge"]
        labels = ",".join(f'{key}="{value}"' for key, value in figure.labels.items())
        lines.append(
            f"{name}{{{labels}}} {float(figure.value)!r}"
            if labels
            else f"{name} {float(figure.value)!r}"
        )
    return "\n".join(lines) + "\n"
