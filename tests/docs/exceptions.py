"""What check_documents.py passes over, and why."""

# Options of other programs, by program.
FOREIGN_OPTIONS = {
    "cmake and ctest": "--build --install --output-on-failure --parallel --prefix --preset --target",
    "GoogleTest, Google Benchmark, gdb":
        "--args --benchmark_filter --gtest_break_on_failure --gtest_filter --gtest_repeat",
    "our benchmarks": "--large --profile --python",
    "Nsight Systems": "--capture-range --trace --type",
    "torchrun": "--no-python --nproc-per-node --max-restarts",
    "DeepSpeed's launcher": "--local_rank --no_local_rank --num_gpus",
    "Slurm": "--nodes --ntasks --ntasks-per-node --kill-on-bad-exit",
    "mpirun": "--host",
    "singularity": "--nv",
    "programs that pipe-run CONFIG.yml starts": "--module --synthetic-data",
    "Megatron-LM":
        "--nvtx-ranges --overlap-moe-expert-parallel-comm --profile-ranks --profile-step-end"
        " --profile-step-start --tensorboard-dir --timing-log-level --use-pytorch-profiler",
    "torchtitan": "--profiler",
    "PaddlePaddle":
        "--gpus --job_schedule_profiler_end --job_schedule_profiler_start --parallel_mode"
        " --pipeline_parallel_degree",
}

FOREIGN_VARIABLES = {"CMAKE_PREFIX_PATH": "CMake", "DS_ACCELERATOR": "DeepSpeed", "NCCL_DEBUG": "NCCL"}

# The documents in which all options of a program or a command have to be. Others: any document.
RECORDING = ["docs/running.md", "docs/configuration.md", "docs/runtime.md", "docs/schedules.md"]
READING = ["docs/pipe-trace.md", "docs/diff.md", "docs/inputs.md", "docs/viewer.md", "docs/profile-format.md"]
OWN_DOCUMENTS = {
    "pipe-run": RECORDING,
    "pipe-trace": READING,
    "pipe-trace plan": ["docs/schedules.md", "docs/pipe-trace.md"],
    "pipe-trace advise": ["docs/advice.md", *READING],
    "pipe-trace what-if": ["docs/what-if.md", *READING],
    "pipe-view": ["docs/viewer.md", "docs/pipe-trace.md"],
    "sample-bert": ["docs/runtime.md"],
    "sample-char-transformer": ["docs/runtime.md"],
    "sample-gpipe-mlp": ["docs/runtime.md"],
}

# Options that their --help alone explains, by program; each is for those who work on PipeTrace.
UNDOCUMENTED = {
    "tools/build_wheel.sh": "--out",
    "tools/compare_builds.py": "--jobs --programs --runs --sample --seed --timeout",
    "tools/demo.sh": "--bin",
    "tools/doc_commands.py": "--bin --list --python --quick --section --work",
    "tools/fault_trials.py":
        "--build --first --most-ranks --self-test --silence --step-timeout",
    "tools/fresh_machine.sh": "--folder --locale",
    "tools/fuzz.sh": "--build-jobs --built --clean --jobs --only --sanitize --seconds",
    "tools/gpu_check.sh": "--bin --libs",
    "tools/hosts.py": "--delay-ms --loss --mbit --seed --self-test",
    "tools/lint.sh": "--jobs --presets --torch",
    "tools/mutants.py": "--build-with --equivalent --jobs --root --test-with",
}

# A default that the help says in other words.
DEFAULTS_IN_WORDS = {("--theme", "paper"): "of the papers"}

# English words that a schedule is named after.
WORDS_LIKE_SCHEDULES = {"Forward-only"}
