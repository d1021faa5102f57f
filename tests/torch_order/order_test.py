#!/usr/bin/env python3
"""Runs what docs/inputs/torch.md says of a better order of messages, with the real torch:

  order_test.py PIPE_TRACE PYTHON

The commands of that section write a plan, and its lines of Python load it. Four processes over Gloo
then have the losses and gradients of torch's own schedule, bit for bit. So have plans of other
schedules and orders. PYTHON is one that can import torch.
"""
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "bench" / "pipelining"))
from rank_processes import free_ports, run_ranks  # noqa: E402

RANKS, TIMEOUT = 4, 120
CHECK = "from torch.distributed.pipelining import schedules; schedules._PipelineScheduleRuntime"
OTHERS = [("LoopedBFS", "in-time"), ("InterleavedZeroBubble", "torch")]


def section():
    text = (ROOT / "docs" / "inputs" / "torch.md").read_text(encoding="utf-8")
    return text.split("## A better order of messages\n")[1].split("\n## ")[0]


def blocks(text, mark):
    return re.findall(rf"^```{mark}[^\n]*\n(.*?)^```", text, re.S | re.M)


def commands(text):
    """Each command that writes a plan, as a list of words."""
    lines = "".join(blocks(text, "sh")).replace("\\\n", " ").splitlines()
    return [shlex.split(line) for line in lines if line.startswith("pipe-trace ")]


def results(python, *words):
    program = str(pathlib.Path(__file__).with_name("order_rank.py"))
    return run_ranks([python, program, *words], RANKS, free_ports(1)[0], TIMEOUT)


def check(name, found, expected):
    if found != expected:
        sys.exit(f"{name}: the losses or gradients are others:\n{found}\n{expected}")
    steps = expected[-1]["losses"]
    print(f"{name}: {len(steps)} steps of {len(steps[0])} micro-batches, the same bits", flush=True)


def main():
    pipe_trace, python = sys.argv[1:]
    done = subprocess.run([python, "-c", CHECK], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        print(f"{python} cannot import torch.distributed.pipelining")
        return 0
    text = section()
    with tempfile.TemporaryDirectory() as folder:
        lengths = []
        for words in commands(text):
            made = subprocess.run([pipe_trace, *words[1:]], cwd=folder, capture_output=True, text=True,
                                  check=True)
            lengths += re.findall(r"^length (\S+ \S+),", made.stdout, re.M)
        for length in lengths:
            if length.split()[0].rstrip("0") not in text:
                sys.exit(f"a plan of the section takes {length}, which it does not say")
        lines = pathlib.Path(folder) / "lines.py"
        lines.write_text(blocks(text, "python")[0].replace("better.csv", f"{folder}/better.csv"))
        check("Interleaved1F1B in time", results(python, "Interleaved1F1B", str(lines)),
              results(python, "Interleaved1F1B"))
        for name, order in OTHERS:
            subprocess.run([pipe_trace, "plan", "--schedule", name, "--ranks", str(RANKS),
                            "--micro-batches", "8", "--transfer-ms", "0.1", "--transfers", order,
                            "--csv", "better.csv", "--for", "torch"], cwd=folder, check=True,
                           stdout=subprocess.DEVNULL)
            check(f"{name} {order}", results(python, name, str(lines)), results(python, name))
    return 0


if __name__ == "__main__":
    sys.exit(main())
