"""Programs that use torch in ways that a recorder could break, on one rank or two.

torch_test.py PIPE_TRACE LIBRARY
"""

import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import textwrap
import unittest

import ranks
import torch.distributed.pipelining  # noqa: F401 (the ranks are forks of this process)
import torch.profiler  # noqa: F401

PROGRAM = ranks.HERE / "train_pipeline.py"
# A pipeline of one stage on each rank: a training step is `train(x)`.
SMALL = """
import os, signal, sys, torch, torch.distributed as dist
from torch.distributed.pipelining import PipelineStage, ScheduleGPipe
torch.set_num_threads(1)
dist.init_process_group("gloo")
rank, ranks = dist.get_rank(), dist.get_world_size()
part = torch.nn.Linear(4, 4)
stage = PipelineStage(part, rank, ranks, torch.device("cpu"))
schedule = ScheduleGPipe(stage, 2, loss_fn=torch.nn.functional.mse_loss)
optimizer = torch.optim.SGD(part.parameters(), lr=0.1)
x = torch.ones(4, 4)
ends = {"target": x} if rank == ranks - 1 else {}
def train(x=x):
    optimizer.zero_grad()
    schedule.step(*((x,) if rank == 0 else ()), **ends)
    optimizer.step()
"""
STEP = ["0F0", "0F1", "0B0", "0B1"]


