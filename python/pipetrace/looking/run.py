"""Runs: what happened, who is where, and what follows from it."""

from __future__ import annotations

import functools
import json
import math
import os
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pipetrace.looking import metrics, notebook, parquet
from pipetrace.looking.library import Error, Handle, InputWarning, ask, fill_stream, printable, read
from pipetrace.looking.options import (
    Paths,
    Ranks,
    Steps,
    paths_of,
    rank_list_of,
    ranks_of,
    steps_of,
    texts_of,
)
from pipetrace.looking.table import Table

if TYPE_CHECKING:
    import pyarrow

_TABLES = ("jobs", "messages", "collectives", "bubbles", "counters", "by_name")


class Chart(str):
    """A chart as the text of an SVG file, which notebooks draw."""

    def save(self, path: str) -> None:
        """Writes it as NAME.svg."""
        if not str(path).endswith(".svg"):
            raise Error(f"cannot write {path}: a chart is written as NAME.svg")
        with open(path, "w", encoding="utf-8") as file:
            file.write(self)

    def _repr_html_(self) -> str:
        return notebook.picture(self)


@dataclass(frozen=True)
class Place:
    """Where a rank is."""

    rank: int
    dp: int  #: its data-parallel index
    tp: int  #: its tensor-parallel index
    position: int | None  #: in its pipeline, from 0; None: not known


@dataclass(frozen=True)
class Topology:
    """How the ranks of a run are arranged."""

    pp: int  #: ranks of the largest pipeline
    dp: int  #: data-parallel indices
    tp: int  #: ranks that share the work of a stage
    vpp: int  #: most stages on a rank
    inferred: bool  #: whether the logs left a part of it open
    places: dict[int, Place] = field(repr=False)  #: by rank


@dataclass(frozen=True)
class Doubt:
    """What cannot be true of any run, and is of this one."""

    kind: str
    text: str
    advice: str  #: what to do; may be empty
    effect: str  #: what follows for figures
    meaningless: bool  #: whether figures mean nothing
    ranks: list[int]

    def __str__(self) -> str:
        return printable(f"{self.text}; {self.advice}" if self.advice else self.text)


@dataclass(frozen=True)
class Finding:
    """What costs time, and who is to blame."""

    kind: str  #: docs/metrics.md lists them
    ranks: list[int]  #: those it is about; empty: none in particular
    stages: list[int]
    links: list[tuple[int, int]]  #: from one rank to another
    steps: list[int]
    severity: str
    cost_ns: int | None  #: idle time of all ranks, and what jobs waited inside for others
    gain: float | None  #: by how much the step would be shorter without it, a share
    sentence: str
    advice: str  #: what to look at next
    minor: bool  #: costs less than 1 % of the ranks' time
    evidence: dict[str, Any] = field(repr=False)  #: as in docs/report.schema.json

    @property
    def cost(self) -> float | None:
        """cost_ns in seconds."""
        return None if self.cost_ns is None else self.cost_ns / 1e9

    @property
    def stage(self) -> int | None:
        """The stage, where it is about one."""
        return self.stages[0] if len(self.stages) == 1 else None

    def __str__(self) -> str:
        return printable(self.sentence)

    def __repr__(self) -> str:
        return f"<pipetrace.Finding {self.kind}: {self}>"


class Findings(list[Finding]):
    """The findings of a run, which show themselves as a numbered list."""

    def __repr__(self) -> str:
        lines = [f"{number}. {finding}" for number, finding in enumerate(self, 1)]
        return "\n".join(lines) or "no findings"

    def _repr_html_(self) -> str:
        return notebook.numbered((str(finding), finding.advice) for finding in self)


class _Answer(dict[str, Any]):
    """The JSON of a command, which prints as the text of the command."""

    def __init__(self, found: str, text: Any) -> None:
        super().__init__(json.loads(found))
        self._text = text

    def __str__(self) -> str:
        return str(self._text())

    def __repr__(self) -> str:
        keys = ", ".join(self)
        return f"<pipetrace.{type(self).__name__} with {keys}; print() shows its text>"


class Report(_Answer):
    """What `pipe-trace report --json` prints (docs/report.schema.json); str() gives its text."""


