"""Records a training of DeepSpeed's PipelineEngine: two replicas of two stages, over Gloo.

deepspeed_test.py PIPE_TRACE LIBRARY
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import ranks

os.environ["DS_ACCELERATOR"] = "cpu"
import deepspeed.pipe  # noqa: E402, F401 (the ranks are forks of this process)

PROGRAM = ranks.HERE / "train_deepspeed.py"
STEPS, MICRO_BATCHES = 2, 4


class DeepSpeed(unittest.TestCase):
    def train(self, folder, is_recorded):
        words = [PROGRAM, 2, STEPS]
        done = ranks.run(words, 4, folder, {"NOTES": str(folder)}, is_recorded)
        for rank, (code, output) in enumerate(done):
            self.assertEqual(code, 0, f"rank {rank}: {output}")
            self.assertEqual(ranks.complaints(output), [])
        return [
            [line for line in output.splitlines() if line.startswith("step ")] for _, output in done
        ]

    def test_each_instruction_is_a_job_or_a_message(self):
        with tempfile.TemporaryDirectory() as temporary:
            folder = pathlib.Path(temporary)
            expected = self.train(folder / "plain", False)
            self.assertEqual(len(expected[0]), STEPS)
            recorded = folder / "recorded"
            self.assertEqual(self.train(recorded, True), expected, "losses are the same bits")
            for rank in range(4):
                with self.subTest(rank=rank):
                    notes = json.loads((recorded / f"notes.{rank}.json").read_text())
                    self.check(
                        rank, ranks.Log(recorded / f"pipetrace-logs/workerlog.{rank}"), notes
                    )
            done = subprocess.run(
                [PIPE_TRACE, "report", recorded / "pipetrace-logs"],
                capture_output=True,
                text=True,
                check=True,
            )
            self.assertIn("4 ranks in 2 pipelines, 2 steps", done.stdout)
            self.assertIn("\nschedule: 1F1B (TrainSchedule in the logs), ", done.stdout)
            self.assertNotRegex(done.stdout, ranks.DOUBT)

    def test_ranks_of_its_launcher_are_found(self):
        with tempfile.TemporaryDirectory() as temporary:
            folder = pathlib.Path(temporary)
            launcher = [sys.executable, "-m", "deepspeed.launcher.runner", "--num_gpus", "2"]
            options = ["--no_local_rank", "--master_port", str(ranks.free_ports(1)[0])]
            done = subprocess.run(
                [*launcher, *options, "--module", "pipetrace", PROGRAM, "2", str(STEPS)],
                cwd=folder,
                env={**os.environ, "PYTHONPATH": str(ranks.ROOT / "python"), "NOTES": temporary},
                capture_output=True,
                text=True,
                timeout=240,
            )
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            for rank in range(2):
                log = ranks.Log(folder / f"pipetrace-logs/workerlog.{rank}")
                self.assertEqual((log.meta["rank"], log.meta["world_size"]), (rank, 2))
                self.assertEqual(len(log.of_kind("forward")), STEPS * MICRO_BATCHES)

    def check(self, rank, log, notes):
        stage, replica = divmod(rank, 2)
        self.assertEqual(log.meta["data_parallel_index"], replica)
        self.assertEqual((log.end["dropped"], log.end["errors"]), (0, 0))
        jobs = [job for job in log.jobs if "action" in job]
        left = list(notes)
        for job in jobs:
            inside = [
                n for n in left if job["job_start_time"] < n[2] and n[3] < job["job_end_time"]
            ]
            letter = "F" if job["type"] == "forward" else "B"
            self.assertEqual({(n[0], n[1]) for n in inside}, {(letter, job["micro_batch_id"])})
            self.assertEqual(job["action"], f"{stage}{letter}{job['micro_batch_id']}")
            left = [n for n in left if n not in inside]
        self.assertEqual(left, [], "nothing ran outside of jobs")
        for step in range(STEPS):
            of_step = [job for job in jobs if job["step"] == step]
            self.assertEqual(len(of_step), 2 * MICRO_BATCHES)
            self.assertEqual(len({job["action"] for job in of_step}), 2 * MICRO_BATCHES)
        kinds = (
            ("send_forward", "recv_backward") if stage == 0 else ("recv_forward", "send_backward")
        )
        for kind in kinds:
            messages = log.of_kind(kind)
            of = [job["id"] for job in jobs if job["type"] == kind[5:]]
            self.assertEqual([message["job"] for message in messages], of)
            self.assertEqual({m["peer"] for m in messages}, {2 * (1 - stage) + replica})
            self.assertEqual({m["bytes"] for m in messages}, {64})
        self.assertEqual(len(log.others), 2 * STEPS * MICRO_BATCHES + STEPS)
        self.assertEqual(
            {m["members"] for m in log.of_kind("all_reduce")}, {"0 1" if stage == 0 else "2 3"}
        )
        self.assertEqual([job["step"] for job in log.of_kind("optimizer")], list(range(STEPS)))
        self.assertEqual(len(log.of_kind("data")), STEPS * MICRO_BATCHES)


if __name__ == "__main__":
    PIPE_TRACE, library = sys.argv[1:3]
    os.environ["PIPETRACE_LIBRARY_PATH"] = os.path.dirname(library)
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