class TorchPrograms(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name).resolve()
        self.logs = self.folder / "pipetrace-logs"

    def train(self, text, size=1, code=0, **environment):
        """Returns what rank 0 printed."""
        path = self.folder / "program.py"
        path.write_text(SMALL + textwrap.dedent(text))
        done = ranks.run([path], size, self.folder, environment)
        for rank, (found, output) in enumerate(done):
            self.assertEqual(found, code, f"rank {rank}: {output}")
        return done[0][1]

    def log(self, rank=0):
        return ranks.Log(self.logs / f"workerlog.{rank}")

    def check_steps(self, steps, log=None):
        log = log or self.log()
        for step in range(steps):
            self.assertEqual(log.actions(step), STEP)
            self.assertIn("optimizer", [j["type"] for j in log.jobs if j["step"] == step])
        self.assertEqual({job["step"] for job in log.jobs}, set(range(steps)))
        if log.end is not None:
            self.assertEqual((log.end["dropped"], log.end["errors"]), (0, 0))

    def test_torchrun_runs_the_module(self):
        torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
        done = subprocess.run(
            [*torchrun, "--nproc-per-node", "2", "-m", "pipetrace", PROGRAM, "1F1B", "2"],
            cwd=self.folder,
            env={**os.environ, "PYTHONPATH": str(ranks.ROOT / "python"), "NOTES": str(self.folder)},
            capture_output=True,
            text=True,
            timeout=120,
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(ranks.complaints(done.stderr), [])
        for rank in range(2):
            expected = json.loads((self.folder / f"notes.{rank}.json").read_text())["actions"]
            log = self.log(rank)
            self.assertEqual([log.actions(step) for step in range(2)], [expected] * 2)
            self.assertEqual(len(log.of_kind("data")), 2)
            self.assertEqual(len(log.of_kind("optimizer")), 2)
            self.assertEqual(log.end["errors"], 0)

    def test_the_doctor_records_a_pipeline(self):
        done = subprocess.run(
            [sys.executable, "-m", "pipetrace", "doctor"],
            cwd=self.folder,
            env={**os.environ, "PYTHONPATH": str(ranks.ROOT / "python")},
            capture_output=True,
            text=True,
            timeout=120,
        )
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("pipeline: forward: 16 of 16 recorded", done.stdout)
        self.assertIn("pipeline: recv_backward: 8 of 8 recorded", done.stdout)

    def test_a_newer_torch_is_recorded_as_far_as_it_is_known(self):
        """Two functions have other names, as in a version that is not known."""
        newer = """
            import importlib.abc, importlib.machinery, sys
            class Newer(importlib.machinery.SourceFileLoader):
                def get_data(self, path):
                    data = super().get_data(path)
                    for name in (b"_wait_batch_p2p", b"fwd_chunk_id", b"_get_profiler_function_name"):
                        data = data.replace(name, name + b"_of_2")
                    return data
                def get_code(self, name):
                    return self.source_to_code(self.get_data(self.path), self.path)
            class Finder(importlib.abc.MetaPathFinder):
                def find_spec(self, name, path, target=None):
                    if name not in ("torch.distributed.pipelining.schedules",
                                    "torch.distributed.pipelining.stage"):
                        return None
                    spec = importlib.machinery.PathFinder.find_spec(name, path)
                    spec.loader = Newer(name, spec.origin)
                    return spec
            sys.meta_path.insert(1, Finder())
        """
        path = self.folder / "newer.py"
        path.write_text(textwrap.dedent(newer) + SMALL + "train(); train(); print('done')")
        done = subprocess.run(
            [sys.executable, "-m", "pipetrace", path],
            cwd=self.folder,
            env={
                **os.environ,
                "PYTHONPATH": str(ranks.ROOT / "python"),
                **{"RANK": "0", "WORLD_SIZE": "1", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "0"},
            },
            capture_output=True,
            text=True,
            timeout=120,
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("done\n", done.stdout)
        lacks = "pipetrace: this torch has no _wait_batch_p2p, _get_profiler_function_name: "
        self.assertEqual(done.stderr.count("pipetrace: "), 1)
        self.assertIn(lacks, done.stderr)
        self.check_steps(2)

    def test_a_raising_step_loses_the_job_that_raised_and_no_other(self):
        output = self.train("""
            train()
            forward = part.forward
            def raising(x):
                if x[0, 0] == 7: raise ValueError("bad batch")
                return forward(x)
            part.forward = raising
            try: train(torch.full((4, 4), 7.0))
            except Exception as error: print(type(error.__cause__).__name__)
            train()
            """)
        self.assertIn("ValueError", output)
        log = self.log()
        self.assertEqual([log.actions(step) for step in range(3)], [STEP, [], STEP])
        self.assertEqual((log.end["dropped"], log.end["errors"]), (0, 0))

    def test_a_killed_training_leaves_its_jobs(self):
        self.train("train(); train(); os.kill(os.getpid(), signal.SIGKILL)", code=-signal.SIGKILL)
        done = subprocess.run(
            [PIPE_TRACE, self.logs, "-o", self.folder / "profile.csv"],
            capture_output=True,
            text=True,
            check=True,
        )
        self.assertIn("1 rank, 2 steps", done.stdout)
        text = (self.folder / "profile.csv").read_text()
        self.assertEqual(text.count(",forward,"), 4)

    def test_a_training_killed_in_a_step_leaves_the_jobs_before_the_last_tenth_of_a_second(self):
        self.train(
            """
            import time
            train()
            forward, calls = part.forward, []
            def slow(x):
                calls.append(x)
                if len(calls) == 2: os.kill(os.getpid(), signal.SIGKILL)
                time.sleep(0.2)
                return forward(x)
            part.forward = slow
            train()
            """,
            code=-signal.SIGKILL,
        )
        command = [PIPE_TRACE, self.logs, "-o", self.folder / "profile.csv"]
        subprocess.run(command, capture_output=True, check=True)
        text = (self.folder / "profile.csv").read_text()
        self.assertEqual(text.count(",forward,"), 3)

    def test_evaluation_is_a_phase_and_no_training(self):
        self.train("""
            train()
            with torch.no_grad():
                schedule.eval(x, target=x)
            train()
            """)
        log = self.log()
        self.assertEqual([log.actions(step) for step in range(3)], [STEP, ["0F0", "0F1"], STEP])
        phases = {job["step"]: job.get("phase") for job in log.jobs}
        self.assertEqual(phases, {0: None, 1: "evaluate", 2: None})

    def test_evaluation_between_steps_of_the_program_is_none_of_them(self):
        self.train("""
            import pipetrace
            def evaluate():
                with torch.no_grad():
                    schedule.eval(x, target=x)
            pipetrace.step()
            for step in range(2):
                evaluate()
                train()
                train()
                pipetrace.step()
            train()
            evaluate()
            pipetrace.step()
            train()
            """)
        log = self.log()
        evaluation, two = ["0F0", "0F1"], [*STEP, "0F2", "0F3", "0B2", "0B3"]
        actions = [log.actions(step) for step in range(7)]
        self.assertEqual(actions, [evaluation, two, evaluation, two, STEP, evaluation, STEP])
        phases = {job["step"]: job.get("phase") for job in log.jobs}
        self.assertEqual({step for step in phases if phases[step] == "evaluate"}, {0, 2, 5})

    def test_compiled_parts_and_optimizers_are_recorded(self):
        output = self.train("""
            part.forward = torch.compile(part.forward, backend="eager")
            optimizer.step = torch.compile(optimizer.step, backend="eager")
            for _ in range(3): train()
            """)
        self.assertEqual(ranks.complaints(output), [])
        log = self.log()
        self.assertEqual([log.actions(step) for step in range(3)], [STEP] * 3)
        self.assertEqual((log.end["dropped"], log.end["errors"]), (0, 0))

    def test_data_is_loaded_for_the_next_step_and_workers_record_nothing(self):
        self.train("""
            data = torch.utils.data.DataLoader([x] * 3, batch_size=None, num_workers=1)
            for batch in data: train(batch)
            next(iter(data))  # for a step that never comes
            """)
        self.check_steps(3)
        log = self.log()
        self.assertEqual([job["step"] for job in log.of_kind("data")], [0, 1, 2])
        self.assertEqual(log.jobs[0]["type"], "data")
        self.assertEqual([path.name for path in self.logs.iterdir()], ["workerlog.0"])

    def test_data_that_a_forward_loads_is_no_part_of_it(self):
        self.train("""
            import time
            class Slow(torch.utils.data.Dataset):
                def __len__(self): return 8
                def __getitem__(self, at): time.sleep(0.02); return x[0]
            loads = iter(torch.utils.data.DataLoader(Slow(), batch_size=None))
            forward = part.forward
            part.forward = lambda x: forward(x + 0 * next(loads)) if stage.has_backward else forward(x)
            train()
            """)
        log = self.log()
        self.assertEqual(log.actions(0), STEP)
        loads, forwards = log.of_kind("data")[-2:], log.of_kind("forward")
        for load, forward in zip(loads, forwards):
            self.assertGreater(load["job_end_time"] - load["job_start_time"], 20_000_000)
            self.assertLessEqual(load["job_end_time"], forward["job_start_time"])

    def test_a_fork_and_another_instrument_change_nothing(self):
        output = self.train("""
            import pipetrace
            train()
            if os.fork() == 0:
                optimizer.step()
                os._exit(0)
            os.wait()
            pipetrace.instrument()
            train()
            """)
        self.assertEqual(ranks.complaints(output), [])
        self.check_steps(2)

    def test_an_action_with_a_function_of_ones_own_is_one_job(self):
        self.train("""
            from torch.distributed.pipelining import schedules, stage as of_torch
            of_torch._PipelineStageBase._get_init_p2p_neighbors_ops = lambda self: []  # to itself
            parts = [torch.nn.Linear(4, 4) for _ in range(2)]
            stages = [PipelineStage(p, n, 2, torch.device("cpu")) for n, p in enumerate(parts)]
            schedule = schedules.ScheduleInterleaved1F1B(stages, 2, loss_fn=torch.nn.functional.mse_loss)
            if not hasattr(schedule, "register_custom_function"): sys.exit()
            def forward(action, of):
                stage, m = stages[action.stage_index], action.microbatch_index
                output = stage.forward_one_chunk(m, of.arg_mbs[m], of.kwarg_mbs[m])
                schedule._maybe_compute_loss(stage, output, of.target_mbs, m)
                if not stage.is_last: stages[1].set_local_fwd_input(output, m)
            schedule.register_custom_function(schedules.FORWARD, forward)
            schedule.step(x, target=x)
            """)
        if self.logs.exists():
            actions = ["0F0", "0F1", "1F0", "1B0", "1F1", "1B1", "0B0", "0B1"]
            self.assertEqual(sorted(self.log().actions(0)), sorted(actions))
            self.assertEqual(self.log().end["errors"], 0)

    def test_steps_of_ones_own_take_the_place_of_the_schedules(self):
        self.train("""
            import pipetrace
            pipetrace.step()
            for _ in range(2):
                schedule.step(x, **ends)
                schedule.step(x, **ends)
                optimizer.step()
                pipetrace.step()
            """)
        second = [f"{action[:-1]}{int(action[-1]) + 2}" for action in STEP]
        self.assertEqual(
            [self.log().actions(step) for step in range(3)],
            [STEP + second] * 2 + [[]],
            "micro-batches of a step are told apart",
        )

    def test_ranks_of_several_hosts_compare_their_clocks(self):
        self.train(
            "import time\nfor _ in range(5): train(); time.sleep(0.2)", 2, LOCAL_WORLD_SIZE="1"
        )
        text = (self.logs / "workerlog.1").read_text()
        line = next(line for line in text.splitlines() if "Profiler Clock: " in line)
        self.assertLess(abs(ranks.fields(line)["offset_ns"]), 5_000_000, "it is one host")
        self.assertNotIn("Profiler Clock: ", (self.logs / "workerlog.0").read_text())

    def test_ranges_of_annotate_are_read_back_from_torchs_traces(self):
        """Two ranks, whose traces name each job and message once, and no log."""
        self.train(
            """
            from torch.profiler import ProfilerActivity, profile, schedule as when
            os.makedirs("traces", exist_ok=True)
            with profile(activities=[ProfilerActivity.CPU], schedule=when(wait=0, warmup=1, active=2),
                         on_trace_ready=lambda p: p.export_chrome_trace(f"traces/rank{rank}.json")
                         ) as profiler:
                for _ in range(3):
                    train()
                    profiler.step()
            """,
            size=2,
            PIPETRACE="annotate",
        )
        self.assertFalse(self.logs.exists())
        for rank in range(2):
            trace = json.loads((self.folder / "traces" / f"rank{rank}.json").read_text())
            names = [
                event["name"].removeprefix("PP:")
                for event in trace["traceEvents"]
                if event.get("cat") == "user_annotation" and event["name"].startswith("PP:")
            ]
            jobs = [name for name in names if "_" not in name]
            self.assertEqual(jobs, [f"{rank}{a[1:]}" for a in STEP] * 2)
            sends, receives = ("SEND_F", "RECV_B") if rank == 0 else ("SEND_B", "RECV_F")
            messages = [name for name in names if "_" in name]
            expected = [f"{rank}{kind}{m}" for kind in (sends, receives) for m in range(2)]
            self.assertEqual(sorted(messages), sorted(expected * 2))
            optimizers = [e for e in trace["traceEvents"] if "ptimizer" in e.get("name", "")]
            steps = [e["name"] for e in optimizers if e.get("cat") == "user_annotation"]
            self.assertEqual(
                [n for n in steps if "zero_grad" not in n], ["Optimizer.step#SGD.step"] * 2
            )
        done = subprocess.run(
            [PIPE_TRACE, "report", "traces"],
            cwd=self.folder,
            capture_output=True,
            text=True,
            check=True,
        )
        self.assertIn("2 ranks, 2 steps, 16 compute jobs", done.stdout)
        self.assertIn("\nschedule: FThenB", done.stdout)
        self.assertNotIn("no annotation names", done.stdout)


if __name__ == "__main__":
    PIPE_TRACE, library = sys.argv[1:3]
    os.environ["PIPETRACE_LIBRARY_PATH"] = os.path.dirname(library)
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
