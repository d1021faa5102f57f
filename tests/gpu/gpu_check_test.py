#!/usr/bin/env python3
"""Checks what tools/gpu_check.sh makes of the programs that it runs. Scripts stand for these."""

import os
import pathlib
import subprocess
import tempfile
import unittest

CHECK = pathlib.Path(__file__).resolve().parents[2] / "tools" / "gpu_check.sh"
# Runs what it is given, as the real one does.
MEMCHECK = """while [ "${1#-}" != "$1" ]; do
  case $1 in --report-api-errors|--tool|--error-exitcode) shift 2 ;; *) shift ;; esac
done
exec "$@"
"""
SUMMARY = 'echo "========= ERROR SUMMARY: 0 errors"\n'


class GpuCheckTest(unittest.TestCase):
    def setUp(self):
        kept = tempfile.TemporaryDirectory()
        self.addCleanup(kept.cleanup)
        self.folder = pathlib.Path(kept.name)
        self.program("nvidia-smi", 'echo "a device"\n')
        self.program("compute-sanitizer", MEMCHECK)
        self.program("gpu_test", SUMMARY)
        self.program("pipelines", SUMMARY)

    def program(self, name, text):
        path = self.folder / name
        path.write_text("#!/usr/bin/env bash\n" + text)
        path.chmod(0o755)

    def check(self, part):
        done = subprocess.run(
            ["bash", CHECK, "--bin", self.folder, "--libs", self.folder, "--only", part],
            env=dict(os.environ, PATH=f"{self.folder}:{os.environ['PATH']}"), text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=100, check=False)
        return done.returncode, done.stdout

    def test_memcheck_runs_the_tests_and_a_training(self):
        self.program("pipelines", SUMMARY + 'echo "$PYTORCH_NO_CUDA_MEMORY_CACHING $*" >"$0.given"\n')
        code, said = self.check("memory")
        self.assertEqual(code, 0, said)
        self.assertIn("- gpu_test: 0 errors\n- a training in four threads: 0 errors\n", said)
        self.assertEqual((self.folder / "pipelines.given").read_text(), "1 --only 1F1B 1\n")

    def test_an_error_of_memory_fails_with_its_report(self):
        self.program("pipelines", 'echo "========= Invalid __global__ read"; exit 99\n')
        code, said = self.check("memory")
        self.assertEqual(code, 1, said)
        self.assertIn("Invalid __global__ read", said)
        self.assertIn("Failed.", said)

    def test_a_device_that_memcheck_refuses_is_skipped(self):
        self.program("compute-sanitizer", 'echo "========= Error: Device not supported"; exit 1\n')
        code, said = self.check("memory")
        self.assertEqual(code, 0, said)
        self.assertEqual(said.count("skipped: compute-sanitizer refuses the device"), 2)

    def test_a_training_that_takes_too_long_is_skipped_unless_it_had_errors(self):
        self.program("pipelines", "exit 124\n")
        code, said = self.check("memory")
        self.assertEqual(code, 0, said)
        self.assertIn("- a training in four threads: skipped: it did not end within", said)
        self.program("pipelines", 'echo "========= Invalid __global__ read"; exit 124\n')
        code, said = self.check("memory")
        self.assertEqual(code, 1, said)

    def test_a_training_without_torchs_libraries_is_skipped(self):
        self.program("pipelines", 'echo "  not run: no libtorch_cuda.so"; exit 77\n')
        code, said = self.check("memory")
        self.assertEqual(code, 0, said)
        self.assertIn("- a training in four threads: skipped: no libtorch_cuda.so\n", said)

    def test_a_call_that_waits_fails_the_pipelines(self):
        for name in ("sample-char-transformer", "pipe-run", "pipe-trace"):
            self.program(name, "exit 1\n")
        self.program("pipelines", 'echo "  1F1B: by CUPTI: 1 cudaMemcpy"; exit 1\n')
        code, said = self.check("pipelines")
        self.assertEqual(code, 1, said)
        self.assertIn("by CUPTI: 1 cudaMemcpy", said)

    def test_a_program_that_does_not_start_is_no_failed_check(self):
        self.program("gpu_test", 'echo "libcupti.so.13: not found"; exit 127\n')
        code, said = self.check("events")
        self.assertEqual(code, 2, said)
        self.assertIn("gpu_test does not start", said)

    def test_a_program_that_crashes_is_a_failed_check(self):
        self.program("gpu_test", 'kill -SEGV $$\n')
        code, said = self.check("events")
        self.assertEqual(code, 1, said)
        self.assertIn("Failed.", said)


if __name__ == "__main__":
    unittest.main()
