"""Records trainings under torch's own schedules, over Gloo, and compares the logs with them.

pipelines_test.py PIPE_TRACE LIBRARY
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import ranks
import torch.distributed.pipelining  # noqa: F401 (the ranks are forks of this process)

PROGRAM = ranks.HERE / "train_pipeline.py"
RANKS, STEPS, BYTES = 4, 2, 2 * 8 * 4
# What `pipe-trace report` calls them.
NAMES = {
    "GPipe": "FThenB",
    "1F1B": "1F1B",
    "Interleaved1F1B": "Interleaved1F1B",
    "LoopedBFS": "LoopedBFS",
    "InterleavedZeroBubble": "InterleavedZeroBubble",
    "ZBVZeroBubble": "ZBV",
    "DualPipeV": "DualPipeV",
}
PARTS = {"F": ("forward",), "B": ("input", "weight"), "I": ("input",), "W": ("weight",)}


def halves(action):
    """(kind, stage, micro-batch) of an action, or of both halves of a fused pair."""
    if action.startswith("("):
        return [half for part in action[1 : action.index(")")].split(";") for half in halves(part)]
    kind = next(c for c in action if not c.isdigit())
    stage, micro_batch = action.split(kind)
    return [(kind, int(stage), int(micro_batch))]


class Pipelines(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        cls.folder = pathlib.Path(cls.temporary.name)

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    def train(self, name, where, is_recorded, environment=()):
        folder = self.folder / where
        folder.mkdir()
        done = ranks.run(
            [PROGRAM, name, STEPS],
            RANKS,
            folder,
            {"NOTES": str(folder), **dict(environment)},
            is_recorded,
        )
        if "there is no such schedule" in done[0][1]:
            self.skipTest(done[0][1])
        for rank, (code, output) in enumerate(done):
            self.assertEqual(code, 0, f"rank {rank}: {output}")
            self.assertEqual(ranks.complaints(output), [])
        return folder, sorted(
            line
            for _, output in done
            for line in output.splitlines()
            if line.startswith(("losses", "weights"))
        )

    def report(self, folder):
        done = subprocess.run(
            [PIPE_TRACE, "report", "pipetrace-logs"],
            cwd=folder,
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout + done.stderr

    def check(self, name):
        _, expected = self.train(name, name + "-plain", False)
        folder, found = self.train(name, name, True)
        self.assertEqual(found, expected, "losses and weights are the same bits")
        report = self.report(folder)
        self.assertRegex(
            report,
            rf"\nschedule: {NAMES[name]}( \(Schedule\w+ in the logs\))?(\n|, also the order of )",
        )
        self.assertIn("4 ranks, 2 steps, ", report)
        self.assertNotRegex(report, ranks.DOUBT)
        self.assertNotIn("warning", report)
        logs = [ranks.Log(folder / "pipetrace-logs" / f"workerlog.{r}") for r in range(RANKS)]
        notes = [json.loads((folder / f"notes.{r}.json").read_text()) for r in range(RANKS)]
        owners = {s: r for r, note in enumerate(notes) for s in note["stages"]}
        for rank, (log, note) in enumerate(zip(logs, notes)):
            with self.subTest(schedule=name, rank=rank):
                self.assertEqual((log.end["dropped"], log.end["errors"]), (0, 0))
                for step in range(STEPS):
                    self.assertEqual(log.actions(step), note["actions"])
                    of_step = [job["type"] for job in log.jobs if job["step"] == step]
                    self.assertEqual(of_step.count("data"), 1)
                    self.assertEqual((of_step[0], of_step[-1]), ("data", "optimizer"))
                self.check_times(log, note["notes"])
                self.check_messages(log, rank, owners)
        return logs

    def check_times(self, log, notes):
        """What ran in each job, by the program's own clock, ran in its time and in no other's."""
        left = list(notes)
        for job in log.jobs:
            if "action" not in job:
                continue
            wanted = {
                (part, stage, micro_batch)
                for kind, stage, micro_batch in halves(job["action"])
                for part in PARTS[kind]
            }
            inside = [
                note
                for note in left
                if job["job_start_time"] < note[3] and note[4] < job["job_end_time"]
            ]
            self.assertLessEqual({tuple(note[:3]) for note in inside}, wanted)
            left = [note for note in left if note not in inside]
        self.assertEqual(left, [], "nothing ran outside of jobs")
        ends = [(job["job_start_time"], job["job_end_time"]) for job in log.jobs]
        for (_, end), (begin, _) in zip(ends, ends[1:]):
            self.assertLessEqual(end, begin, "jobs do not overlap")

    def check_messages(self, log, rank, owners):
        """Each job has its messages, of the right size, with the right rank, and waits apart."""
        expected = []
        ids = {job["id"]: job for job in log.jobs}
        for job in log.jobs:
            for kind, stage, micro_batch in halves(job["action"]) if "action" in job else ():
                way = {"F": 1, "B": -1, "I": -1}.get(kind)
                if way is None:
                    continue
                word = "forward" if way > 0 else "backward"
                for verb, other in (("recv", stage - way), ("send", stage + way)):
                    if owners.get(other, rank) != rank:
                        expected.append(
                            (f"{verb}_{word}", job["id"], stage, micro_batch, owners[other], BYTES)
                        )
        keys = ("type", "job", "stage", "micro_batch_id", "peer", "bytes")
        found = [tuple(message[key] for key in keys) for message in log.others]
        self.assertEqual(sorted(found), sorted(expected))
        for message in log.others:
            job = ids[message["job"]]
            self.assertEqual(message["step"], job["step"])
            if job["type"] == "forward_backward":
                continue
            if message["stream"] == "recv":
                self.assertLessEqual(message["end_time"], job["job_start_time"])
            else:
                self.assertGreaterEqual(message["start_time"], job["job_end_time"])

    def test_gpipe_is_recorded_job_by_job(self):
        logs = self.check("GPipe")
        self.assertEqual(logs[1].meta["schedule"], "ScheduleGPipe")
        self.assertEqual((logs[1].meta["num_stages"], logs[1].meta["num_chunks"]), (4, 1))

    def test_1f1b_is_recorded_job_by_job(self):
        self.check("1F1B")

    def test_interleaved_1f1b_is_recorded_job_by_job(self):
        logs = self.check("Interleaved1F1B")
        self.assertEqual((logs[1].meta["num_stages"], logs[1].meta["num_chunks"]), (8, 2))
        chunks = {job["stage"]: job["chunk"] for job in logs[1].jobs if "stage" in job}
        self.assertEqual(chunks, {1: 0, 5: 1})

    def test_looped_bfs_is_recorded_job_by_job(self):
        self.check("LoopedBFS")

    def test_interleaved_zero_bubble_is_recorded_job_by_job(self):
        self.check("InterleavedZeroBubble")

    def test_zbv_is_recorded_job_by_job(self):
        if ranks.is_older(2, 10):
            self.skipTest("this torch cannot run it over Gloo")
        self.check("ZBVZeroBubble")

    def test_dualpipev_is_recorded_with_its_fused_pairs(self):
        logs = self.check("DualPipeV")
        self.assertTrue(logs[0].of_kind("forward_backward"))


if __name__ == "__main__":
    PIPE_TRACE, library = sys.argv[1:3]
    os.environ["PIPETRACE_LIBRARY_PATH"] = os.path.dirname(library)
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
