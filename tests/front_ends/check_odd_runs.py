#!/usr/bin/env python3
"""Converts runs that are hard to draw, and checks every profile in Perfetto and Catapult.

use: check_odd_runs.py PIPE_TRACE [--run LOGS]... [--screenshots FOLDER] [--only NAME]

Checks that pipe-trace finds the jobs that odd_runs.py wrote. Checks that both front ends load the
JSON, and Perfetto the protobuf, without error, data loss or warning. They must show as many slices,
arrows and counter samples as `pipe-trace info`, and all names and lengths. Checks lint.py's rules.
LOGS: the logs of a real run to check as well.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

from check_profile import findings, what_was_said
from lint import lint
from odd_runs import Run, write_odd_runs
from viewers import FrontEnds

ASK = ["select distinct name as text from slice",
       "select sum(dur) as text from slice where category is null or category != 'bubble'",
       "select distinct string_value as text from args where string_value is not null"]
OF_THE_CLOCK = ("overlapping", "touching", "one rank")  # written with --absolute-time as well
SEEN = ("overlapping", "odd names")  # drawn as pictures; check_profile.py draws the real runs


def pipe_trace(program, *arguments):
    done = subprocess.run([program, *map(str, arguments)], capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"pipe-trace {arguments}: exit code {done.returncode}\n{done.stderr}")
    return done.stdout


class Profile:
    """One run in one format."""

    def __init__(self, run, program, folder, ending, *options):
        self.run, self.ending = run, ending
        self.path = folder / (run.name + "".join(options) + ending)
        # Some are so odd that figures would mean nothing; --force makes that no error.
        self.said = what_was_said(pipe_trace(program, run.logs, *options, "--force", "-o", self.path),
                                  self.path)
        self.info = json.loads(pipe_trace(program, "info", self.path, "--json"))
        self.wrong = []
        slices = sum(self.said[what] for what in ("jobs", "transfers", "others", "bubbles"))
        self.expect("jobs", self.said["jobs"], run.jobs)
        self.expect("transfers and other events", self.said["transfers"] + self.said["others"],
                    run.transfers)
        self.expect("counter samples", self.said["counters"], run.counters)
        self.expect("info's events", self.info["events"], slices)
        self.expect("info's arrows", self.info["flows"], self.said["arrows"])
        self.expect("info's counter samples", self.info["counters"], run.counters)
        self.expect("info's diagnostics", [d["message"] for d in self.info["diagnostics"]
                                           if d["severity"] != "note"], [])

    def expect(self, what, got, want):
        if want is not None and got != want:  # None: not counted
            self.wrong.append(f"{what}: {got}, expected {want}")

    def check_file(self):
        counts, sentences = lint(self.path.read_bytes())
        self.wrong += sentences
        self.expect("slices in the file", counts.get("slices"), self.info["events"])
        self.expect("arrows in the file", counts.get("flows", 0), self.info["flows"])
        self.expect("samples in the file", counts.get("counters", 0), self.info["counters"])

    def as_shown(self, text):
        """Perfetto v52 undoes the escapes of a JSON string only if there is a quote among them."""
        if self.ending != ".json" or '"' in text:
            return text
        text = json.dumps(text, ensure_ascii=False)[1:-1].replace("\x7f", "\\u007f")
        return text[:-2] + "\\u005c" if text.endswith("\\\\") else text

    def check(self, perfetto, catapult):
        self.wrong += findings(self.said, perfetto, catapult)
        if perfetto["error"]:
            return
        names, lengths, strings = [[row["text"] for row in rows] for rows in perfetto["answers"]]
        shown = self.as_shown
        self.expect("names lost", {shown(name) for name in self.run.names} - set(names), set())
        self.expect("arguments lost", {shown(text) for text in self.run.strings} - set(strings),
                    set())
        self.expect("sum of all lengths", lengths[0], self.run.length_ns)
        if catapult and not catapult["error"]:
            self.expect("titles lost", self.run.names - set(catapult["titles"]), set())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pipe_trace")
    parser.add_argument("--run", type=pathlib.Path, action="append", default=[])
    parser.add_argument("--screenshots", type=pathlib.Path)
    parser.add_argument("--only")
    options = parser.parse_args()
    if options.screenshots:
        options.screenshots.mkdir(parents=True, exist_ok=True)

    def shot(profile, viewer):
        if not options.screenshots or profile.run.name not in SEEN:
            return None
        return options.screenshots / f"{profile.path.name} in {viewer}.png"

    with tempfile.TemporaryDirectory() as folder, FrontEnds() as viewers:
        runs = [run for run in write_odd_runs(pathlib.Path(folder) / "logs")
                if options.only in (None, run.name)]
        runs += [Run(f"real run {logs.name}", logs, None, None, None, None) for logs in options.run]
        profiles = [Profile(run, options.pipe_trace, pathlib.Path(folder), ending)
                    for run in runs for ending in (".json", ".pftrace")]
        profiles += [Profile(run, options.pipe_trace, pathlib.Path(folder), ending,
                             "--absolute-time")
                     for run in runs if run.name in OF_THE_CLOCK for ending in (".json", ".pftrace")]
        in_perfetto = [viewers.perfetto(p.path, shot(p, "perfetto"), ASK) for p in profiles]
        for profile, perfetto in zip(profiles, in_perfetto):
            catapult = None
            if profile.ending == ".json":
                profile.check_file()
                catapult = viewers.catapult(profile.path, shot(profile, "catapult"))
            profile.check(perfetto, catapult)
            print("WRONG" if profile.wrong else "ok   ", profile.path.name, profile.said)
            for sentence in profile.wrong:
                print("     ", sentence)
    if not profiles:
        raise SystemExit(f"there is no run {options.only}")
    return 1 if any(profile.wrong for profile in profiles) else 0


if __name__ == "__main__":
    sys.exit(main())
