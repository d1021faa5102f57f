#!/usr/bin/env python3
"""Trains the samples under every schedule, and compares the losses with those of one process.

Prints a table of how far the losses of each schedule are from those of one process (--stages 1),
and draws both samples into the folder of --out: losses-gpipe-mlp.svg, losses-char-transformer.svg.
Schedules with the same losses share a line.
"""
import argparse
import pathlib
import subprocess
import sys

from loss_curves import Training, drawn
from schedule_list import schedules

# Printed losses have four digits.
SAME = 0.00011
# The MLP has four layers, so two ranks with two chunks each.
SAMPLES = {
    "gpipe-mlp": ([], lambda schedule: 4 // schedule.chunks),
    "char-transformer": (["--layers", "8", "--width", "64", "--context", "32"], lambda _: 4),
}


def train(program, options, schedule, stages, folder):
    """Returns the training, whose output is kept in the folder."""
    path = pathlib.Path(folder, f"{schedule} on {stages}.log")
    command = [program, *options, "--schedule", schedule, "--stages", str(stages), "--transport",
               "in-process"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)} ended with {done.returncode}: {done.stderr}")
    path.write_text(done.stdout)
    return Training(path)


def apart(training, alone):
    return max(abs(a - b) for a, b in zip(training.losses, alone.losses, strict=True))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--bin", default="build/all/bin", help="where the samples and pipe-trace are")
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--logs", required=True, help="an empty folder for what they print")
    parser.add_argument("--out", required=True, help="the folder of the pictures")
    chosen = parser.parse_args()
    trained = [known for known in schedules(pathlib.Path(chosen.bin, "pipe-trace"))
               if known.trains and not known.searches]
    print("| sample | schedule | ranks | largest difference | last loss |")
    print("|---|---|---|---|---|")
    for sample, (sizes, stages_of) in SAMPLES.items():
        program = str(pathlib.Path(chosen.bin, f"sample-{sample}"))
        logs = pathlib.Path(chosen.logs, sample)
        logs.mkdir(parents=True, exist_ok=True)
        options = [*sizes, "--steps", str(chosen.steps), "--seed", str(chosen.seed)]
        alone = train(program, options, "FThenB", 1, logs)
        runs = [("PipeDream", 1), *((known.name, stages_of(known)) for known in trained)]
        others = []
        same = 0
        for schedule, stages in runs:
            training = train(program, options, schedule, stages, logs)
            most = apart(training, alone)
            print(f"| `sample-{sample}` | {schedule} | {stages} | {most:.4f} | "
                  f"{training.losses[-1]:.4f} |", flush=True)
            if most < SAME:
                same += 1
                continue
            training.name = f"{schedule}, {stages} rank{'s' if stages > 1 else ''}"
            others.append(training)
        alone.name = f"one process, and {same} schedules"
        pathlib.Path(chosen.out, f"losses-{sample}.svg").write_text(drawn([alone, *others]))


if __name__ == "__main__":
    main()
