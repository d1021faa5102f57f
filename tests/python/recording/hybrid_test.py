"""Records trainings with tensor parallelism and FSDP2, of torch and of Megatron-core, over Gloo.

hybrid_test.py PIPE_TRACE LIBRARY torch|megatron. The programs are those of
../shared/tools/hybrid_trainings. torch.profiler records the same steps, in which the programs put a
range around each job: the jobs of the logs are compared with these.
"""

import collections
import csv
import gzip
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import unittest

import ranks
import torch.distributed.fsdp  # noqa: F401 (the ranks are forks of this process)
import torch.distributed.pipelining  # noqa: F401
import torch.distributed.tensor.parallel  # noqa: F401
import torch.profiler  # noqa: F401

PROGRAMS = ranks.SHARED / "tools" / "hybrid_trainings"
TORCH, MEGATRON = PROGRAMS / "torch_pp_tp_fsdp.py", PROGRAMS / "megatron_pp_tp.py"
JOB = re.compile(r"PP:(\d+[FBIW]\d+)")
NEAR_NS = 1_000_000  # most are: what runs between the range and the job may lose the processor


class Trainings(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)

    def train(self, program, size, where, is_recorded, environment):
        done = ranks.run(
            program if isinstance(program, list) else [program],
            size,
            self.folder / where,
            {"OUT": "traces", "BASE_MS": "1", "MB": "4", **environment},
            is_recorded,
        )
        for rank, (code, output) in enumerate(done):
            self.assertEqual(code, 0, f"rank {rank}: {output}")
            self.assertEqual(ranks.complaints(output), [])
        lines = [line for _, output in done for line in output.splitlines()]
        return [re.sub(r" [\d.]+ ms", "", line) for line in lines if re.match(r"step \d+ ", line)]

    def check(self, program, size, environment, first_step, steps):
        """Returns the report and the logs. `first_step`: of those that the trace has."""
        expected = self.train(program, size, "plain", False, environment)
        found = self.train(program, size, "recorded", True, environment)
        self.assertGreaterEqual(len(expected), steps)
        self.assertEqual(found, expected, "losses are the same")
        folder = self.folder / "recorded"
        logs = [ranks.Log(folder / "pipetrace-logs" / f"workerlog.{r}") for r in range(size)]
        for rank, log in enumerate(logs):
            with self.subTest(rank=rank):
                self.assertEqual((log.end["dropped"], log.end["errors"]), (0, 0))
                self.assertEqual({job["step"] for job in log.jobs}, set(range(steps)))
                for step in range(steps):
                    of_step = [job["type"] for job in log.jobs if job["step"] == step]
                    self.assertEqual(of_step.count("optimizer"), 1)
                jobs = [job for job in log.jobs if job["step"] >= first_step and "action" in job]
                self.compare(jobs, self.ranges(folder / "traces" / f"rank{rank}.json.gz"))
        done = subprocess.run(
            [PIPE_TRACE, "report", "pipetrace-logs"],
            cwd=folder,
            capture_output=True,
            text=True,
            check=True,
        )
        self.assertNotRegex(done.stdout, ranks.DOUBT)
        return done.stdout, logs

    def ranges(self, path):
        """Name, begin and end of each job in a trace: the innermost range of that name."""
        trace = json.loads(gzip.decompress(path.read_bytes()))
        base = int(trace.get("baseTimeNanoseconds", 0))
        found = {}
        for event in trace["traceEvents"]:
            match = JOB.fullmatch(event.get("name", ""))
            if match and event.get("cat") == "user_annotation":
                begin = base + round(event["ts"] * 1000)
                end = begin + round(event["dur"] * 1000)
                found.setdefault(match[1], []).append((begin, end))
        innermost = []
        for name, times in found.items():
            for begin, end in times:
                if not any((b, e) != (begin, end) and begin <= b and e <= end for b, e in times):
                    innermost.append((name, begin, end))
        return sorted(innermost, key=lambda each: each[1])

    def compare(self, jobs, expected):
        self.assertTrue(expected)
        self.assertEqual([job["action"] for job in jobs], [name for name, _, _ in expected])
        apart = []
        for job, (name, begin, end) in zip(jobs, expected):
            self.assertLess(job["job_start_time"], end, name)
            self.assertLess(begin, job["job_end_time"], name)
            apart += [abs(job["job_start_time"] - begin), abs(job["job_end_time"] - end)]
        self.assertLess(statistics.median(apart), NEAR_NS)

    def check_messages(self, logs, stages):
        """Each forward and backward has its message from and to the neighbours of its stage."""
        for rank, log in enumerate(logs):
            kinds = collections.Counter(message["type"] for message in log.others)
            jobs = [job for job in log.jobs if "stage" in job]
            for kind, job_type, is_needed in (
                ("recv_forward", "forward", lambda stage: stage > 0),
                ("send_forward", "forward", lambda stage: stage < stages - 1),
                ("recv_backward", "backward", lambda stage: stage < stages - 1),
                ("send_backward", "backward", lambda stage: stage > 0),
            ):
                of_kind = [j["id"] for j in jobs if j["type"] == job_type and is_needed(j["stage"])]
                messages = log.of_kind(kind)
                self.assertEqual(sorted(m["job"] for m in messages), sorted(of_kind), kind)
                self.assertEqual(kinds[kind], len(of_kind))
                self.assertTrue(all(m["bytes"] > 0 and m["peer"] != rank for m in messages))


