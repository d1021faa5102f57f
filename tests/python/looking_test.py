#!/usr/bin/env python3
"""The Python package, for looking: what it says is what the commands say.

looking_test.py PIPE_TRACE LIBRARY_FOLDER [unittest's options]
"""

from __future__ import annotations

import concurrent.futures
import contextlib
import inspect
import io
import json
import os
import pathlib
import pty
import re
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import unittest
import warnings
import weakref

ROOT = pathlib.Path(__file__).resolve().parents[2]
DATA = ROOT.parent / "shared/data"
PIPE_TRACE = ""
sys.path.insert(0, str(ROOT / "python"))

import pipetrace  # noqa: E402
from pipetrace.looking import library, table  # noqa: E402

REGULAR = dict(
    ranks=4, micro_batches=8, steps=4, costs={"forward_ms": 10, "backward_ms": 20, "transfer_ms": 1}
)


def command(*words: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([PIPE_TRACE, *map(str, words)], capture_output=True, text=True)


def said(*words: object) -> str:
    """What a command says that fails, without its name."""
    done = command(*words)
    assert done.returncode == 2, done
    line = next(line for line in done.stderr.splitlines() if line.startswith("pipe-trace"))
    return line.split(": ", 1)[1]


def quiet_load(*paths: object, **options: object) -> pipetrace.Run:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pipetrace.load([str(path) for path in paths], **options)


class LogReader:
    """A second reader of job logs, which shares nothing with the first."""

    PAIR = re.compile(r'(\w+) = ("(?:[^"\\]|\\.)*"|[^,\n]+)')

    def __init__(self, folder: pathlib.Path) -> None:
        self.jobs: list[tuple] = []
        self.ends: list[tuple] = []  # of messages
        self.counters: list[tuple] = []
        for path in sorted(folder.glob("workerlog.*")):
            rank = int(path.name.rpartition(".")[2])
            for line in path.read_text().splitlines():
                kind, _, rest = line.partition("Profiler ")[2].partition(": ")
                pairs = dict(self.PAIR.findall(rest))
                getattr(self, "read_" + kind.lower(), lambda *_: None)(rank, pairs)

    @staticmethod
    def ns(text: str) -> int:
        """Of milliseconds, digit by digit."""
        whole, _, part = text.partition(".")
        return int(whole) * 1_000_000 + int(part.ljust(6, "0"))

    def read_info(self, rank: int, pairs: dict[str, str]) -> None:
        numbers = tuple(int(pairs.get(key, -1)) for key in ("stage", "step", "id"))
        times = self.ns(pairs["job_start_time"]), self.ns(pairs["job_end_time"])
        self.jobs.append((rank, pairs["type"], int(pairs["micro_batch_id"]), *numbers, *times))

    def read_stream(self, rank: int, pairs: dict[str, str]) -> None:
        kind = re.fullmatch("(send|recv)_(forward|backward)", pairs["type"])
        if kind is None:
            return
        times = self.ns(pairs["start_time"]), self.ns(pairs["end_time"])
        peer, micro_batch = int(pairs["peer"]), int(pairs["micro_batch_id"])
        self.ends.append((*kind.groups(), rank, peer, micro_batch, int(pairs["step"]), *times))

    def read_counter(self, rank: int, pairs: dict[str, str]) -> None:
        self.counters.append((rank, pairs["name"].strip('"'), float(pairs["value"])))


class WithRun(unittest.TestCase):
    """Tests of an emulated run of which stage 2 is slow, with messages and counters."""

    @classmethod
    def setUpClass(cls) -> None:
        cls.folder = tempfile.TemporaryDirectory()
        cls.work = pathlib.Path(cls.folder.name)
        cls.logs = cls.work / "logs"
        plan = pipetrace.plan("1F1B", scale="stage=2:1.5", activation_gb=1, **REGULAR)
        plan.save(f"{cls.logs}/")
        cls.run_ = pipetrace.load(cls.logs)

    @classmethod
    def tearDownClass(cls) -> None:
        cls.folder.cleanup()


class AnswersTest(WithRun):
    def assert_is_command(self, found: object, *words: object) -> None:
        done = command(*words, "--json")
        self.assertLess(done.returncode, 2, done.stderr)
        self.assertEqual(found, json.loads(done.stdout))

    def test_a_report_is_that_of_the_command(self) -> None:
        self.assert_is_command(self.run_.report(), "report", self.logs)
        everything = self.run_.report(all=True, by_name=True, tokens_per_step=1000)
        words = ["--all", "--by-name", "--tokens-per-step", 1000]
        self.assert_is_command(everything, "report", self.logs, *words)
        self.assertEqual(str(self.run_.report()), command("report", self.logs).stdout)

    def test_a_report_stays_the_same_after_other_questions(self) -> None:
        run = pipetrace.load(self.logs)
        run.chart()
        run.save(str(self.work / "again.pftrace"))
        len(run.bubbles)
        self.assertEqual(run.report(all=True), self.run_.report(all=True))

    def test_a_report_of_chosen_steps_is_that_of_the_command(self) -> None:
        run = pipetrace.load(self.logs, steps=(1, 3), align="none", pp=4)
        words = ["--steps", "1:3", "--align", "none", "--pp", 4]
        self.assert_is_command(run.report(), "report", self.logs, *words)

    def test_advice_is_that_of_the_command(self) -> None:
        self.assert_is_command(self.run_.advise(), "advise", self.logs)
        limited = self.run_.advise(limit_gb=3, activation_gb=1)
        words = ["--limit", 3, "--activation-gb", 1]
        self.assert_is_command(limited, "advise", self.logs, *words)

    def test_what_ifs_are_those_of_the_command(self) -> None:
        scaled = self.run_.what_if("stage=2:0.8", "rank=0:0.9", no_launch=True)
        words = ["--scale", "stage=2:0.8", "--scale", "rank=0:0.9", "--no-launch"]
        self.assert_is_command(scaled, "what-if", self.logs, *words)
        other = self.run_.what_if(schedule="ZB-H1", split="2:1")
        words = ["--schedule", "ZB-H1", "--split", "2:1"]
        self.assert_is_command(other, "what-if", self.logs, *words)
        launches = self.run_.what_if(usual_launch=[1, 2])
        words = ["--usual-launch", "1", "--usual-launch", "2"]
        self.assert_is_command(launches, "what-if", self.logs, *words)
        one = self.run_.what_if(usual_launch=1)
        self.assert_is_command(one, "what-if", self.logs, "--usual-launch", "1")
        self.assertEqual(self.run_.what_if(usual_launch=range(1, 3)), launches)

    def test_a_comparison_is_that_of_the_command(self) -> None:
        before = self.work / "before"
        pipetrace.plan("1F1B", **REGULAR).save(f"{before}/")
        diff = self.run_.diff(pipetrace.load(before))
        self.assert_is_command(diff, "diff", before, self.logs)
        self.assertEqual(str(diff), command("diff", before, self.logs).stdout)
        self.assertEqual(self.run_.diff(before), diff, "a folder is read")
        self.assertIn("<html", diff.page())
        for ending, part in (("html", "<html"), ("json", '"verdict"'), ("txt", "B's steps take")):
            diff.save(str(self.work / f"diff.{ending}"))
            self.assertIn(part, (self.work / f"diff.{ending}").read_text())
        with self.assertRaisesRegex(pipetrace.Error, "NAME.html, NAME.txt or NAME.json"):
            diff.save(str(self.work / "diff.svg"))
        self.assertIn("srcdoc", diff._repr_html_())

    def test_a_comparison_with_a_run_that_lacks_ranks_leaves_both_as_they_are(self) -> None:
        part = self.work / "part"
        part.mkdir()
        for rank in (0, 1, 3):
            (part / f"workerlog.{rank}").write_bytes((self.logs / f"workerlog.{rank}").read_bytes())
        other = quiet_load(part)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            diff = self.run_.diff(other)
        self.assert_is_command(diff, "diff", part, self.logs)
        self.assertEqual((self.run_.ranks, other.ranks), ([0, 1, 2, 3], [0, 1, 3]))

    def test_findings_name_who_is_to_blame(self) -> None:
        first = self.run_.findings[0]
        listed = self.run_.report()["findings"][0]
        self.assertEqual((first.kind, first.sentence), ("slow_stages", listed["text"]))
        self.assertEqual((first.stage, first.cost_ns), (2, listed["evidence"]["time_ns"]))
        self.assertEqual(str(first), first.sentence)
        self.assertEqual(repr(first), f"<pipetrace.Finding slow_stages: {first.sentence}>")

    def test_findings_and_answers_show_themselves_in_short(self) -> None:
        found = self.run_.findings
        shown = repr(found).splitlines()
        self.assertEqual(shown, [f"{n}. {each}" for n, each in enumerate(found, 1)])
        self.assertEqual(found._repr_html_().count("<li>"), len(found))
        self.assertEqual(repr(pipetrace.Findings()), "no findings")
        for answer in (self.run_.report(), self.run_.advise(), self.run_.what_if("stage=2:0.8")):
            self.assertIn("print() shows its text", repr(answer))
            self.assertLess(len(repr(answer)), 300)

    def test_findings_have_the_gain_that_the_text_of_the_report_states(self) -> None:
        logs = self.work / "lines"
        costs = {"forward_ms": 10, "backward_ms": 20, "transfer_ms": 1}
        pipetrace.plan(
            "Interleaved1F1B", 4, 8, steps=3, chunks=2, comm_streams="rank", transfers="torch",
            costs=costs,
        ).save(f"{logs}/")  # fmt: skip
        first = pipetrace.load(logs).findings[0]
        self.assertEqual(first.kind, "held_lines")
        share = re.search(r"([0-9.]+) % of it; with messages", first.sentence)[1]
        self.assertEqual(f"{100 * first.gain:.1f}", share)
        self.assertIsNone(self.run_.findings[0].gain)
        self.assertNotIn("gain: ", str(self.run_.report()))

    def test_who_is_where_is_said(self) -> None:
        place = self.run_.topology
        self.assertEqual((place.pp, place.dp, place.tp, place.vpp), (4, 1, 1, 1))
        self.assertEqual(self.run_.ranks, [0, 1, 2, 3])
        self.assertEqual(self.run_.steps, [0, 1, 2, 3])
        self.assertEqual([place.places[rank].position for rank in range(4)], [0, 1, 2, 3])
        self.assertEqual(self.run_.trust, [])
        self.assertEqual(self.run_.inputs, [str(self.logs)])

    def test_charts_show_the_steps_and_ranks_that_are_asked_for(self) -> None:
        self.run_.chart(step=3, ranks=[0, 1]).save(str(self.work / "chart.svg"))
        words = ["--steps", 3, "--ranks", "0,1", "-o", self.work / "command.svg"]
        command(self.logs, *words)
        drawn = (self.work / "command.svg").read_text()
        self.assertEqual((self.work / "chart.svg").read_text(), drawn)
        self.assertNotEqual(self.run_.chart(step=3, dark=True), self.run_.chart(step=3))

    def test_saved_files_are_those_of_the_command(self) -> None:
        endings = ["json", "pftrace", "csv", "svg"]
        self.run_.save(*(str(self.work / f"ours.{each}") for each in [*endings, "sqlite", "html"]))
        for each in endings:
            command(self.logs, "-o", self.work / f"theirs.{each}")
            ours, theirs = (self.work / f"{who}.{each}" for who in ("ours", "theirs"))
            self.assertEqual(ours.read_bytes(), theirs.read_bytes(), each)
        command("report", self.logs, "-o", self.work / "theirs.html")
        pages = [(self.work / f"{who}.html").read_text() for who in ("ours", "theirs")]
        self.assertEqual(*pages)
        with contextlib.closing(sqlite3.connect(self.work / "ours.sqlite")) as database:
            rows = database.execute("select count(*) from job").fetchone()[0]
        self.assertGreater(rows, len(self.run_.jobs))

    def test_saving_all_or_none(self) -> None:
        with self.assertRaisesRegex(pipetrace.Error, "cannot write .*none.foo"):
            self.run_.save(str(self.work / "none.json"), str(self.work / "none.foo"))
        self.assertFalse((self.work / "none.json").exists())
        for ending in ("html", "parquet"):
            with self.assertRaisesRegex(pipetrace.Error, "cannot write a part of the run"):
                self.run_.save(str(self.work / f"part.{ending}"), ranks=[0])
        log = str(self.logs / "workerlog.0")
        with self.assertRaises(pipetrace.Error):
            self.run_.save(log)

    def test_metrics_are_flat_names_and_numbers(self) -> None:
        found = self.run_.metrics()
        report = self.run_.report()
        self.assertEqual(
            found["pipetrace/bubble_ratio"], report["summary"]["bubble_ratio"]["median"]
        )
        self.assertEqual(
            found["pipetrace/rank_idle_seconds/3"], report["ranks"][3]["idle_ns"] / 1e9
        )
        self.assertTrue(all(isinstance(value, float) for value in found.values()))
        sample = re.compile(r'^pipetrace_\w+(\{\w+="[^"]*"\})? -?[0-9.e+-]+$|^# (HELP|TYPE) ')
        for line in self.run_.metrics_text().splitlines():
            self.assertRegex(line, sample)

    def test_several_threads_may_ask_at_once(self) -> None:
        run = pipetrace.load(self.logs)
        asked = [run.report, run.advise, run.chart, lambda: len(run.bubbles), run.report] * 3
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            answers = [each.result() for each in [pool.submit(one) for one in asked]]
        self.assertEqual(answers[0], self.run_.report())
        self.assertEqual(answers[-1], answers[0])

    def test_a_run_draws_itself_without_a_network(self) -> None:
        html = self.run_._repr_html_()
        self.assertIn("srcdoc", html)
        self.assertIsNone(re.search(r"(src|href)=&quot;https?:", html))
        self.assertIn("cut the model so that all stages take", self.run_.advise()._repr_html_())


class TablesTest(WithRun):
    SHAPES = ["jobs", "messages", "collectives", "bubbles", "counters", "by_name"]

    def test_jobs_are_those_of_the_logs(self) -> None:
        keys = ["rank", "kind", "micro_batch", "stage", "step", "id", "begin_ns", "end_ns"]
        found = [tuple(row[key] for key in keys) for row in self.run_.jobs.rows()]
        expected = LogReader(self.logs).jobs
        self.assertEqual(sorted(found), sorted(expected))
        self.assertEqual(len(found), 4 * 4 * 16)

    def test_messages_have_both_their_ends(self) -> None:
        ends = LogReader(self.logs).ends
        sends = {
            (kind, rank, peer, *rest[:2]): rest[2:]
            for which, kind, rank, peer, *rest in ends
            if which == "send"
        }
        found = list(self.run_.messages.rows())
        self.assertEqual(len(found), len(sends))
        for row in found:
            key = tuple(
                row[name] for name in ("kind", "from_rank", "to_rank", "micro_batch", "step")
            )
            self.assertEqual(sends[key], [row["send_begin_ns"], row["send_end_ns"]])
        received = sorted(tuple(end[2:]) for end in ends if end[0] == "recv")
        names = [
            "to_rank",
            "from_rank",
            "micro_batch",
            "step",
            "receive_begin_ns",
            "receive_end_ns",
        ]
        self.assertEqual(sorted(tuple(row[name] for name in names) for row in found), received)

    def test_counters_are_those_of_the_logs(self) -> None:
        found = [(row["rank"], row["name"], row["value"]) for row in self.run_.counters.rows()]
        self.assertGreater(len(found), 0)
        self.assertEqual(sorted(found), sorted(LogReader(self.logs).counters))

    def test_bubbles_add_up_to_the_report(self) -> None:
        sums: dict[tuple[int, str], int] = {}
        for row in self.run_.bubbles.rows():
            if row["counted"] and not row["inside_job"]:
                key = row["rank"], row["class"]
                sums[key] = sums.get(key, 0) + row["duration_ns"]
        expected = {
            (rank["rank"], name): time
            for rank in self.run_.report()["ranks"]
            for name, time in rank["bubbles"].items()
            if time > 0
        }
        self.assertEqual(sums, expected)

    def test_bubbles_name_their_culprits(self) -> None:
        listed = self.run_.report(all=True)["bubbles"]
        keys = ["rank", "begin_ns", "end_ns", "step", "class"]
        expected = sorted(
            [*(each[key] for key in keys), (each["culprit"] or {}).get("rank", -1)]
            for each in listed
        )
        found = sorted(
            [
                *(row[key] for key in keys),
                -1 if row["culprit_rank"] is None else row["culprit_rank"],
            ]
            for row in self.run_.bubbles.rows()
            if row["counted"] and not row["inside_job"]
        )
        self.assertEqual(found, expected)

    def test_times_by_name_are_those_of_the_report(self) -> None:
        listed = self.run_.report(by_name=True)["by_name"]
        self.assertEqual(list(self.run_.by_name.rows()), listed)

    def test_collectives_have_their_members(self) -> None:
        logs = self.work / "replicas"
        plan = pipetrace.plan("1F1B", dp=2, **{**REGULAR, "costs": {"reduce_ms": 3}})
        plan.save(f"{logs}/")
        rows = list(pipetrace.load(logs).collectives.rows())
        self.assertEqual(len(rows), 4 * 8)
        self.assertEqual({row["kind"] for row in rows}, {"all_reduce"})
        self.assertEqual({row["rank"] for row in rows}, set(range(8)))
        self.assertEqual({row["duration_ns"] for row in rows}, {3_000_000})

    def test_a_table_is_made_once(self) -> None:
        self.assertIs(self.run_.jobs, self.run_.jobs)
        places = []
        for _ in range(2):
            with library.Task(
                library.library().pipetrace_run_start_table(self.run_._handle.address, b"jobs")
            ) as task:
                task.finish()
                batch = table._Batch(task.fill_stream)
            places.append([column._data for column in batch.columns])
        self.assertEqual(*places)

    def test_values_outlive_their_run(self) -> None:
        run = pipetrace.load(self.logs)
        jobs, bubbles = run.jobs, run.bubbles
        len(jobs)
        gone = weakref.ref(run)
        del run
        self.assertIsNone(gone(), "no cycle keeps a run until the garbage collector comes")
        self.assertEqual(jobs["kind"][0], "forward")
        self.assertGreater(len(bubbles), 0)

    def test_a_table_shows_its_first_rows(self) -> None:
        shown = self.run_.jobs._repr_html_()
        self.assertEqual(shown.count("<tr>"), 11)
        self.assertIn("256 rows, 15 columns", shown)
        self.assertIn("jobs: 256 rows, 15 columns", repr(self.run_.jobs))

    def test_an_empty_table_has_its_columns(self) -> None:
        table = self.run_.collectives
        self.assertEqual((len(table), table.columns[0], table["kind"]), (0, "rank", []))

    def test_a_missing_column_is_named(self) -> None:
        with self.assertRaisesRegex(KeyError, "jobs has no column kinds; it has rank, dp"):
            self.run_.jobs["kinds"]


class DataFramesTest(WithRun):
    """Of packages that are not needed, which tools/setup.sh --tests installs."""

    NAMES = ["jobs", "messages", "collectives", "bubbles", "counters", "by_name"]

    def test_pandas_polars_pyarrow_and_duckdb_take_them(self) -> None:
        try:
            import duckdb
            import pandas
            import polars
            import pyarrow
        except ImportError as missing:
            self.skipTest(f"{missing.name} is not installed (tools/setup.sh --tests)")
        for name in self.NAMES:
            with self.subTest(name):
                table = getattr(self.run_, name)
                rows = list(table.rows())
                arrow = pyarrow.table(table)
                arrow.validate(full=True)
                self.assertEqual(arrow.to_pylist(), rows)
                self.assertEqual(polars.DataFrame(table).to_dicts(), rows)
                frame = table.to_pandas().astype(object)
                frame = frame.where(frame.notna(), None)
                self.assertEqual(frame.to_dict("records"), rows)
                if rows:
                    self.assertEqual(len(pandas.DataFrame.from_arrow(table)), len(rows))
        jobs = self.run_.jobs.to_arrow()
        counts = duckdb.sql("select kind, count(*) from jobs group by kind").fetchall()
        self.assertEqual(dict(counts), {"forward": 128, "backward": 128})

    def test_programs_of_the_documents_work(self) -> None:
        try:
            import pandas  # noqa: F401
        except ImportError:
            self.skipTest("pandas is not installed (tools/setup.sh --tests)")
        costs = {"forward_ms": 10, "backward_ms": 20, "reduce_ms": 2}
        for name, faults in (("traces", {"scale": "rank=6:1.3"}), ("before", {})):
            plan = pipetrace.plan("1F1B", 4, 8, dp=2, steps=3, costs=costs, **faults)
            plan.save(f"{self.work / name}/")
        before = os.getcwd()
        os.chdir(self.work)
        try:
            for document in ("README.md", "docs/python.md"):
                text = (ROOT / document).read_text()
                programs = re.findall(r"^```python\n(.*?)^```", text, re.M | re.S)
                self.assertTrue(programs, document)
                names: dict[str, object] = {}
                with contextlib.redirect_stdout(io.StringIO()) as printed:
                    for program in programs:
                        exec(program, names)
                if document == "README.md":
                    expected = re.search(r"# (rank 6 .*?): \.\.\.", text)[1]
                    self.assertTrue(printed.getvalue().startswith(expected), printed.getvalue())
            self.assertTrue(pathlib.Path("plan.svg").exists() and pathlib.Path("plan").is_dir())
        finally:
            os.chdir(before)

    def test_jobs_as_parquet(self) -> None:
        try:
            import pyarrow.parquet
        except ImportError:
            self.skipTest("pyarrow is not installed (tools/setup.sh --tests)")
        path = self.work / "jobs.parquet"
        self.run_.save(path, self.work / "jobs.json")
        read = pyarrow.parquet.read_table(path).to_pylist()
        self.assertEqual(read, list(self.run_.jobs.rows()))
        self.assertGreater((self.work / "jobs.json").stat().st_size, 0)

    def test_a_folder_of_parquet_has_all_tables_and_the_findings(self) -> None:
        try:
            import pyarrow.parquet
        except ImportError:
            self.skipTest("pyarrow is not installed (tools/setup.sh --tests)")
        folder = self.work / "run.parquet"
        self.run_.save(f"{folder}/")
        for path in folder.iterdir():
            path.write_text("older")
        self.run_.save(folder)  # which is one by now
        read = {
            path.stem: pyarrow.parquet.read_table(path).to_pylist() for path in folder.iterdir()
        }
        self.assertEqual(set(read), {*self.NAMES, "findings"})
        for name in self.NAMES:
            self.assertEqual(read[name], list(getattr(self.run_, name).rows()), name)
        for row, finding in zip(read["findings"], self.run_.findings, strict=True):
            self.assertEqual(row["sentence"], finding.sentence)
            self.assertEqual((row["stages"], row["gain"]), (finding.stages, finding.gain))
            self.assertEqual(json.loads(row["evidence"]), finding.evidence)
        self.assertEqual({path.name for path in self.work.glob(".*")}, set())

    def test_a_folder_of_parquet_is_written_as_a_whole_or_not_at_all(self) -> None:
        try:
            import pyarrow.parquet  # noqa: F401
        except ImportError:
            self.skipTest("pyarrow is not installed (tools/setup.sh --tests)")
        (self.work / "file.parquet").write_text("mine")
        for paths, message in (
            (["none.parquet/", "none.foo"], "cannot write .*none.foo"),
            (["file.parquet/"], "cannot write .*file.parquet/: it is a file, and no folder"),
            (["nowhere/none.parquet"], "cannot write .*none.parquet: No such file or directory"),
        ):
            with self.assertRaisesRegex(pipetrace.Error, message):
                self.run_.save(*(f"{self.work}/{path}" for path in paths))
        self.assertEqual({path.name for path in self.work.glob("*none*")}, set())
        self.assertEqual({path.name for path in self.work.glob(".*")}, set())
        self.assertEqual((self.work / "file.parquet").read_text(), "mine")


class ErrorsTest(WithRun):
    def test_errors_have_the_words_of_the_command(self) -> None:
        plan = lambda: pipetrace.plan("1F1X", 4, 8).check()  # noqa: E731
        cases = [
            (lambda: pipetrace.load("/nowhere"), ["report", "/nowhere"]),
            (lambda: pipetrace.load("/no\x1b[31mwhere"), ["report", "/no\x1b[31mwhere"]),
            (lambda: pipetrace.load(self.logs, pp=3), ["report", self.logs, "--pp", 3]),
            (lambda: pipetrace.load(self.logs, align="x"), ["report", self.logs, "--align=x"]),
            (lambda: pipetrace.load(self.logs, steps="9:7"), ["report", self.logs, "--steps=9:7"]),
            (lambda: self.run_.advise(limit_gb=80), ["advise", self.logs, "--limit", 80]),
            (
                lambda: self.run_.what_if("rank=9:0.8"),
                ["what-if", self.logs, "--scale", "rank=9:0.8"],
            ),
            (lambda: self.run_.what_if("nonsense"), ["what-if", self.logs, "--scale", "nonsense"]),
            (lambda: self.run_.chart(step=99), [self.logs, "--steps", 99, "-o", "x.svg"]),
            (plan, ["plan", "--schedule", "1F1X", "--ranks", 4, "--micro-batches", 8]),
            (lambda: pipetrace.compare(), ["plan", "--compare"]),
        ]
        for raises, words in cases:
            with self.subTest(words):
                with self.assertRaises(pipetrace.Error) as raised:
                    raises()
                if words[-1] == "x.svg":  # the command looks at the selection first
                    self.assertIn("no step 99", str(raised.exception).replace("step 99", "step 99"))
                else:
                    self.assertEqual(str(raised.exception), said(*words))

    def test_paths_that_are_none_are_refused(self) -> None:
        with self.assertRaisesRegex(TypeError, "a folder or file, or several, and not None"):
            pipetrace.load(None)  # type: ignore[arg-type]
        with self.assertRaisesRegex(ValueError, "no folder or file is given"):
            pipetrace.load([])

    def test_an_unknown_option_is_named(self) -> None:
        with self.assertRaisesRegex(pipetrace.Error, "--forwards-ms=3; did you mean --forward-ms"):
            pipetrace.plan("1F1B", 4, 8, forwards_ms=3).check()

    def test_what_is_wrong_in_the_inputs_becomes_warnings(self) -> None:
        damaged = self.work / "damaged"
        damaged.mkdir()
        for log in self.logs.iterdir():
            text = log.read_text()
            (damaged / log.name).write_text(text.replace("job_end_time = ", "job_end_time = x", 1))
        with self.assertWarnsRegex(pipetrace.InputWarning, "damaged/workerlog"):
            run = pipetrace.load(damaged)
        self.assertTrue(run.warnings)

    def test_figures_that_mean_nothing_are_refused_as_by_the_command(self) -> None:
        overlapping = self.work / "overlapping"
        overlapping.mkdir()
        end = re.compile(r"job_end_time = (\d+)")
        for log in self.logs.iterdir():  # jobs of a rank that run at the same time
            text = end.sub(lambda m: f"job_end_time = {int(m[1]) + 200}", log.read_text())
            (overlapping / log.name).write_text(text)
        run = quiet_load(overlapping)
        self.assertTrue(run.trust[0].meaningless)
        with self.assertRaises(pipetrace.Error) as raised:
            run.report()
        self.assertEqual(str(raised.exception), said("report", overlapping).replace("report: ", ""))
        self.assertIn(run.trust[0].text, run._repr_html_())
        self.assertEqual(run.report(force=True)["trust"][0]["meaningless"], True)
        with self.assertWarnsRegex(pipetrace.InputWarning, re.escape(run.trust[0].text)):
            with contextlib.suppress(pipetrace.Error):
                run.advise()

    def test_an_exception_in_a_library_call_leaves_everything_usable(self) -> None:
        for _ in range(50):
            with self.assertRaises(pipetrace.Error):
                self.run_.what_if("rank=9:0.8")
        self.assertEqual(len(self.run_.jobs), 256)

    def test_a_missing_library_says_what_to_do(self) -> None:
        done = self.python(
            "import pipetrace; pipetrace.load('x')", PIPETRACE_LIBRARY_PATH="/nowhere"
        )
        self.assertIn("set PIPETRACE_LIBRARY_PATH to the folder of a build", done.stderr)

    @staticmethod
    def python(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
        variables = {**os.environ, "PYTHONPATH": str(ROOT / "python"), **environment}
        return subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, env=variables
        )

    def test_importing_it_imports_nothing_heavy(self) -> None:
        code = (
            "import sys; before = set(sys.modules); import pipetrace; "
            "print(sorted(set(sys.modules) - before))"
        )
        self.assertEqual(self.python(code).stdout.strip(), "['pipetrace']")
        code = "import pipetrace, sys; pipetrace.load; print('numpy' in sys.modules)"
        self.assertEqual(self.python(code).stdout.strip(), "False")

    def test_what_is_public_says_what_it_does_and_of_which_types(self) -> None:
        lacking = []
        for name in pipetrace.__all__:
            if not pipetrace._MODULES[name].startswith("pipetrace.looking"):
                continue
            value = getattr(pipetrace, name)
            members = {name: value}
            if inspect.isclass(value):
                members |= {
                    f"{name}.{key}": each
                    for key, each in vars(value).items()
                    if not key.startswith("_") and (callable(each) or type(each) is property)
                }
            for member, each in members.items():
                function = each.fget if isinstance(each, property) else each
                if not inspect.getdoc(function):
                    lacking.append(f"{member}: no docstring")
                if inspect.isfunction(function):
                    given = inspect.signature(function).parameters.values()
                    if any(p.annotation is p.empty and p.name != "self" for p in given):
                        lacking.append(f"{member}: a parameter without a type")
                    if "return" not in function.__annotations__:
                        lacking.append(f"{member}: no type of its result")
        self.assertEqual(lacking, [])
        for name in TablesTest.SHAPES:
            text = inspect.getdoc(vars(pipetrace.Run)[name].fget)
            columns = len(getattr(self.run_, name).columns)
            self.assertRegex(text, rf"of shape \(.*, {columns}\)")
        self.assertTrue((ROOT / "python/pipetrace/py.typed").exists())

    def test_every_name_of_the_package_is_there(self) -> None:
        for name in pipetrace.__all__:
            if pipetrace._MODULES[name].startswith("pipetrace.looking"):
                self.assertIsNotNone(getattr(pipetrace, name))
        self.assertEqual(pipetrace.__version__, command("--version").stdout.split()[-1])
        with self.assertRaises(AttributeError):
            pipetrace.nonsense


class LongWorkTest(unittest.TestCase):
    """Of a run that takes long enough to be interrupted."""

    @classmethod
    def setUpClass(cls) -> None:
        cls.folder = tempfile.TemporaryDirectory()
        cls.logs = pathlib.Path(cls.folder.name) / "logs"
        plan = pipetrace.plan("1F1B", 8, 32, steps=400)
        plan.save(f"{cls.logs}/")

    @classmethod
    def tearDownClass(cls) -> None:
        cls.folder.cleanup()

    def script(self, body: str) -> str:
        return (
            "import os, signal, sys, threading, time\n"
            f"sys.path.insert(0, {str(ROOT / 'python')!r})\nimport pipetrace\n"
            f"logs = {str(self.logs)!r}\n{body}"
        )

    def test_control_c_ends_reading(self) -> None:
        # The signal comes once the library has begun to read.
        body = (
            "from pipetrace.looking import library\n"
            "start = library.library().pipetrace_run_start_load\n"
            "def started(options):\n"
            "    task = start(options)\n"
            "    os.kill(os.getpid(), signal.SIGINT)\n"
            "    return task\n"
            "class Library:\n"
            "    def __getattr__(self, name):\n"
            "        return started if 'start_load' in name else getattr(library._library, name)\n"
            "library.library = lambda: Library()\n"
            "try:\n    pipetrace.load(logs)\n    print('read')\n"
            "except KeyboardInterrupt:\n    print('interrupted')\n"
        )
        done = subprocess.run(
            [sys.executable, "-c", self.script(body)], capture_output=True, text=True, timeout=60
        )
        self.assertEqual((done.stdout, done.returncode), ("interrupted\n", 0), done.stderr)

    def test_a_cancelled_question_can_be_asked_again(self) -> None:
        run = pipetrace.load(self.logs)
        start = library.library().pipetrace_run_start_ask
        task = library.Task(start(run._handle.address, None, b"report", b"{}"))
        with task:
            library.library().pipetrace_task_cancel(task._handle)
            with self.assertRaisesRegex(pipetrace.Error, "cancelled"):
                task.finish()
        self.assertEqual(run.report()["profile"]["ranks"], 8)

    def test_other_threads_run_meanwhile(self) -> None:
        ticks = 0
        ends = threading.Event()

        def count() -> None:
            nonlocal ticks
            while not ends.wait(0.001):
                ticks += 1

        thread = threading.Thread(target=count)
        thread.start()
        pipetrace.load(self.logs).report()
        ends.set()
        thread.join()
        self.assertGreater(ticks, 10)  # with the lock held there would be one or two

    def test_a_bar_shows_how_far_it_is(self) -> None:
        body = "from pipetrace.looking import progress\nprogress._PATIENCE = 0\n" + (
            "pipetrace.load(logs, threads=1)\n"
        )
        process, terminal = pty.fork()
        if process == 0:
            os.execv(sys.executable, [sys.executable, "-c", self.script(body)])
        written = b""
        with contextlib.suppress(OSError):
            while part := os.read(terminal, 65536):
                written += part
        self.assertEqual(os.waitpid(process, 0)[1], 0)
        self.assertRegex(written.decode(), r"reading \[#* *\] +\d+ %  \d+\.\d of \d+\.\d MB")
        self.assertTrue(written.endswith(b" \r"), written[-80:])

    def test_without_a_terminal_there_is_no_bar(self) -> None:
        from pipetrace.looking import progress

        written = io.StringIO()
        with contextlib.redirect_stderr(written), progress.Progress() as bar:
            bar._begin -= 10
            bar.show("reading", 1, 2)
        self.assertEqual(written.getvalue(), "")


class PlansTest(unittest.TestCase):
    SIZE = ["--ranks", 4, "--micro-batches", 8]

    def test_a_plan_is_that_of_the_command(self) -> None:
        costs = {"forward_ms": 10, "backward_ms": [20, 20, 20, 24]}
        plan = pipetrace.plan("1F1B", 4, 8, costs=costs)
        words = ["plan", "--schedule", "1F1B", *self.SIZE]
        words += ["--forward-ms", 10, "--backward-ms", "20,20,20,24"]
        self.assertEqual(plan.simulate(), json.loads(command(*words, "--json").stdout))
        self.assertEqual(plan.to_csv(), command(*words, "--csv", "-").stdout)
        self.assertEqual(plan.check(), [])
        self.assertEqual(str(plan), command(*words).stdout)
        with tempfile.TemporaryDirectory() as folder:
            command(*words, "-o", f"{folder}/plan.svg")
            drawn = pathlib.Path(folder, "plan.svg").read_text()
        self.assertEqual(plan.chart(), drawn)
        self.assertIn("<svg", plan._repr_html_())
        self.assertIn("<pipetrace.Plan schedule=1F1B, ranks=4, micro-batches=8, ", repr(plan))

    def test_a_plan_that_deadlocks_is_checked(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "stuck.csv")
            path.write_text("0F0,0B0,0F1,0B1\n1F1,1B1,1F0,1B0\n")
            plan = pipetrace.plan(schedule_file=str(path))
            words = ["plan", "--schedule-file", path, "--check", "--json"]
            expected = json.loads(command(*words).stdout)["problems"]
            self.assertEqual(plan.check(), expected)
            self.assertTrue(plan.check())
            with self.assertRaises(pipetrace.Error):
                plan.simulate()

    def test_a_plan_for_torch_has_its_messages(self) -> None:
        plan = pipetrace.plan("ZBV", 4, 8, transfers="in-time")
        words = ["plan", "--schedule", "ZBV", *self.SIZE, "--transfers", "in-time"]
        expected = command(*words, "--csv", "-", "--for", "torch").stdout
        self.assertEqual(plan.to_csv(for_="torch"), expected)

    def test_what_a_plan_exceeds_becomes_a_warning(self) -> None:
        plan = pipetrace.plan("1F1B", 4, 8, costs={"activation_gb": 1}, limit=2)
        with self.assertWarnsRegex(pipetrace.InputWarning, "rank 0"):
            plan.simulate()

    def test_a_comparison_lists_every_schedule(self) -> None:
        words = ["plan", "--compare", *self.SIZE, "--limit-activations", 4]
        expected = json.loads(command(*words, "--json").stdout)
        found = pipetrace.compare(4, 8, limit_activations=4)
        self.assertEqual(found, expected)
        self.assertEqual(len(found), len(expected["plans"]))
        self.assertEqual(str(found), command(*words).stdout)
        self.assertIn(f"of {len(found)} schedules", repr(found))
        self.assertIn("InterleavedZeroBubble", found._repr_html_())

    def test_costs_of_a_run_are_those_of_the_command(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            logs = f"{folder}/logs/"
            pipetrace.plan("1F1B", link="1-2=4ms", scale="rank=1:1.2", **REGULAR).save(logs)
            run = pipetrace.load(logs)
            words = ["plan", "--costs-from", logs, "--json"]
            expected = json.loads(command(*words).stdout)
            self.assertEqual(pipetrace.plan(costs_from=run).simulate(), expected)
            self.assertEqual(pipetrace.plan(costs_from=logs).simulate(), expected)
            expected = json.loads(command("plan", "--compare", *words[1:]).stdout)
            self.assertEqual(pipetrace.compare(costs_from=run), expected)
            with self.assertRaisesRegex(pipetrace.Error, "excludes"):
                pipetrace.plan(costs_from=run, costs={"transfer_ms": 3}).check()


def inputs_of_data() -> list[pathlib.Path]:
    """Whatever is a run there: files, and folders with files of ranks."""
    if not DATA.exists():
        return []
    traces = [
        path for path in DATA.rglob("*") if re.search(r"\.json(\.gz)?$|workerlog\.", path.name)
    ]
    folders = {path.parent for path in traces if path.parent != DATA}
    return sorted(folders | {path for path in traces if path.parent == DATA})


class DataTest(unittest.TestCase):
    def test_reports_of_known_runs_are_those_of_the_command(self) -> None:
        inputs = inputs_of_data()
        if not inputs:
            self.skipTest(f"{DATA} is not there")
        reports = 0
        for path in inputs:
            with self.subTest(str(path.relative_to(DATA))):
                done = command("report", path, "--json")
                try:
                    found = quiet_load(path).report()
                except pipetrace.Error as error:
                    self.assertEqual(done.returncode, 2, error)
                    self.assertIn(str(error).split("\n")[0], done.stderr)
                    continue
                self.assertEqual(found, json.loads(done.stdout))
                reports += 1
        self.assertGreater(reports, len(inputs) // 2)


def main() -> int:
    global PIPE_TRACE
    PIPE_TRACE = os.path.abspath(sys.argv[1])
    os.environ["PIPETRACE_LIBRARY_PATH"] = os.path.abspath(sys.argv[2])
    done = unittest.main(argv=[sys.argv[0], *sys.argv[3:]], exit=False).result
    if not done.wasSuccessful():
        return 1
    return 77 if done.testsRun == len(done.skipped) else 0


if __name__ == "__main__":
    sys.exit(main())
