"""`python -m pipetrace doctor`: says what can be recorded here, and records a small pipeline.

Two processes train a pipeline of two stages for two steps, over Gloo on this machine. What their
logs have is compared with what they did.
"""

import importlib.util
import os
import pathlib
import re
import socket
import subprocess
import sys
import tempfile
from importlib import metadata

from .library import Library

_RANKS, _STEPS, _MICRO_BATCHES = 2, 2, 4
_TRAINING = f"""
import torch, torch.distributed as dist
from torch.distributed.pipelining import PipelineStage, Schedule1F1B
torch.set_num_threads(1)
dist.init_process_group("gloo")
rank, ranks = dist.get_rank(), dist.get_world_size()
part = torch.nn.Linear(8, 8)
stage = PipelineStage(part, rank, ranks, torch.device("cpu"))
schedule = Schedule1F1B(stage, {_MICRO_BATCHES}, loss_fn=torch.nn.functional.mse_loss)
optimizer = torch.optim.SGD(part.parameters(), lr=0.1)
for batch in torch.utils.data.DataLoader([torch.ones(8, 8)] * {_STEPS}, batch_size=None):
    optimizer.zero_grad()
    schedule.step(*((batch,) if rank == 0 else ()), **({{}} if rank == 0 else {{"target": batch}}))
    optimizer.step()
dist.destroy_process_group()
"""
# Lines of one step of each rank. Rank 0 sends forward and receives backward, rank 1 the reverse.
_EXPECTED = {
    "forward": (_MICRO_BATCHES, _MICRO_BATCHES),
    "backward": (_MICRO_BATCHES, _MICRO_BATCHES),
    "send_forward": (_MICRO_BATCHES, 0),
    "recv_forward": (0, _MICRO_BATCHES),
    "send_backward": (0, _MICRO_BATCHES),
    "recv_backward": (_MICRO_BATCHES, 0),
    "data": (1, 1),
    "optimizer": (1, 1),
}


def main(words):
    """Returns the exit code: 0 if what should work here does."""
    if words:
        print("usage: python -m pipetrace doctor", file=sys.stderr)
        return 2
    print(f"Python {sys.version.split()[0]}, {sys.executable}")
    try:
        path = Library.path()
        Library()
        print(f"recorder: {path}")
    except (OSError, AttributeError) as error:
        print(f"recorder: missing ({error}); install the package, or set PIPETRACE_LIBRARY_PATH")
        return 1
    has_torch = True
    for package, what in (
        ("torch", "torch.distributed.pipelining, optimizers, data loaders"),
        ("megatron-core", "its schedules, messages, sums of gradients, optimizers"),
        ("deepspeed", "instructions of its PipelineEngine"),
    ):
        try:
            print(f"{package} {metadata.version(package)}: {what}")
        except metadata.PackageNotFoundError:
            print(f"{package}: not installed, and not needed for the others")
            has_torch = has_torch and package != "torch"
    print(f"plugin of NCCL: {_plugin()}")
    spec = importlib.util.find_spec("torch") if has_torch else None
    if (
        spec is None
        or not pathlib.Path(spec.origin).with_name("distributed").joinpath("pipelining").is_dir()
    ):
        print("pipeline: needs a torch with torch.distributed.pipelining")
        return 0
    return _record()


def _plugin():
    name = "libnccl-profiler-pipetrace.so"
    path = Library.plugin_path()
    return f"{path}, used with PIPETRACE_NCCL=1" if path else f"no {name} beside the recorder"


def _record():
    """Records the pipeline and prints what its logs have."""
    with tempfile.TemporaryDirectory() as folder:
        program = pathlib.Path(folder, "train.py")
        program.write_text(_TRAINING, encoding="utf-8")
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = str(probe.getsockname()[1])
        variables = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, "WORLD_SIZE": str(_RANKS)}
        variables.update(PIPETRACE="1", PIPETRACE_LOG_DIR=os.path.join(folder, "logs"))
        command = [sys.executable, "-m", "pipetrace", str(program)]
        ranks = [
            subprocess.Popen(
                command,
                env={**os.environ, **variables, "RANK": str(rank)},
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )
            for rank in range(_RANKS)
        ]
        outputs = [rank.communicate()[0] for rank in ranks]
        if any(rank.returncode != 0 for rank in ranks):
            print("pipeline: the training failed, with or without a recorder:\n" + outputs[0])
            return 1
        for line in sorted({line for output in outputs for line in output.splitlines()}):
            if line.startswith("pipetrace: "):
                print(line)
        return _compare(pathlib.Path(folder, "logs"))


def _compare(logs):
    missing = []
    clocks = set()
    counts = []
    for rank in range(_RANKS):
        path = logs / f"workerlog.{rank}"
        text = path.read_text(encoding="utf-8") if path.exists() else ""
        clocks.update(re.findall(r"clock = (\w+)", text))
        counts.append({kind: text.count(f"type = {kind},") for kind in _EXPECTED})
    print(f"clock: {', '.join(sorted(clocks)) or 'unknown'}")
    for kind, expected in _EXPECTED.items():
        found = [count[kind] for count in counts]
        wanted = [_STEPS * number for number in expected]
        if found != wanted:
            missing.append(kind)
        print(f"pipeline: {kind}: {sum(found)} of {sum(wanted)} recorded")
    if missing:
        print(f"not all is recorded here: {', '.join(missing)}")
    return 1 if missing else 0
