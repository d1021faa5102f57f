"""Plans: schedules that are built, checked, simulated and drawn before anything trains."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from pipetrace.looking import notebook
from pipetrace.looking.library import Error, Handle, ask
from pipetrace.looking.options import Paths, paths_of
from pipetrace.looking.run import Chart, Run
from pipetrace.looking.table import needed

if TYPE_CHECKING:
    import pandas

Costs = Mapping[str, "float | str | Iterable[float]"]


def _of_costs(costs: Costs | str | os.PathLike[str] | None) -> dict[str, Any]:
    """Options of the command: of a costs file, or of times."""
    if costs is None:
        return {}
    if isinstance(costs, (str, os.PathLike)):
        return {"costs": os.fspath(costs)}
    options: dict[str, Any] = {}
    for name, value in costs.items():
        if not isinstance(value, (str, int, float)):  # one for each stage
            value = ",".join(str(each) for each in value)
        options[name] = str(value)
    return options


def _of_source(costs_from: Run | Paths | None) -> tuple[dict[str, Any], Handle | None]:
    if costs_from is None:
        return {}, None
    if isinstance(costs_from, Run):
        return {}, costs_from._handle
    return {"costs-from": paths_of(costs_from)}, None


def _joined(named: Mapping[str, Any], others: Mapping[str, Any]) -> dict[str, Any]:
    options = {key: value for key, value in named.items() if value is not None}
    for key, value in others.items():
        name = key.rstrip("_")
        options[name] = value if isinstance(value, (bool, list)) or value is None else str(value)
    return options


def plan(
    schedule: str | None = None,
    ranks: int | None = None,
    micro_batches: int | None = None,
    *,
    costs: Costs | str | os.PathLike[str] | None = None,
    costs_from: Run | Paths | None = None,
    chunks: int | None = None,
    schedule_file: str | None = None,
    **options: Any,
) -> Plan:
    """A plan of a step: `schedule` by its name (docs/schedules.md) on this number of ranks and
    micro-batches, or that of `schedule_file`, or that of the run of `costs_from`.

    `costs`: times in ms and sizes in GB, as {"forward_ms": 18.5, "backward_ms": [36, 36, 36, 40]}
    (one for all stages, or one for each), or the name of a costs file. `costs_from`: a run, whose
    medians are the costs. `chunks`: stages on a rank. `options`: others of `pipe-trace plan`, with _
    between words: dp=2, limit=40, transfers="in-time", steps=3.

    Raises Error when it is asked for something that cannot be done, with the words of the command.
    """
    named = {
        "schedule": schedule,
        "ranks": ranks,
        "micro-batches": micro_batches,
        "chunks": chunks,
        "schedule-file": schedule_file,
        **_of_costs(costs),
    }
    source, run = _of_source(costs_from)
    return Plan(_joined({**named, **source}, options), run)


class Plan:
    """A plan that plan() has made. In a notebook it draws itself."""

    def __init__(self, options: dict[str, Any], run: Handle | None) -> None:
        self._options = options
        self._run = run

    def _ask(self, options: Mapping[str, Any] | None = None, question: str = "plan") -> str:
        return ask(question, {**self._options, **(options or {})}, self._run)

    def check(self, buffers: str | int | None = None) -> list[dict[str, Any]]:
        """What is wrong with the plan, an entry each, such as a deadlock; empty: nothing.

        `buffers`: messages that wait for their receive between two ranks: "unbounded", "blocking",
        or how many.
        """
        options = {
            "buffers": None if buffers is None else str(buffers),
            "check": True,
            "json": True,
        }
        found = json.loads(self._ask(options))
        return list(found["problems"])

    def simulate(self) -> dict[str, Any]:
        """How the plan runs: the JSON of `pipe-trace plan --json`, with times in ns, and for each
        rank its busy and idle time and what it holds."""
        return dict(json.loads(self._ask({"json": True})))

    def chart(self, theme: str | None = None, dark: bool = False) -> Chart:
        """The simulated plan as a Gantt chart."""
        colours = {"theme": theme, "dark": dark} if theme or dark else {}
        if colours:
            return self._drawn_by_file(colours)
        return Chart(self._ask(question="plan-picture"))

    def _drawn_by_file(self, colours: Mapping[str, Any]) -> Chart:
        """Colours need an output on the command line."""
        import tempfile

        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "plan.svg")
            self._ask({"output": path, "json": True, **colours})
            with open(path, encoding="utf-8") as file:
                return Chart(file.read())

    def to_csv(self, path: str | None = None, *, for_: str | None = None) -> str:
        """The plan as a schedule file, a row a rank, which trainings take; also written to `path`.

        `for_`: "torch", as torch.distributed.pipelining loads it; then give plan() transfers, such
        as "in-time".
        """
        text = self._ask({"csv": "-", "for": for_})
        if path is not None:
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
        return text

    def save(self, *paths: str) -> None:
        """Writes the simulated run: NAME.json, NAME.pftrace, NAME.sqlite, NAME.csv, NAME.svg, or
        the job logs of its ranks into FOLDER/."""
        self._ask({"output": [str(path) for path in paths], "json": True})

    def __str__(self) -> str:
        return self._ask()

    def __repr__(self) -> str:
        given = ", ".join(f"{name}={value}" for name, value in self._options.items())
        return f"<pipetrace.Plan {given}; print() simulates it>"

    def _repr_html_(self) -> str:
        try:
            return notebook.picture(self.chart())
        except Error as error:
            return notebook.message(str(error))


class Comparison(dict[str, Any]):
    """What `pipe-trace plan --compare --json` prints, with a row for each schedule in "plans".
    str() gives the text of the command."""

    def __init__(self, found: str, text: Callable[[], str]) -> None:
        super().__init__(json.loads(found))
        self._text = text

    def __str__(self) -> str:
        return self._text()

    def __repr__(self) -> str:
        return f"<pipetrace.Comparison of {len(self)} schedules; print() shows its table>"

    def __len__(self) -> int:
        return len(self["plans"])

    def rows(self) -> Iterator[dict[str, Any]]:
        """The schedules, the shortest step first."""
        yield from self["plans"]

    def to_pandas(self) -> pandas.DataFrame:
        """A row for each schedule."""
        frame: pandas.DataFrame = needed("pandas").DataFrame(self["plans"])
        return frame

    def _repr_html_(self) -> str:
        names = ["schedule", "chunks", "step", "bubble ratio", "activations", "messages"]
        rows = [
            (
                each["name"],
                each["chunks"],
                notebook.milliseconds(each["length_ns"]),
                f"{100 * each['bubble_ratio']:.1f} %",
                each["peak_activations"],
                each["messages"],
            )
            for each in self.rows()
        ]
        return notebook.table(names, rows)


def compare(
    ranks: int | None = None,
    micro_batches: int | None = None,
    *,
    costs: Costs | str | os.PathLike[str] | None = None,
    costs_from: Run | Paths | None = None,
    chunks: int | None = None,
    limit_activations: float | None = None,
    **options: Any,
) -> Comparison:
    """Every schedule with 1 to `chunks` stages a rank (4), the shortest step first.

    `costs`, `costs_from`, `options`: as of plan(); costs are those of a rank's whole share of the
    model. `limit_activations`: the most activations that a rank may hold.
    """
    named = {
        "ranks": ranks,
        "micro-batches": micro_batches,
        "chunks": chunks,
        "limit-activations": limit_activations,
        **_of_costs(costs),
    }
    source, run = _of_source(costs_from)
    asked = {**_joined({**named, **source}, options), "compare": True}
    found = ask("plan", {**asked, "json": True}, run)
    return Comparison(found, lambda: ask("plan", asked, run))
