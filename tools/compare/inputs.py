"""All cases of a comparison, from the folders of data, the demo's logs and random runs."""

import os
import pathlib
import random
import subprocess

from . import fixed_commands, plan_commands, random_logs, random_traces, run_commands
from .case import Case

TRACES = (".json", ".json.gz", ".pftrace", ".sqlite", ".log", ".ring", ".csv")


def of_trace_name(name):
    return name.startswith("workerlog.") or name.endswith(TRACES)


def data_cases(folder, seen_as):
    """Cases of a folder of data: each file and each folder with files in it, by itself."""
    cases, at = [], random.Random(str(seen_as))
    for where, folders, names in os.walk(folder):
        folders.sort()
        inside = pathlib.Path(where).relative_to(folder)
        shown = seen_as if str(inside) == "." else f"{seen_as}/{inside}"
        traces = [name for name in sorted(names) if of_trace_name(name)]
        plans = [name for name in traces if name.endswith(".csv")]
        for name in traces:
            path = f"{shown}/{name}"
            if name in plans:
                cases += plan_commands.file_plans(path, path, at)
            elif not name.startswith("workerlog.") or name.endswith(".ring"):
                cases += run_commands.on_input(path, [path], at)
        if len(traces) > len(plans):
            cases += run_commands.on_input(f"{shown}/", [shown], at)
        logs = [name for name in traces if name.removeprefix("workerlog.").isdigit()]
        if logs:
            cases += run_commands.on_logs(f"{shown}/", shown, len(logs), at, "flat", True,
                                          pathlib.Path(where))
    return cases


class Inputs:
    """Makes the inputs of a comparison in `folder`, which the programs see as ../inputs."""

    def __init__(self, folder, before, seed):
        self.folder, self.before, self.seed = folder, before, seed
        (folder / "kinds.json").write_text(run_commands.KINDS)

    def given(self, paths, name):
        cases = []
        for n, path in enumerate(paths):
            (self.folder / f"{name}{n}").symlink_to(pathlib.Path(path).resolve())
            cases += data_cases(self.folder / f"{name}{n}", f"../inputs/{name}{n}")
        return cases

    def plain_logs(self):
        """A small whole run for the fixed commands, always the same."""
        self.run_before("plan", "--schedule", "1F1B", "--stages", "2", "--micro-batches", "3",
                        "--steps", "2", "--transfers", "1", "-o", "plain/")
        self.run_before("plain", "-q", "-o", "plain.json")
        return fixed_commands.fixed_cases("../inputs/plain", self.folder)

    def random_run(self, n):
        at = random.Random(f"{self.seed} run {n}")
        name = f"run{n}"
        run = random_logs.write_run(at, self.folder / name)
        shown, source = f"../inputs/{run.name}", f"random run {n}"
        cases = run_commands.on_input(source, [shown], at, how_many=7, picture=n % 2 == 0,
                                      pp=run.pp, chunks=run.chunks)
        cases += run_commands.on_logs(source, shown, run.ranks, at, run.layout, run.whole, run.folder)
        for ending in at.sample(["json", "pftrace", "sqlite"], 2):
            switches = at.choice([[], [], ["--no-bubbles"], ["--absolute-time"], ["--no-flows"]])
            profile = f"{name}.{ending}"
            self.run_before(run.name, "-q", "-o", profile, *switches)
            if (self.folder / profile).exists():
                cases += run_commands.on_profile(f"{source} as {ending}", f"../inputs/{profile}", at)
        cases += self.random_trace(n, at, shown)
        return cases

    def random_trace(self, n, at, logs):
        """A trace of another program, a PipelineLogger file or a log for --pattern, in turn."""
        path = f"../inputs/trace{n}.json"
        write = random_traces.write_chrome if n % 3 else random_traces.write_pipeline_logger
        write(at, self.folder / f"trace{n}.json")
        cases = run_commands.on_input(f"random trace {n}", [path], at, how_many=3, picture=False)
        if n % 5 == 0:
            cases += [run_commands.on(f"random run and trace {n}", [logs, path], options, "several")
                      for options in (run_commands.PROFILES, ["info"])]
            beside = {"in": self.folder / f"run{n}", "in/a.json": self.folder / f"trace{n}.json",
                      "in/b.json": self.folder / "plain.json"}
            cases += [Case("several", f"random run {n} with traces in its folder", "pipe-trace",
                           ["in", *options], copies=beside)
                      for options in (["-o", "in/b.json", "-o", "p.sqlite"], ["-o", "in/a.json"])]
        if n % 4 == 0:
            random_traces.write_pattern_log(at, self.folder / f"any{n}.log")
            pattern = ["--pattern", random_traces.PATTERN, "--time-unit", "s"]
            cases += [Case("pattern", f"random log {n}", "pipe-trace",
                           [*command, f"../inputs/any{n}.log", *pattern])
                      for command in (["-o", "p.json", "-o", "p.csv"], ["info"], ["show"])]
        return cases

    def random_plans(self, how_many):
        at = random.Random(f"{self.seed} plans")
        listed = self.run_before("plan", "--list").stdout.decode(errors="replace")
        names = [line.split()[0] for line in listed.splitlines() if line[:1].strip()]
        cases = plan_commands.random_plans(at, names, how_many) if names else []
        for n in range(how_many // 4):
            made = self.run_before("plan", "--schedule", at.choice(["1F1B", "ZBV", "DualPipe", "GPipe"]),
                                   "--stages", "4", "--micro-batches", "8", "--csv", "-")
            text = plan_commands.damaged(at, made.stdout.decode())
            (self.folder / f"plan{n}.csv").write_text(text)
            cases += plan_commands.file_plans(f"damaged plan {n}", f"../inputs/plan{n}.csv", at, 3)
        return cases

    def run_before(self, *args):
        return subprocess.run([self.before / "pipe-trace", *args], cwd=self.folder,
                              stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=300)
