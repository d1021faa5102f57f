"""Ranks that mpirun starts, of a program without torch; skipped (77) where there is no mpirun.

mpirun_test.py PIPE_TRACE LIBRARY
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

import ranks

PROGRAM = """
import pipetrace

for step in range(2):
    with pipetrace.job("forward", micro_batch=0, stage=0):
        pass
    pipetrace.step()
"""


class Mpirun(unittest.TestCase):
    def test_each_process_is_a_rank_of_one_run(self):
        with tempfile.TemporaryDirectory() as temporary:
            folder = pathlib.Path(temporary)
            (folder / "program.py").write_text(PROGRAM)
            done = subprocess.run(
                ["mpirun", "-np", "3", sys.executable, "-m", "pipetrace", "program.py"],
                cwd=folder,
                env={
                    **os.environ,
                    "PYTHONPATH": str(ranks.ROOT / "python"),
                    "OMPI_ALLOW_RUN_AS_ROOT": "1",
                    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
                    "OMPI_MCA_rmaps_base_oversubscribe": "1",
                },
                capture_output=True,
                text=True,
                timeout=120,
            )
            self.assertEqual(done.returncode, 0, done.stderr)
            for rank in range(3):
                log = ranks.Log(folder / "pipetrace-logs" / f"workerlog.{rank}")
                self.assertEqual((log.meta["rank"], log.meta["world_size"]), (rank, 3))
                self.assertEqual(len(log.jobs), 2)


if __name__ == "__main__":
    os.environ["PIPETRACE_LIBRARY_PATH"] = os.path.dirname(sys.argv[2])
    if shutil.which("mpirun") is None:
        print("skipped: there is no mpirun")
        sys.exit(77)
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
