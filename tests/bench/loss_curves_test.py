#!/usr/bin/env python3
"""tools/loss_curves.py and tools/schedule_losses.py, on outputs whose means are known."""
import pathlib
import subprocess
import sys
import tempfile
import unittest
import xml.dom.minidom

TOOL = pathlib.Path(__file__).resolve().parents[2] / "tools" / "loss_curves.py"


class LossCurves(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def output(self, name, losses, speed):
        path = pathlib.Path(self.folder.name, name)
        lines = [f"step {i} loss {loss}, {speed} tokens/s" for i, loss in enumerate(losses)]
        path.write_text("\n".join([*lines, "mean loss of the first 10 steps 9"]))
        return str(path)

    def run_tool(self, *more):
        return subprocess.run([sys.executable, TOOL, *more], capture_output=True, text=True)

    def test_means_of_20_steps_are_compared_with_those_of_the_first_training(self):
        # All 2. The other has 2.4 in step 20 alone: a mean of 20 steps is 2.02 from then on.
        first = self.output("fp32.log", [2] * 22, 100)
        other = self.output("bf16.log", [2] * 20 + [2.4, 2], 150)
        done = self.run_tool(first, other)
        self.assertEqual(done.stdout, "fp32: 22 steps, at most +0.00 % at step 19, +0.00 % at the "
                                      "end, 100 a second\n"
                                      "bf16: 22 steps, at most +1.00 % at step 20, +1.00 % at the "
                                      "end, 150 a second\n")

    def test_the_picture_has_two_lines_for_each_training(self):
        picture = str(pathlib.Path(self.folder.name, "a.svg"))
        self.run_tool(self.output("a.log", [3] * 30, 1), self.output("b.log", [2] * 30, 1), "--svg",
                      picture)
        drawn = xml.dom.minidom.parse(picture)
        lines = [line.getAttribute("points").split() for line in
                 drawn.getElementsByTagName("polyline")]
        self.assertEqual([len(points) for points in lines], [30, 11, 30, 11])

    def test_an_output_without_enough_steps_is_refused(self):
        done = self.run_tool(self.output("short.log", [2] * 19, 1))
        self.assertEqual(done.returncode, 1)
        self.assertIn("short.log has fewer than 20 lines of steps", done.stderr)


class ScheduleLosses(unittest.TestCase):
    # Programs in place of the samples: only PipeDream has other losses than the rest.
    PROGRAM = """#!/bin/sh
case "$*" in *"--schedule PipeDream "*) loss=1.5 ;; *) loss=2 ;; esac
for step in $(seq 0 19); do echo "step $step loss $loss"; done
"""

    PIPE_TRACE = """#!/bin/sh
echo 'FThenB                 all forwards
                       chunks per rank: 1
ZBV                    V-shaped
                       chunks per rank: 2; splits the backward
LoopedBFS              breadth-first
                       chunks per rank: 1 or more, usually 2
DualPipe               both directions
                       chunks per rank: 1; splits the backward
PipeDream              no flush
                       chunks per rank: 1; asynchronous
ForwardOnly            evaluation
                       chunks per rank: 1 or more, usually 1; forwards only
auto                   a search
                       chunks per rank: 1 or more, usually 1; splits the backward'
"""

    def test_schedules_with_other_losses_have_a_line_of_their_own(self):
        with tempfile.TemporaryDirectory(suffix=" with a space") as folder:
            for sample in ("gpipe-mlp", "char-transformer"):
                program = pathlib.Path(folder, f"sample-{sample}")
                program.write_text(self.PROGRAM)
                program.chmod(0o755)
            program = pathlib.Path(folder, "pipe-trace")
            program.write_text(self.PIPE_TRACE)
            program.chmod(0o755)
            done = subprocess.run(
                [sys.executable, TOOL.with_name("schedule_losses.py"), "--bin", folder, "--logs",
                 folder, "--out", folder], capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("| `sample-gpipe-mlp` | ZBV | 2 | 0.0000 | 2.0000 |", done.stdout)
            self.assertIn("| `sample-gpipe-mlp` | LoopedBFS | 2 | 0.0000 | 2.0000 |", done.stdout)
            self.assertNotIn("ForwardOnly", done.stdout)
            self.assertIn("| `sample-char-transformer` | PipeDream | 4 | 0.5000 | 1.5000 |",
                          done.stdout)
            picture = pathlib.Path(folder, "losses-gpipe-mlp.svg").read_text()
        self.assertIn(">one process, and 4 schedules</text>", picture)
        self.assertIn(">PipeDream, 4 ranks</text>", picture)
        self.assertNotIn("DualPipe", picture)


if __name__ == "__main__":
    unittest.main()