class Advice(_Answer):
    """What `pipe-trace advise --json` prints (docs/advice.md); str() gives its text."""

    def _repr_html_(self) -> str:
        return notebook.list_of_advice(self)


class WhatIf(_Answer):
    """What `pipe-trace what-if --json` prints (docs/what-if.md); str() gives its text."""

    def _repr_html_(self) -> str:
        import html

        return f"<pre>{html.escape(str(self))}</pre>"


class Diff(_Answer):
    """What `pipe-trace diff --json` prints (docs/diff.schema.json); str() gives its text."""

    def __init__(self, found: str, text: Any, page: Any) -> None:
        super().__init__(found, text)
        self._page = page

    def page(self) -> str:
        """The page of `pipe-trace diff -o diff.html`."""
        return str(self._page())

    def save(self, path: str) -> None:
        """Writes NAME.html, NAME.json or NAME.txt."""
        contents = {
            "html": self.page,
            "json": lambda: json.dumps(self, indent=1),
            "txt": self.__str__,
        }
        make = contents.get(str(path).rpartition(".")[2])
        if make is None:
            raise Error(f"cannot write {path}: a comparison is NAME.html, NAME.txt or NAME.json")
        with open(path, "w", encoding="utf-8") as file:
            file.write(make())

    def _repr_html_(self) -> str:
        return notebook.page_frame(self.page())


def load(
    paths: Paths,
    *,
    steps: Steps | None = None,
    pp: int | None = None,
    tp: int | None = None,
    dp: int | None = None,
    vpp: int | None = None,
    align: str | None = None,
    threads: int | None = None,
    run: int | None = None,
    kinds: str | Iterable[str] | None = None,
    pattern: str | None = None,
    time_unit: str | None = None,
    time: str | None = None,
    progress: bool = True,
) -> Run:
    """Reads a run: whatever `pipe-trace` reads (docs/inputs.md).

    `paths`: a folder or file, or several. `steps`: those that figures and findings are about, as 3,
    "2:5", (2, 5) or range(2, 5). `pp`, `tp`, `dp`, `vpp`: ranks of a pipeline, ranks that share a
    stage, pipelines, stages on a rank, where the logs do not say it. `align`: "none", "log" or
    "causal". `threads`: the most it may use; none: one a core. `run`: of logs that hold several,
    from 0; none: the last. `kinds`, `pattern`, `time_unit`, `time`: as in `pipe-trace report --help`.

    Shows a progress bar unless `progress` is false. Ctrl-C ends it. What is wrong in the inputs
    becomes an InputWarning each. Raises Error, with the words of the command.
    """
    options = {
        "inputs": paths_of(paths),
        "steps": steps_of(steps),
        "pp": pp,
        "tp": tp,
        "dp": dp,
        "vpp": vpp,
        "align": align,
        "threads": threads,
        "run": run,
        "kinds": texts_of(kinds),
        "pattern": pattern,
        "time-unit": time_unit,
        "time": time,
    }
    found = Run(read(options, progress), progress)
    for text in found.warnings:
        warnings.warn(text, InputWarning, stacklevel=2)
    return found


