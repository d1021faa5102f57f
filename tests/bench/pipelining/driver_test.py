#!/usr/bin/env python3
"""Tests of compare_with_torch.py with programs that only pretend to train."""

import contextlib
import io
import json
import math
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
from ratios import median_interval  # noqa: E402
from report import OURS, TORCH, print_report  # noqa: E402

# Behaves as the environment says: the same text is both the program and the other Python.
FAKE = f"""#!{sys.executable}
import json, os, sys, time
side = os.path.basename(sys.argv[0])
case = json.loads(os.environ["FAKE"])[side]
if sys.argv[1] == "-c":
    if "no torch" in case: sys.exit("ModuleNotFoundError: No module named 'torch'")
    print("2.11.0")
    sys.exit()
rank = int(os.environ["RANK"])
if "pids" in case:
    with open(os.path.join(case["pids"], str(os.getpid())), "w"): pass
if case.get("hangs") == rank: time.sleep(60)
if case.get("dies") == rank: sys.exit("no memory left")
if "--log-dir" in sys.argv:
    folder = sys.argv[sys.argv.index("--log-dir") + 1]
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, f"workerlog.{{rank}}"), "w"): pass
print("some output")
print(json.dumps(dict(rank=rank, torch=case.get("torch", "2.11.0"), cpu_ms=1.5, schedule="1F1B",
                      step_ms=case["ms"], losses=case["losses"] if rank == 3 else [])))
"""
GOOD = {"ms": [10.0, 30.0, 20.0], "losses": [1.5, 1.25]}
SLOWER = {"ms": [50.0, 30.0, 40.0], "losses": [1.5, 1.25]}


class DriverTest(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)
        for name in ("ours", "theirs"):
            (self.folder / name).write_text(FAKE)
            (self.folder / name).chmod(0o755)
        self.pids = self.folder / "pids"
        self.pids.mkdir()

    def start(self, ours=GOOD, theirs=SLOWER, more=()):
        command = [sys.executable, "-B", str(HERE / "compare_with_torch.py"),
                   "--program", str(self.folder / "ours"), "--python", str(self.folder / "theirs"),
                   "--pairs", "1", "--only", "mlp", "--v", "1", *more]
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                env={**os.environ, "FAKE": json.dumps({"ours": ours, "theirs": theirs})})

    def finish(self, driver, code):
        out, err = driver.communicate(timeout=60)
        self.assertEqual(driver.returncode, code, out + err)
        return out, err

    def compare(self, code, *args, **kwargs):
        return self.finish(self.start(*args, **kwargs), code)

    def assert_no_rank_is_left(self):
        left = [int(pid.name) for pid in self.pids.iterdir()]
        end = time.monotonic() + 10
        while left and time.monotonic() < end:
            left = [pid for pid in left if pathlib.Path(f"/proc/{pid}").exists()]
            time.sleep(0.02)
        self.assertEqual(left, [])

    def wait_for_ranks(self):
        end = time.monotonic() + 30
        while len(list(self.pids.iterdir())) < 4 and time.monotonic() < end:
            time.sleep(0.02)
        self.assertEqual(len(list(self.pids.iterdir())), 4)

    def test_the_ratio_is_that_of_the_median_steps(self):
        out, _ = self.compare(0, more=["--pairs", "2"])
        self.assertIn("goal 1.25\n", out)  # too few pairs to say
        self.assertIn("steps/s 50.000, torch 25.000: ratio 2.000, 95 % interval 2.000 to 2.000", out)
        self.assertIn("processor time a step, all ranks: 6 ms, torch 6 ms", out)
        self.assertIn("losses equal up to rounding, steps: 2", out)

    def test_every_second_pair_begins_with_torch(self):
        rows = self.folder / "rows"
        self.compare(0, more=["--pairs", "2", "--out", str(rows)])
        sides = [json.loads(line)["side"] for line in rows.read_text().splitlines()]
        self.assertEqual(sides, ["PipeTrace", "torch", "torch", "PipeTrace"])

    def test_losses_that_differ_by_more_than_rounding_are_found(self):
        out, _ = self.compare(0, theirs=dict(SLOWER, losses=[1.5, math.nextafter(1.25, 2)]))
        self.assertIn("losses equal", out)
        other = dict(SLOWER, losses=[1.5, 1.25001])
        out, _ = self.compare(1, theirs=other)
        self.assertIn("losses DIFFER: mlp, v = 1: first at step 1: 1.25, torch 1.25001", out)
        self.assertNotIn("losses equal", out)
        out, _ = self.compare(1, theirs=dict(SLOWER, losses=[1.5]))
        self.assertIn("2 losses, torch 1", out)

    def test_what_is_missing_is_named(self):
        _, err = self.compare(2, theirs={"no torch": True})
        self.assertIn("cannot import torch.distributed.pipelining: ModuleNotFoundError", err)
        self.assertIn("--help", err)
        _, err = self.compare(2, more=["--python", str(self.folder / "no-python")])
        self.assertIn("cannot import torch.distributed.pipelining", err)
        _, err = self.compare(2, more=["--program", str(self.folder / "no-program")])
        self.assertIn("no-program", err)
        _, err = self.compare(2, theirs=dict(SLOWER, torch="2.10.1+cu130"))
        self.assertIn("LibTorch 2.11.0", err)
        self.assertIn("torch 2.10.1", err)
        _, err = self.compare(2, more=["--pairs", "-1"])
        self.assertIn("no whole number from 0 on", err)

    def test_a_profile_is_a_run_of_our_side_with_logs(self):
        only_profile = ["--pairs", "0", "--profile", str(self.folder / "logs")]
        out, _ = self.compare(0, theirs={"no torch": True}, more=only_profile)
        self.assertIn(f"pipe-trace report {self.folder}/logs/mlp-v1", out)
        for rank in range(4):
            self.assertTrue((self.folder / f"logs/mlp-v1/workerlog.{rank}").exists())
        _, err = self.compare(2, more=only_profile)
        self.assertIn("holds logs of an earlier run", err)

    def test_a_rank_that_dies_is_named_and_ends_the_others(self):
        dying = dict(GOOD, dies=2, hangs=0, pids=str(self.pids))
        _, err = self.compare(2, ours=dying)
        self.assertIn("rank 2 ended with exit code 1\nno memory left", err)
        self.assert_no_rank_is_left()

    def test_a_rank_that_hangs_is_named(self):
        _, err = self.compare(2, theirs=dict(SLOWER, hangs=1, pids=str(self.pids)),
                              more=["--timeout", "1"])
        self.assertIn("rank 1 still ran after 1 s", err)
        self.assert_no_rank_is_left()

    def test_signals_end_the_ranks(self):
        for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 130), (signal.SIGKILL, -9)):
            with self.subTest(number):
                driver = self.start(ours=dict(GOOD, hangs=3, pids=str(self.pids)))
                self.wait_for_ranks()
                driver.send_signal(number)
                self.finish(driver, code)
                self.assert_no_rank_is_left()
                for pid in self.pids.iterdir():
                    pid.unlink()


