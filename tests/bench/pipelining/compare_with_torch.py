#!/usr/bin/env python3
"""Trains the same models with PipeTrace and with torch.distributed.pipelining, in turn.

Each run has four processes of one thread over Gloo on this machine: 8 layers, 8 micro-batches, mean
squares, SGD. `mlp` has layers of Linear 1024 and ReLU with micro-batches of 32 rows. `xfmr` has
encoder layers (256, 4 heads, ff 1024, no dropout) with micro-batches of 4 x 64 tokens.

A pair is one run of each side, and every second pair begins with torch. A run counts with the median
of its steps, each timed from a barrier to the next one. A pair's ratio is that of its steps per
second. The median of all pairs' ratios is printed with its 95 % bootstrap interval.

The losses of all steps must be equal, up to rounding (1e-6 of the loss). Both sides start from the
same bits and run the same operators of one LibTorch. Both add up the gradients in the order of the
micro-batches; PipeTrace adds those of linear layers straight into the sum, which rounds differently.

The other Python needs torch of the version that the program is linked with:
python3 -m venv torch-venv && torch-venv/bin/pip install torch==2.11.0 numpy

Exit codes: 0 done; 1 losses differ; 2 could not run; 130 stopped by a signal.
"""

import argparse
import datetime
import json
import math
import os
import pathlib
import platform
import re
import shutil
import signal
import statistics
import subprocess
import sys

sys.dont_write_bytecode = True
from rank_processes import RankFailed, free_ports, run_ranks  # noqa: E402
from report import OURS, TORCH, print_report  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
PROGRAM = HERE.parents[2] / "build/all/bin/pipelining_bench"
RANKS = 4
ROUNDING = 1e-6  # of a loss
SCHEDULES = {1: "1F1B", 2: "Interleaved1F1B"}
CHECK = "import torch, torch.distributed.pipelining; print(torch.__version__)"


class CannotCompare(Exception):
    """Something is missing: exit code 2."""


def at_least(least):
    def number(text):
        if not text.isdecimal() or int(text) < least:
            raise argparse.ArgumentTypeError(f"{text} is no whole number from {least} on")
        return int(text)
    return number


def options():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", metavar="N", type=at_least(0), default=15,
                        help="pairs of runs (default: 15; 0: only --profile)")
    parser.add_argument("--steps", metavar="N", type=at_least(1), default=15,
                        help="measured steps of a run (default: 15)")
    parser.add_argument("--warm", metavar="N", type=at_least(0), default=3,
                        help="steps before those (default: 3)")
    parser.add_argument("--only", choices=("mlp", "xfmr"), help="default: both models")
    parser.add_argument("--v", metavar="N", type=int, nargs="+", choices=SCHEDULES, default=[1, 2],
                        help="stages of a rank (default: 1 and 2)")
    parser.add_argument("--schedule", metavar="NAME", help="default: 1F1B, with 2 stages a rank "
                                                           "Interleaved1F1B")
    parser.add_argument("--program", metavar="FILE", type=pathlib.Path, default=PROGRAM,
                        help="pipelining_bench (default: that of the preset all)")
    parser.add_argument("--python", metavar="FILE", default="python3",
                        help="a Python that has torch (default: %(default)s)")
    parser.add_argument("--profile", metavar="FOLDER", type=pathlib.Path,
                        help="afterwards run our side once more, and write its job logs there")
    parser.add_argument("--out", metavar="FILE", type=pathlib.Path,
                        help="append every run to it, a line of JSON each")
    parser.add_argument("--timeout", metavar="SECONDS", type=at_least(1), default=300,
                        help="of a run (default: 300)")
    for name in ("width", "rows", "tokens"):
        parser.add_argument(f"--{name}", metavar="N", type=at_least(1),
                            help="of other models, for tests")
    chosen = parser.parse_args()
    if chosen.pairs == 0 and chosen.profile is None:
        parser.error("--pairs 0 leaves nothing to do without --profile")
    return chosen


def machine():
    """What the figures were measured on."""
    names = re.findall(r"^model name\s*:\s*(.*)", pathlib.Path("/proc/cpuinfo").read_text(), re.M)
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return (f"{datetime.date.today()}, {names[0] if names else platform.machine()}, "
            f"{len(os.sched_getaffinity(0))} cores, {memory:.0f} GiB")


def load():
    return os.getloadavg()[0]


