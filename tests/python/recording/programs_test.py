"""Programs of all kinds under `python -m pipetrace`, none of which has torch.

programs_test.py PIPE_TRACE LIBRARY
"""

import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import textwrap
import unittest
import unittest.mock

import ranks

LOOP = """
import os, sys, time
import pipetrace

def train(steps=3, micro_batches=2):
    for step in range(steps):
        for kind in ("forward", "backward"):
            for micro_batch in range(micro_batches):
                with pipetrace.job(kind, micro_batch=micro_batch, stage=0):
                    time.sleep(0.001)
        with pipetrace.job("optimizer"):
            pass
        pipetrace.step()
"""
SHOW = """
import os, pickle, sys
class Kept: pass
print(sys.argv[1:], os.path.basename(sys.argv[0]), sys.path[0], __name__, __file__, __package__)
print(type(__loader__).__name__, __spec__ and __spec__.name, __doc__, __cached__ is None)
print(sys.modules["__main__"].__dict__ is globals(), type(pickle.loads(pickle.dumps(Kept()))) is Kept)
"""


class Programs(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name).resolve()
        self.logs = self.folder / "pipetrace-logs"

    def write(self, text, name="program.py"):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text))
        return path

    def run_python(self, *words, recorded=True, code=0, **variables):
        environment = {
            **os.environ,
            "PYTHONPATH": str(ranks.ROOT / "python"),
            "PYTHONDONTWRITEBYTECODE": "1",
            **variables,
        }
        command = [sys.executable, *(["-m", "pipetrace"] if recorded else []), *map(str, words)]
        done = subprocess.run(
            command, cwd=self.folder, env=environment, capture_output=True, text=True, timeout=60
        )
        self.assertEqual(done.returncode, code, done.stderr)
        return done

    def train(self, text, **arguments):
        return self.run_python(self.write(LOOP + textwrap.dedent(text)), **arguments)

    def log(self, rank=0, folder=None):
        return ranks.Log((folder or self.logs) / f"workerlog.{rank}")

    def check_whole(self, log, steps=3):
        actions = [f"0{letter}{m}" for letter in "FB" for m in range(2)]
        for step in range(steps):
            self.assertEqual(log.actions(step), actions)
        self.assertEqual(len(log.of_kind("optimizer")), steps)
        if log.end is not None:
            self.assertEqual((log.end["dropped"], log.end["errors"]), (0, 0))

    # What the program sees.

    def test_a_program_sees_what_it_sees_without(self):
        path = self.write(SHOW, "there/show.py")
        for name in (path, "there/show.py", "./there/show.py"):
            words = name, "--an", "option", "-m"
            plain = self.run_python(*words, recorded=False).stdout
            self.assertEqual(self.run_python(*words).stdout, plain)
        (self.folder / "link.py").symlink_to(path)
        plain = self.run_python("link.py", recorded=False).stdout
        self.assertEqual(self.run_python("link.py").stdout, plain)

    def test_a_module_sees_what_it_sees_without(self):
        self.write(SHOW, "package/show.py")
        self.write(SHOW, "package/__main__.py")
        for name in ("package.show", "package"):
            plain = self.run_python("-m", name, "x", recorded=False).stdout
            self.assertEqual(self.run_python("-m", name, "x").stdout, plain)

    def test_the_local_rank_of_a_launcher_is_the_programs(self):
        self.write("import sys; print(sys.argv[1:])", "show.py")
        for name in ("show.py", "-m show"):
            for option in ("--local_rank=1", "--local-rank=1"):  # deepspeed's, torch's
                done = self.run_python(option, *name.split(), "-x")
                self.assertEqual(done.stdout, f"['{option}', '-x']\n")

    def test_a_folder_with_a_main_is_a_program(self):
        self.write("import sys; print(sys.argv[1:], __name__)", "app/__main__.py")
        self.assertEqual(self.run_python("app", "x").stdout, "['x'] __main__\n")

    def test_exit_codes_are_the_programs(self):
        self.run_python(self.write("import sys; sys.exit(3)"), code=3)
        done = self.run_python(self.write("raise KeyError('lost')"), code=1)
        self.assertIn("KeyError: 'lost'", done.stderr)

    def test_what_cannot_be_run_is_said(self):
        done = self.run_python("nowhere.py", code=2)
        self.assertIn("cannot read the program", done.stderr)
        done = self.run_python("-m", "nowhere", code=2)
        self.assertIn("cannot run the module nowhere", done.stderr)
        self.assertIn("no option", self.run_python("--steps", code=2).stderr)

    def test_no_signal_handler_is_changed(self):
        text = "import signal; print([signal.getsignal(s) for s in sorted(signal.valid_signals())])"
        show = self.train("train(1)\n" + text)
        plain = self.run_python("-c", text, recorded=False)
        self.assertEqual(show.stdout, plain.stdout)

    # What is recorded.

    def test_a_loop_of_ones_own_is_recorded(self):
        done = self.train("train()\nprint('torch' in sys.modules)")
        self.assertEqual((done.stdout, done.stderr), ("False\n", ""))
        log = self.log()
        self.check_whole(log)
        self.assertEqual(log.jobs[0]["stage"], 0)
        report = subprocess.run(
            [PIPE_TRACE, "report", self.logs], capture_output=True, text=True, check=True
        )
        self.assertIn("1 rank, 3 steps, 12 compute jobs", report.stdout)

    def test_the_loop_of_the_documentation_is_recorded(self):
        text = (ranks.ROOT / "docs" / "python-recording.md").read_text()
        program = text.split("```python\n")[1].split("```")[0]
        self.run_python(self.write(program), recorded=False)
        self.check_whole(self.log())

    def test_without_jobs_no_file_is_written(self):
        self.train("print(1)")
        self.assertFalse(self.logs.exists())

    def test_a_block_that_raises_is_no_job(self):
        done = self.train(
            """
            train()
            with pipetrace.job("forward", 0, 0):
                raise ValueError("broken")
            """,
            code=1,
        )
        self.assertIn("ValueError: broken", done.stderr)
        log = self.log()
        self.check_whole(log)
        self.assertEqual(len(log.jobs), 15)

    def test_a_job_inside_of_a_job_is_part_of_it(self):
        self.train("""
            with pipetrace.job("forward", 0, 0):
                with pipetrace.job("forward", 1, 0):
                    pass
            """)
        self.assertEqual([job["action"] for job in self.log().jobs], ["0F0"])

    def test_a_kind_that_there_is_not_is_refused(self):
        done = self.train("with pipetrace.job('froward'): pass", code=1)
        self.assertIn("'froward' is no kind of job; these are: lr, forward, backward,", done.stderr)

    def test_the_doctor_says_what_is_here(self):
        done = self.run_python("doctor")
        self.assertIn("recorder: " + os.environ["PIPETRACE_LIBRARY_PATH"], done.stdout)
        done = self.run_python("doctor", code=1, PIPETRACE_LIBRARY_PATH="/nowhere")
        self.assertIn("recorder: missing", done.stdout)

    # Switches.

    def test_pipetrace_0_records_nothing(self):
        self.train("train()", PIPETRACE="0")
        self.assertFalse(self.logs.exists())

    def test_a_value_of_pipetrace_that_nobody_knows_is_said(self):
        for text in ("train()", "import pipetrace.auto\ntrain()"):
            done = self.train(text, recorded=text == "train()", PIPETRACE="perhaps")
            self.assertIn(
                "pipetrace: nothing is recorded: PIPETRACE is 'perhaps', and can be 1, 0 or annotate",
                done.stderr,
            )
            self.assertFalse(self.logs.exists())
        self.assertNotIn("nothing is recorded", self.train("train()", PIPETRACE="off").stderr)

    def test_auto_records_if_the_environment_says_so(self):
        text = "import pipetrace.auto\ntrain()"
        self.train(text, recorded=False)
        self.assertFalse(self.logs.exists())
        self.train(text, recorded=False, PIPETRACE="1")
        self.check_whole(self.log())

    def test_instrument_records_and_a_second_call_changes_nothing(self):
        self.train(
            """
            print(pipetrace.instrument("here"), pipetrace.instrument("there"))
            import importlib, pipetrace.auto
            importlib.reload(pipetrace.auto)
            train()
            """,
            recorded=False,
            PIPETRACE="1",
        )
        self.check_whole(self.log(folder=self.folder / "here"))
        self.assertFalse((self.folder / "there").exists())

    def test_steps_and_folder_are_those_of_the_environment(self):
        self.train("train()", PIPETRACE_STEPS="1:2", PIPETRACE_LOG_DIR="else/where")
        log = self.log(folder=self.folder / "else" / "where")
        self.assertEqual({job["step"] for job in log.jobs}, {1})

    def test_a_restart_of_an_elastic_job_has_a_folder_of_its_own(self):
        elastic = {"TORCHELASTIC_RUN_ID": "7", "TORCHELASTIC_RESTART_COUNT": "0"}
        self.train("train()", **elastic)
        self.train("train()", **{**elastic, "TORCHELASTIC_RESTART_COUNT": "2"})
        self.check_whole(self.log())
        self.check_whole(self.log(folder=self.logs / "restart-2"))

    def test_nccls_plugin_is_asked_for_unless_another_one_is_named(self):
        show = "print(os.environ.get('NCCL_PROFILER_PLUGIN'))"
        done = self.train(show, PIPETRACE_NCCL="1")
        self.assertEqual(os.path.basename(done.stdout.strip()), "libnccl-profiler-pipetrace.so")
        done = self.train(show, PIPETRACE_NCCL="1", NCCL_PROFILER_PLUGIN="other")
        self.assertEqual(done.stdout, "other\n")
        self.assertEqual(self.train(show).stdout, "None\n")

    def test_the_rank_is_the_launchers(self):
        self.train("train()", RANK="2", WORLD_SIZE="4")
        self.assertEqual((self.log(2).meta["rank"], self.log(2).meta["world_size"]), (2, 4))
        slurm = {"SLURM_PROCID": "0", "SLURM_NTASKS": "8"}
        for rank, variables in (
            (3, {"OMPI_COMM_WORLD_RANK": "3", "OMPI_COMM_WORLD_SIZE": "4", **slurm}),
            (1, {"PMI_RANK": "1", "PMI_SIZE": "4"}),
            (5, {**slurm, "SLURM_PROCID": "5", "SLURM_STEP_ID": "0", "SLURM_STEP_NUM_TASKS": "4"}),
        ):
            with self.subTest(variables):
                self.train("train()", **variables)
                meta = self.log(rank).meta
                self.assertEqual((meta["rank"], meta["world_size"]), (rank, 4))

    def test_the_script_of_a_slurm_job_is_no_rank_of_its_step(self):
        self.train("train()", SLURM_PROCID="0", SLURM_NTASKS="8")
        self.assertEqual(self.log().meta["rank"], 0)
        self.assertNotIn("world_size", self.log().meta)

    def test_hosts_are_several_where_the_launcher_says_so(self):
        sys.path.insert(0, str(ranks.ROOT / "python"))
        from pipetrace.recording import switches

        slurm = {"SLURM_PROCID": "1", "SLURM_STEP_ID": "0"}
        for variables, expected in (
            ({}, False),
            ({"RANK": "1", "LOCAL_WORLD_SIZE": "4"}, False),
            ({"RANK": "1", "LOCAL_WORLD_SIZE": "2"}, True),
            ({"RANK": "1", "LOCAL_SIZE": "2"}, True),  # deepspeed
            ({"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_LOCAL_SIZE": "2"}, True),
            ({**slurm, "SLURM_NNODES": "2", "SLURM_STEP_NUM_NODES": "1"}, False),
            ({**slurm, "SLURM_NNODES": "2"}, True),
        ):
            with self.subTest(variables), unittest.mock.patch.dict(os.environ, variables):
                self.assertEqual(switches.has_several_hosts(4), expected)

    # What programs do.

    def test_a_killed_program_leaves_its_jobs(self):
        self.train(
            "train()\nimport signal\nos.kill(os.getpid(), signal.SIGKILL)", code=-signal.SIGKILL
        )
        done = subprocess.run(
            [PIPE_TRACE, self.logs, "-o", self.folder / "profile.csv"],
            capture_output=True,
            text=True,
            check=True,
        )
        self.assertIn(
            "15 jobs that are not in the log are read from here", done.stdout + done.stderr
        )
        rows = (self.folder / "profile.csv").read_text()
        self.assertEqual(sum(rows.count(f",{kind},") for kind in ("forward", "backward")), 12)

    def test_a_forked_child_is_left_alone(self):
        done = self.train("""
            train(1)
            if os.fork() == 0:
                train(1)
                os._exit(0)
            os.wait()
            train(2)
            """)
        self.assertNotIn("pipetrace:", done.stderr)  # Python 3.12 warns of threads
        self.check_whole(self.log())
        self.assertEqual(self.log().runs, 1)

    def test_the_logs_stay_where_the_program_began(self):
        self.train("os.mkdir('sub'); os.chdir('sub')\ntrain()")
        self.check_whole(self.log())

    def test_two_runs_in_one_folder_are_two_runs_of_a_log(self):
        for _ in range(2):
            self.train("train()")
        self.assertEqual(self.log().runs, 2)
        self.check_whole(self.log())

    def test_a_log_that_cannot_be_written_is_said_once(self):
        self.logs.write_text("a file\n")
        done = self.train("train()\nprint('done')")
        self.assertEqual(done.stdout, "done\n")
        self.assertRegex(done.stderr, r"\Apipetrace: nothing is recorded: [^\n]+\n\Z")

    def test_a_recorder_that_is_missing_is_said_once(self):
        done = self.train("train()\nprint('done')", PIPETRACE_LIBRARY_PATH="/nowhere")
        self.assertEqual(done.stdout, "done\n")
        self.assertRegex(done.stderr, r"\Apipetrace: nothing is recorded: cannot load [^\n]+\n\Z")

    def test_jobs_of_other_threads_are_left_alone(self):
        done = self.train("""
            import threading
            train(1)
            others = [threading.Thread(target=train, args=(20,)) for _ in range(4)]
            for other in others: other.start()
            train(2)
            for other in others: other.join()
            """)
        self.assertEqual(done.stderr, "")
        self.check_whole(self.log())
        self.assertEqual(len(self.log().jobs), 15)

    def test_children_of_multiprocessing_are_recorded(self):
        text = """
            import multiprocessing
            def child(rank):
                os.environ["RANK"] = str(rank)
                train()
            if __name__ == "__main__":
                for method in ("spawn", "fork"):
                    context = multiprocessing.get_context(method)
                    rank = 1 if method == "spawn" else 2
                    process = context.Process(target=child, args=(rank,))
                    process.start()
                    process.join()
                    print(method, process.exitcode)
            """
        done = self.train(text)
        self.assertEqual((done.stdout, done.stderr), ("spawn 0\nfork 0\n", ""))
        for rank in (1, 2):
            self.check_whole(self.log(rank))
            self.assertIsNotNone(self.log(rank).end, "closed")

    def test_the_programs_own_sitecustomize_is_imported_in_children(self):
        self.write("print('own', flush=True)", "site/sitecustomize.py")
        self.write("import subprocess, sys; subprocess.run([sys.executable, '-c', 'print(1)'])")
        paths = os.pathsep.join((str(self.folder / "site"), str(ranks.ROOT / "python")))
        done = self.run_python("program.py", PYTHONPATH=paths)
        self.assertEqual(done.stdout.split(), ["own", "own", "1"])

    def test_a_hook_that_fails_switches_itself_off_with_one_line(self):
        done = self.train("""
            from pipetrace.recording import hooks
            class Stage:
                def good(self): return 1
                def bad(self): return 2
                def late(self): return 3
            def broken(*_): raise RuntimeError("no such attribute")
            hooks.around(Stage, "bad", broken)
            hooks.around(Stage, "late", lambda *_: True, broken)
            hooks.around(Stage, "good", lambda *_: True, lambda _, result: result + 10)
            stage = Stage()
            print([(stage.bad(), stage.late(), stage.good()) for _ in range(3)])
            train()
            """)
        self.assertEqual(done.stdout, str([(2, 3, 11)] * 3) + "\n")
        self.assertRegex(
            done.stderr,
            r"\Apipetrace: Stage.bad is not recorded any more: RuntimeError: no such attribute; "
            r"[^\n]+\npipetrace: Stage.late is not recorded any more: [^\n]+\n\Z",
        )
        self.check_whole(self.log())


if __name__ == "__main__":
    PIPE_TRACE, library = sys.argv[1:3]
    os.environ["PIPETRACE_LIBRARY_PATH"] = os.path.dirname(library)
    for name in ("PIPETRACE", "PIPETRACE_LOG_DIR", "PIPETRACE_STEPS", "RANK", "WORLD_SIZE"):
        os.environ.pop(name, None)
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