class OfTorch(Trainings):
    def test_tensor_parallel_ranks_share_a_stage(self):
        of_tp = {"MODE": "tp", "SCHED": "1F1B", "STEPS": "5", "ANNOTATE": "1"}
        report, logs = self.check(TORCH, 4, of_tp, 3, 5)
        self.assertIn("(1 replica, 2 tensor-parallel ranks on each stage)", report)
        self.assertIn("\nschedule: 1F1B, ", report)
        self.assertEqual([log.meta["tensor_parallel_index"] for log in logs], [0, 1, 0, 1])
        self.assertEqual([log.meta["data_parallel_index"] for log in logs], [0, 0, 0, 0])
        self.check_messages(logs, 2)

    def test_fsdp_ranks_are_replicas_that_gather_and_reduce(self):
        of_fsdp = {"MODE": "fsdp", "SCHED": "Interleaved1F1B", "STEPS": "5", "ANNOTATE": "1"}
        report, logs = self.check(TORCH, 4, of_fsdp, 3, 5)
        self.assertIn("4 ranks in 2 pipelines, ", report)
        self.assertIn("\nschedule: Interleaved1F1B\n", report)
        self.assertEqual([log.meta["data_parallel_index"] for log in logs], [0, 1, 0, 1])
        self.check_messages(logs, 4)
        if ranks.is_older(2, 10):
            return  # its stages gather and reduce inside of jobs
        for log, members in zip(logs, ("0 1", "0 1", "2 3", "2 3")):
            for kind in ("all_gather", "reduce_scatter"):
                found = log.of_kind(kind)
                self.assertEqual({each["members"] for each in found}, {members})
                per_step = collections.Counter(each["step"] for each in found)
                self.assertEqual(set(per_step.values()), {2}, "one for each stage")