class Run:
    """A run that load() has read. In a notebook it draws itself as the page of its report.

    Everything is found when it is first asked for, and kept. Several threads may ask at once.
    """

    def __init__(self, handle: Handle, progress: bool = True) -> None:
        self._handle = handle
        self._progress = progress
        self._known: dict[str, Any] = {}

    def _ask(
        self, question: str, options: Mapping[str, Any] | None = None, other: Run | None = None
    ) -> str:
        return ask(
            question,
            options or {},
            self._handle,
            None if other is None else other._handle,
            self._progress,
        )

    def _about(self) -> dict[str, Any]:
        if "about" not in self._known:
            self._known["about"] = json.loads(self._ask("about"))
        return dict(self._known["about"])

    @property
    def inputs(self) -> list[str]:
        """What was read."""
        return list(self._about()["inputs"])

    @property
    def ranks(self) -> list[int]:
        """The numbers of the ranks, ascending."""
        return list(self._about()["ranks"])

    @property
    def steps(self) -> list[int]:
        """The numbers of the steps, ascending."""
        return list(self._about()["steps"])

    @property
    def begin_ns(self) -> int:
        """When the first event began, in ns since the Unix epoch."""
        return int(self._about()["begin_ns"])

    @property
    def end_ns(self) -> int:
        """When the last event ended, in ns since the Unix epoch."""
        return int(self._about()["end_ns"])

    @property
    def warnings(self) -> list[str]:
        """What was wrong in the inputs, a line each."""
        return list(self._about()["warnings"])

    @property
    def notes(self) -> list[str]:
        """All that was noticed while they were read, warnings included."""
        return list(self._about()["notes"])

    @property
    def topology(self) -> Topology:
        """How the ranks are arranged."""
        found = self._about()["topology"]
        places = {each["rank"]: Place(**each) for each in found["places"]}
        return Topology(**{**found, "places": places})

    @property
    def trust(self) -> list[Doubt]:
        """The doubts about the run, the worst first; empty: all is well."""
        if "trust" not in self._known:
            self._known["trust"] = json.loads(self._ask("trust"))
        return [
            Doubt(
                each["kind"],
                each["text"],
                each["advice"],
                each["effect"],
                each["meaningless"],
                each.get("ranks", []),
            )
            for each in self._known["trust"]
        ]

    def _warn_of_doubts(self) -> None:
        """Says once what makes figures doubtful, as the commands do with each answer."""
        if "doubted" in self._known:
            return
        self._known["doubted"] = True
        for doubt in self.trust:
            warnings.warn(str(doubt), InputWarning, stacklevel=4)

    # Tables. docs/python.md says what the columns mean.

    def _table(self, name: str) -> Table:
        if name not in self._known:
            # It keeps the handle and not this object, which keeps it.
            fill = functools.partial(fill_stream, self._handle, name, self._progress)
            self._known[name] = Table(name, fill)
        table: Table = self._known[name]
        return table

    @property
    def jobs(self) -> Table:
        """What the compute lanes of all ranks ran, of shape (jobs, 15).

        rank, dp, tp, stage, chunk, step, phase, kind, micro_batch, part, name, id; begin_ns, end_ns
        and duration_ns in ns.
        """
        return self._table("jobs")

    @property
    def messages(self) -> Table:
        """Messages between ranks with both their ends, of shape (messages, 16).

        from_rank, to_rank, kind (forward or backward), micro_batch, step, stage, bytes; begin_ns,
        when the later end was there, end_ns, duration_ns; of each end its begin, its end, and the id
        of its job. Missing: that end is not in the logs.
        """
        return self._table("messages")

    @property
    def collectives(self) -> Table:
        """Collectives as each member saw them, of shape (collectives · members, 14).

        rank, lane, kind, name, use, group (the ranks, as "0 4"), bytes, step, stage, micro_batch, job
        (the id of the job it belongs to), begin_ns, end_ns, duration_ns.
        """
        return self._table("collectives")

    @property
    def bubbles(self) -> Table:
        """Idle time by cause, of shape (bubbles, 14).

        rank, step, counted (whether figures are about its step), class (docs/metrics.md), inside_job
        (true: no idle time, but a wait inside a job), begin_ns, end_ns, duration_ns; then who is to
        blame: culprit_rank, culprit_stage, culprit_kind, culprit_micro_batch, culprit_step,
        culprit_id. Missing: the schedule itself, or not known.
        """
        return self._table("bubbles")

    @property
    def counters(self) -> Table:
        """Samples of counters, of shape (samples, 5): rank, name, unit, time_ns, value."""
        return self._table("counters")

    @property
    def by_name(self) -> Table:
        """Time by operator, kernel or job and rank, of shape (names · ranks, 5).

        name, rank, calls, own_ns (without what ran inside), total_ns.
        """
        return self._table("by_name")

    # Questions.

    @property
    def findings(self) -> Findings:
        """What costs time, the most expensive first, without what is minor."""
        if "findings" not in self._known:
            self._known["findings"] = self.report()["findings"]
        return Findings(_finding(each) for each in self._known["findings"])

    def report(
        self,
        *,
        all: bool = False,  # noqa: A002, the name of the option
        by_name: bool = False,
        force: bool = False,
        tokens_per_step: float | None = None,
        flops_per_step: float | None = None,
        peak_tflops: float | None = None,
    ) -> Report:
        """Why ranks were idle: the JSON of `pipe-trace report --json`.

        `all`: every finding and bubble, and the slack of every job. `by_name`: also the table
        by_name. `force`: also where doubts make figures meaningless, which else raises Error. The
        last three: tokens of the whole run and floating-point operations of the model in a step,
        where logs do not know them, and the peak of one device in 10^12 operations a second.
        """
        options = {
            "all": all,
            "by-name": by_name,
            "force": force,
            "tokens-per-step": tokens_per_step,
            "flops-per-step": flops_per_step,
            "peak-tflops": peak_tflops,
        }
        found = self._ask("report", options)
        return Report(found, lambda: self._ask("report-text", options))

    def page(self) -> str:
        """The report as a page for browsers, with charts: the text of an HTML file."""
        return self._ask("report-page")

    def advise(
        self,
        *,
        limit_gb: float | None = None,
        activation_gb: float | None = None,
        limit_activations: float | None = None,
        blocks: str | None = None,
        run_partition: str | None = None,
    ) -> Advice:
        """What to change, and what it would bring: the JSON of `pipe-trace advise --json`.

        `limit_gb`: what a rank may hold of activations, in 10^9 bytes; with `activation_gb`, what a
        micro-batch takes on all stages of a rank, or with `blocks`, a file of the blocks' costs.
        `limit_activations`: the same as a number of micro-batches. `run_partition`: how many blocks
        each stage had.
        """
        self._warn_of_doubts()
        options = {
            "limit": limit_gb,
            "activation-gb": activation_gb,
            "limit-activations": limit_activations,
            "blocks": blocks,
            "run-partition": run_partition,
        }
        found = self._ask("advise", options)
        return Advice(found, lambda: self._ask("advise-text", options))

    def what_if(
        self,
        *scale: str,
        link: str | Iterable[str] | None = None,
        balance: str | None = None,
        make_ideal: str | Iterable[str] | None = None,
        no_launch: bool = False,
        usual_launch: Ranks | None = None,
        schedule: str | None = None,
        split: str | None = None,
        chunks: int | None = None,
        stage_depths: str | None = None,
        micro_batches: int | None = None,
        keep_batch: bool = False,
        partition: str | None = None,
        blocks: str | None = None,
        run_partition: str | None = None,
        limit_activations: float | None = None,
        comm_streams: str | None = None,
        transfers: str | None = None,
        tokens_per_step: float | None = None,
    ) -> WhatIf:
        """How long a step would take with changes: the JSON of `pipe-trace what-if --json`.

        `scale`: what takes how many times as long: "rank=6:0.8", "stage=3:0.9", "kind=transfer:0",
        "link=1-2:0.5". The others are the options of the command (docs/what-if.md). Raises Error
        where there is no answer that can be trusted.
        """
        self._warn_of_doubts()
        options = {
            "scale": list(scale) or None,
            "link": texts_of(link),
            "balance": balance,
            "make-ideal": texts_of(make_ideal),
            "no-launch": no_launch,
            "usual-launch": rank_list_of(usual_launch),
            "schedule": schedule,
            "split": split,
            "chunks": chunks,
            "stage-depths": stage_depths,
            "micro-batches": micro_batches,
            "keep-batch": keep_batch,
            "partition": partition,
            "blocks": blocks,
            "run-partition": run_partition,
            "limit-activations": limit_activations,
            "comm-streams": comm_streams,
            "transfers": transfers,
            "tokens-per-step": tokens_per_step,
        }
        found = self._ask("what-if", options)
        return WhatIf(found, lambda: self._ask("what-if-text", options))

    def diff(
        self, before: Run | Paths, *, tolerance: float | None = None, same_batch: bool = False
    ) -> Diff:
        """How much longer a step takes than one of `before`, and why: the JSON of
        `pipe-trace diff BEFORE RUN --json`, where A is `before` and B this run.

        `before`: a run, or what load() reads one from. `tolerance`: the share by which B may be
        slower (0.02). `same_batch`: steps of both have as many samples.
        """
        if not isinstance(before, Run):
            before = load(before, progress=self._progress)
        for run in (before, self):
            run._warn_of_doubts()
        options = {
            "tolerance": None if tolerance is None else repr(tolerance),
            "same-batch": same_batch,
        }
        found = before._ask("diff", options, self)
        return Diff(
            found,
            lambda: before._ask("diff-text", options, self),
            lambda: before._ask("diff-page", options, self),
        )

    def metrics(self, prefix: str = "pipetrace/") -> dict[str, float]:
        """The figures of the report as flat names and numbers, for wandb.log(), MLflow's
        log_metrics() and TensorBoard's add_scalar(). Times are in seconds."""
        return metrics.flat(self.report(), prefix)

    def metrics_text(self) -> str:
        """The same as the text format of Prometheus."""
        return metrics.prometheus(self.report())

    def chart(
        self,
        step: int | None = None,
        *,
        steps: Steps | None = None,
        ranks: Ranks | None = None,
        skip: str | Iterable[str] | None = None,
        theme: str | None = None,
        dark: bool = False,
    ) -> Chart:
        """The Gantt chart of a step, or of `steps`; without both of the last complete one.

        `ranks`: these alone, as [0, 1] or "0,4-7". `skip`: types to leave out, as "lr". `theme`:
        "paper", "paddle" or "colour-blind", which `dark` makes dark.
        """
        shown = steps_of(step if steps is None else steps)
        skipped = texts_of(skip)
        options = {
            "steps": shown,
            "ranks": ranks_of(ranks),
            "skip": None if skipped is None else ",".join(skipped),
            "theme": theme,
            "dark": dark,
        }
        return Chart(self._ask("chart", options))

    def save(
        self,
        *paths: str | os.PathLike[str],
        steps: Steps | None = None,
        ranks: Ranks | None = None,
        bubbles: bool = True,
        flows: bool = True,
    ) -> None:
        """Writes the run, all files or none: NAME.json (Chrome), NAME.pftrace (Perfetto),
        NAME.sqlite, NAME.csv, NAME.svg (a chart), NAME.html (the report), or by pyarrow the jobs as
        NAME.parquet, and all tables and the findings as files of the folder NAME.parquet/.

        `steps`, `ranks`: these alone. `bubbles`, `flows`: profiles have lanes of idle time, and
        arrows.
        """
        given = [os.fspath(path) for path in paths]
        tables = [path for path in given if parquet.is_parquet(path)]
        others = [path for path in given if path not in tables]
        if tables and not (steps is None and ranks is None):
            raise Error(f"cannot write a part of the run to {tables[0]}: a table has all of it")
        with parquet.Files() as files:
            for path in tables:
                if parquet.is_folder(path):
                    files.add_folder(path, self._arrow_tables())
                else:
                    files.add(path, self.jobs.to_arrow())
            if others or not tables:
                options = {
                    "output": others,
                    "steps": steps_of(steps),
                    "ranks": ranks_of(ranks),
                    "no-bubbles": not bubbles,
                    "no-flows": not flows,
                }
                self._ask("save", options)
            files.commit()

    def _arrow_tables(self) -> dict[str, pyarrow.Table]:
        """All tables by their names, with one of the findings."""
        tables = {name: getattr(self, name).to_arrow() for name in _TABLES}
        return {**tables, "findings": parquet.findings_table(self.findings)}

    def __repr__(self) -> str:
        place = self.topology
        arranged = f"pp {place.pp}, dp {place.dp}, tp {place.tp}"
        return (
            f"<pipetrace.Run {printable(', '.join(self.inputs))}: {len(self.ranks)} ranks ({arranged}), "
            f"{len(self.steps)} steps>"
        )

    def _repr_html_(self) -> str:
        try:
            return notebook.page_frame(self.page())
        except Error as error:
            return notebook.message(f"{self!r}: {error}")


def _finding(found: dict[str, Any]) -> Finding:
    where, evidence = found.get("where", {}), found["evidence"]
    gain = evidence.get("gain")
    return Finding(
        kind=found["kind"],
        ranks=list(where.get("ranks", [])),
        stages=list(where.get("stages", [])),
        links=[(link[0], link[1]) for link in where.get("links", [])],
        steps=list(where.get("steps", [])),
        severity=found["severity"],
        cost_ns=evidence.get("time_ns"),
        gain=None if gain is None or math.isnan(gain) else gain,
        sentence=found["text"],
        advice=found.get("advice", ""),
        minor=bool(found.get("minor", False)),
        evidence=evidence,
    )
