#!/usr/bin/env python3
"""What checkpoints cost a training: steps with and without them, in turn.

Each run trains the transformer sample on two ranks, 21 steps; the checkpoints are those after the
steps 10 and 20, of about 100 MB each. A run counts with the time from the line of its first step to
that of its last one, so the copy between two steps is in it and the first step is not. A pair is one
run of each kind, and every second pair begins with the one that saves. The mean of the logarithms of
the pairs' ratios is printed with its 95 % interval, beside what the disk takes for as many bytes.
"""
import argparse
import math
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

# Parameters and the two averages of AdamW: 3 * 4 bytes * 12 * width^2 * layers = 101 MB.
SIZES = ["--layers", "8", "--width", "296", "--context", "64"]
STEPS, EVERY = 21, 10
T95 = {5: 2.776, 10: 2.262, 15: 2.145, 20: 2.093}  # of Student, by pairs


def seconds_of(program, rows, extra):
    """From the line of the first step to that of the last one, by the clock."""
    command = [program, *SIZES, "--stages", "2", "--batch", str(rows), "--transport", "in-process",
               "--steps", str(STEPS), *extra]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PIPETRACE": "0"}
    times = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        for line in process.stdout:
            if re.match(r"step \d+ loss ", line):
                times.append(time.monotonic())
    if process.returncode != 0 or len(times) != STEPS:
        sys.exit(f"{' '.join(command)} ended with {process.returncode} after {len(times)} steps")
    return times[-1] - times[0]


def disk_seconds(folder, size):
    """As many bytes in one file, synced."""
    data = os.urandom(1 << 20)
    path = pathlib.Path(folder, "disk")
    begin = time.monotonic()
    with open(path, "wb") as file:
        for _ in range(size >> 20):
            file.write(data)
        file.flush()
        os.fsync(file.fileno())
    taken = time.monotonic() - begin
    path.unlink()
    return taken


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--program", default="build/all/bin/sample-char-transformer")
    parser.add_argument("--pairs", type=int, default=15, choices=sorted(T95))
    parser.add_argument("--rows", type=int, default=64, help="windows of text in a step")
    parser.add_argument("--folder", help="on the disk to measure (default: a temporary one)")
    chosen = parser.parse_args()
    folder = tempfile.mkdtemp(dir=chosen.folder)
    saves = str(pathlib.Path(folder, "saves"))
    options = {False: [], True: ["--checkpoint", saves, "--checkpoint-every", str(EVERY)]}
    logs, disk, size = [], [], 0
    try:
        for pair in range(chosen.pairs):
            taken = {}
            for saving in (pair % 2 == 1, pair % 2 == 0):
                taken[saving] = seconds_of(chosen.program, chosen.rows, options[saving])
            newest = pathlib.Path(saves, "step_20")
            size = sum(file.stat().st_size for file in newest.iterdir())
            shutil.rmtree(saves)
            disk.append(disk_seconds(folder, size))
            logs.append(math.log(taken[True] / taken[False]))
            print(f"pair {pair + 1}: {taken[False] / (STEPS - 1):.3f} s a step, with checkpoints "
                  f"{taken[True] / (STEPS - 1):.3f}; the disk takes {disk[-1]:.2f} s", flush=True)
    finally:
        shutil.rmtree(folder)
    mean = statistics.fmean(logs)
    off = T95[chosen.pairs] * statistics.stdev(logs) / math.sqrt(len(logs))
    ratio, low, high = (math.exp(x) for x in (mean, mean - off, mean + off))
    print(f"{size / 1e6:.0f} MB every {EVERY} steps: {ratio:.3f} of the time without ({low:.3f} to "
          f"{high:.3f}); the disk: {size / 1e6 / statistics.median(disk):.0f} MB/s")


if __name__ == "__main__":
    main()