class OfMegatron(Trainings):
    def check_megatron(self, pipeline, tensor, chunks, schedule):
        size = pipeline * tensor
        of_size = {"PP": str(pipeline), "TP": str(tensor), "VPP": str(chunks)}
        report, logs = self.check(MEGATRON, size, of_size, 2, 6)
        self.assertRegex(
            report, rf"\nschedule: {schedule}( \(\w+ in the logs\))?(\n|, also the order of )"
        )
        stages = pipeline * max(1, chunks)
        self.assertEqual(logs[0].meta["num_stages"], stages)
        self.check_messages(logs, stages)
        return report, logs

    def test_two_ranks(self):
        self.check_megatron(2, 1, 0, "1F1B")

    def test_two_positions_of_two_tensor_parallel_ranks(self):
        report, logs = self.check_megatron(2, 2, 0, "1F1B")
        self.assertIn("(1 replica, 2 tensor-parallel ranks on each stage)", report)
        self.assertEqual([log.meta["tensor_parallel_index"] for log in logs], [0, 1, 0, 1])

    def test_two_ranks_of_two_chunks(self):
        _, logs = self.check_megatron(2, 1, 2, "Interleaved1F1B")
        chunks = {job["stage"]: job["chunk"] for job in logs[1].jobs if "stage" in job}
        self.assertEqual(chunks, {1: 0, 3: 1})

    def test_four_ranks(self):
        self.check_megatron(4, 1, 0, "1F1B")

    def test_replicas_sum_their_gradients_and_an_optimizer_counts_once(self):
        program = ranks.HERE / "train_megatron_replicas.py"
        expected, found = (
            self.train([program, MEGATRON], 4, where, where == "recorded", {"PP": "2", "TP": "1"})
            for where in ("plain", "recorded")
        )
        self.assertEqual(len(expected), 6)
        self.assertEqual(found, expected, "losses are the same")
        for rank in range(4):
            log = ranks.Log(self.folder / "recorded" / "pipetrace-logs" / f"workerlog.{rank}")
            self.assertEqual(log.meta["data_parallel_index"], rank % 2)
            sums, updates = log.of_kind("all_reduce"), log.of_kind("optimizer")
            self.assertEqual([each["step"] for each in sums], [0, 1, 2])
            self.assertEqual({each["members"] for each in sums}, {"0 1" if rank < 2 else "2 3"})
            self.assertEqual([each["step"] for each in updates], [0, 1, 2], "and no inner one")
            self.assertEqual((log.end["dropped"], log.end["errors"]), (0, 0))

    def test_fused_pairs_of_the_combined_1f1b_and_processes_that_a_program_starts(self):
        """The program notes what it runs in step 2, and starts its ranks itself."""
        if ranks.is_older(2, 11):
            self.skipTest("the program needs torch 2.11")
        tool = ranks.ROOT / "tools" / "record_megatron_combined.py"
        done = subprocess.run(
            [sys.executable, "-m", "pipetrace", tool, "--out", "truth"],
            cwd=self.folder,
            env={**os.environ, "PYTHONPATH": str(ranks.ROOT / "python")},
            capture_output=True,
            text=True,
            timeout=120,
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(ranks.complaints(done.stderr), [])
        with open(self.folder / "truth" / "truth.csv") as file:
            rows = list(csv.DictReader(file))
        for rank in range(2):
            jobs = ranks.Log(self.folder / "pipetrace-logs" / f"workerlog.{rank}").jobs
            expected = []
            for row in rows:
                if row["rank"] == str(rank):
                    letter = row["kind"][0].upper()
                    name = f"{row['stage']}{letter}{row['micro_batch']}"
                    name = row["kind"] if "OVERLAP" in row["kind"] else name
                    expected.append((name, int(row["begin_ns"]), int(row["end_ns"])))
            self.assertTrue(any("OVERLAP" in name for name, _, _ in expected))
            expected.sort(key=lambda each: each[1])
            self.compare([j for j in jobs if j["step"] == 2 and "action" in j], expected)


if __name__ == "__main__":
    PIPE_TRACE, library, which = sys.argv[1:4]
    if not PROGRAMS.is_dir():
        print(f"skipped: there is no {PROGRAMS}")
        sys.exit(77)
    os.environ["PIPETRACE_LIBRARY_PATH"] = os.path.dirname(library)
    if which == "megatron":  # the ranks are forks of this process
        import megatron.core.models.gpt.gpt_layer_specs  # noqa: F401
        import megatron.core.optimizer  # noqa: F401
        import megatron.core.pipeline_parallel.schedules  # noqa: F401
    names = {"torch": "OfTorch", "megatron": "OfMegatron"}[which]
    unittest.main(argv=[sys.argv[0], names, *sys.argv[4:]])