class ReportTest(unittest.TestCase):
    def report(self, ours_ms, torch_ms, pairs):
        rows = {OURS: ours_ms, TORCH: torch_ms}
        pair = {side: {"ms": ms, "cpu_ms": 1.0, "schedule": "1F1B", "losses": [1.0]}
                for side, ms in rows.items()}
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            print_report({("mlp", 1): [pair] * pairs}, [], has_goals=True)
        return out.getvalue()

    def test_goals_are_judged_by_ten_pairs_and_more(self):
        self.assertIn("ratio 1.250, 95 % interval 1.250 to 1.250; goal 1.25: reached\n",
                      self.report(100.0, 125.0, 10))
        self.assertIn("goal 1.25: MISSED\n", self.report(100.0, 124.0, 10))
        self.assertIn("(rough: 9 of them); goal 1.25\n", self.report(100.0, 124.0, 9))


class MedianIntervalTest(unittest.TestCase):
    def test_it_is_that_of_the_exact_distribution(self):
        # A resample's median is at most the k-th of n values if at least half of its n draws are:
        # a binomial probability.
        n = 15

        def at_most(k):
            return sum(math.comb(n, i) * (k / n)**i * (1 - k / n)**(n - i)
                       for i in range((n + 1) // 2, n + 1))

        median, low, high = median_interval([float(k) for k in range(1, n + 1)])
        self.assertEqual(median, 8.0)
        for bound, share in ((low, 0.025), (high, 0.975)):
            self.assertLess(at_most(bound - 1), share + 0.005)
            self.assertGreater(at_most(bound), share - 0.005)
        self.assertLess(at_most(low - 2), 0.01)
        self.assertGreater(at_most(high + 1), 0.99)


if __name__ == "__main__":
    unittest.main()