class Comparison:
    def __init__(self, chosen):
        self.chosen, self.differences = chosen, []
        models = [chosen.only] if chosen.only else ["mlp", "xfmr"]
        self.cases = [(model, v) for model in models for v in sorted(set(chosen.v))]
        self.pairs = {case: [] for case in self.cases}

    def check_parts(self):
        program = self.chosen.program.resolve()
        if not os.access(program, os.X_OK):
            raise CannotCompare(f"no program {program}; build pipelining_bench with the preset all "
                                "or runtime, or name it with --program")
        if self.chosen.profile and any(self.chosen.profile.glob("*/workerlog.*")):
            raise CannotCompare(f"{self.chosen.profile} holds logs of an earlier run; remove them "
                                "or name another folder with --profile")
        if self.chosen.pairs > 0:
            self.check_python()

    def check_python(self):
        python = self.chosen.python
        if shutil.which(python) is None:
            raise CannotCompare(f"{python} cannot import torch.distributed.pipelining: there is no "
                                "such program; name another one with --python")
        done = subprocess.run([python, "-c", CHECK], capture_output=True, text=True)
        if done.returncode != 0:
            last = (done.stderr.strip() or "it printed nothing").splitlines()[-1]
            raise CannotCompare(f"{python} cannot import torch.distributed.pipelining: {last}\n"
                                "torch-venv/bin/python of --help can")
        print(f"torch {done.stdout.strip()} of {python}")

    def command(self, side, model, v):
        chosen, port = self.chosen, free_ports(2)
        command = [str(chosen.program.resolve()), "--barrier-port", str(port[1])] if side == OURS \
            else [chosen.python, "-B", str(HERE / "torch_pipeline.py")]
        command += ["--model", model, "--v", str(v), "--schedule",
                    chosen.schedule or SCHEDULES[v], "--steps", str(chosen.steps),
                    "--warm", str(chosen.warm)]
        for name in ("width", "rows", "tokens"):
            if getattr(chosen, name):
                command += [f"--{name}", str(getattr(chosen, name))]
        return command, port[0]

    def run(self, side, model, v):
        command, port = self.command(side, model, v)
        before = load()
        ranks = run_ranks(command, RANKS, port, self.chosen.timeout)
        last = next((rank for rank in ranks if rank["losses"]), None)
        if last is None:
            raise CannotCompare(f"{command[0]}: no rank printed a loss")
        row = {"side": side, "model": model, "v": v, "schedule": last["schedule"],
               "torch": last["torch"].split("+")[0], "ms": statistics.median(last["step_ms"]),
               "cpu_ms": sum(rank["cpu_ms"] for rank in ranks), "losses": last["losses"],
               "step_ms": last["step_ms"], "load": [before, load()]}
        if self.chosen.out:
            with self.chosen.out.open("a") as file:
                file.write(json.dumps(row) + "\n")
        return row

    def run_pair(self, number, model, v):
        sides = (OURS, TORCH) if number % 2 == 0 else (TORCH, OURS)
        pair = {side: self.run(side, model, v) for side in sides}
        ours, peer = pair[OURS], pair[TORCH]
        if ours["torch"] != peer["torch"]:
            raise CannotCompare(f"{self.chosen.program} is linked with LibTorch {ours['torch']}, "
                                f"{self.chosen.python} has torch {peer['torch']}")
        self.compare_losses(ours, peer)
        self.pairs[model, v].append(pair)
        print(f"pair {number + 1}, {model}, v = {v}: {ours['ms']:.1f} ms a step, torch "
              f"{peer['ms']:.1f}; load {load():.1f}", file=sys.stderr)

    def compare_losses(self, ours, peer):
        if len(ours["losses"]) == len(peer["losses"]) and all(
                math.isclose(a, b, rel_tol=ROUNDING)
                for a, b in zip(ours["losses"], peer["losses"])):
            return
        where = f"{ours['model']}, v = {ours['v']}"
        if len(ours["losses"]) != len(peer["losses"]):
            text = f"{len(ours['losses'])} losses, torch {len(peer['losses'])}"
        else:
            step, (a, b) = next((i, both) for i, both in
                                enumerate(zip(ours["losses"], peer["losses"]))
                                if not math.isclose(*both, rel_tol=ROUNDING))
            text = f"first at step {step}: {a!r}, torch {b!r}"
        print(f"losses DIFFER: {where}: {text}", file=sys.stderr)
        self.differences.append(((ours["model"], ours["v"]), f"{where}: {text}"))

    def profile(self):
        for model, v in self.cases:
            folder = self.chosen.profile.resolve() / f"{model}-v{v}"
            command, port = self.command(OURS, model, v)
            run_ranks([*command, "--log-dir", str(folder)], RANKS, port, self.chosen.timeout)
            print(f"where a step of {model}, v = {v}, goes: pipe-trace report {folder}")


def run(comparison):
    chosen = comparison.chosen
    print(f"{machine()}, load {load():.2f}")
    if load() > 0.5:
        print("note: other programs run on this machine, so the figures are rough")
    comparison.check_parts()
    try:
        for number in range(chosen.pairs):
            for model, v in comparison.cases:
                comparison.run_pair(number, model, v)
    finally:  # what there is, also when a later run fails or is stopped
        has_goals = not any((chosen.width, chosen.rows, chosen.tokens, chosen.schedule))
        print_report(comparison.pairs, comparison.differences, has_goals)
    if chosen.profile:
        comparison.profile()
    return 1 if comparison.differences else 0


def stop(number, _frame):
    raise KeyboardInterrupt(signal.Signals(number).name)


def main():
    sys.stdout.reconfigure(line_buffering=True)
    comparison = Comparison(options())
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, stop)
    try:
        return run(comparison)
    except (CannotCompare, RankFailed, OSError) as error:
        print(f"compare_with_torch: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt as error:
        print(f"compare_with_torch: stopped by {error}", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
