#!/usr/bin/env python3
"""Breaks sound runs in one of many ways, and checks that pipe-trace does not give a wrong figure
without a doubt beside it.

  doubt_trials.py N SEED               runs the trials 0 to N - 1 of a seed
  doubt_trials.py 1 SEED --first K     runs the trial K
  doubt_trials.py N SEED --sound       breaks nothing: no run may have a doubt
  doubt_trials.py --list               lists the ways

A trial makes up a run of one pipeline (as job logs, or as traces of PyTorch's profiler on processors
or on GPUs), or takes a folder of --data. Its bubble ratio is worked out here, from the jobs, by the
definition of docs/metrics.md. Then the files are broken. The trial passes where pipe-trace
  - ends with an error,
  - or has a doubt (the list `trust`),
  - or gives a bubble ratio within 0.01 of what is right for the jobs that remain.

Exit codes: 0 all passed; 1 some failed; 2 could not.
Example: tools/doubt_trials.py 2000 1 --data ../shared/data/two_replicas
"""
import argparse
import collections
import json
import pathlib
import random
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
from doubts import runs  # noqa: E402
from doubts.breakages import BREAKAGES  # noqa: E402
from doubts.files import read  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
MOST_OFF = 0.01


def options():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("number", metavar="N", nargs="?", type=int, help="how many trials")
    parser.add_argument("seed", metavar="SEED", nargs="?", help="the trials of a seed stay the same")
    parser.add_argument("--first", metavar="K", type=int, default=0,
                        help="begin with this trial of the seed (default: %(default)s)")
    parser.add_argument("--program", metavar="FILE", type=pathlib.Path,
                        default=HERE.parent / "build" / "all" / "bin" / "pipe-trace",
                        help="pipe-trace (default: that of build/all)")
    parser.add_argument("--data", metavar="FOLDER", nargs="+", action="extend", type=pathlib.Path,
                        default=[], help="sound runs; half of the trials take one of them")
    parser.add_argument("--only", metavar="WAY", choices=sorted(BREAKAGES), default="",
                        help="break them in this way alone")
    parser.add_argument("--sound", action="store_true", help="break nothing")
    parser.add_argument("--keep", metavar="FOLDER", type=pathlib.Path,
                        help="keep the inputs of failed trials there")
    parser.add_argument("--list", action="store_true", help="list the ways")
    chosen = parser.parse_args()
    if not chosen.list and (chosen.number is None or chosen.seed is None):
        parser.error("say how many trials, and a seed")
    if not chosen.list and not chosen.program.exists():
        parser.error(f"there is no {chosen.program}; build it, or name it with --program")
    return chosen


class Answer:
    """What pipe-trace says of a run."""

    def __init__(self, program, folder):
        done = subprocess.run([program, folder, "--json", "-q"], capture_output=True, text=True,
                              timeout=120, check=False)
        self.code, self.error = done.returncode, done.stderr.strip()
        report = json.loads(done.stdout) if self.code == 0 else {}
        self.ratio = report.get("bubble_ratio")
        self.doubts = [doubt["kind"] for doubt in report.get("trust", [])]

    def __str__(self):
        if self.code:
            return f"exit {self.code}: {self.error[:150]}"
        return f"bubble ratio {self.ratio} {' '.join(self.doubts)}"


class Trial:
    def __init__(self, chosen, number, folder):
        self.random = random.Random(f"{chosen.seed} {number}")
        self.folder, self.program = folder, chosen.program
        if chosen.data and self.random.random() < 0.5:
            source = self.random.choice(chosen.data)
            self.about, self.jobs = source.name, None
            self.right = Answer(chosen.program, source).ratio
            self.files = read(source)
        else:
            shape, self.jobs = runs.make(self.random, folder / "sound")
            self.about = (f"{shape.name} {shape.schedule} {shape.ranks}x{shape.chunks} "
                          f"m{shape.micro_batches} jitter {shape.jitter}")
            self.right = runs.bubble_ratio(self.jobs)
            self.files = read(folder / "sound")

    def lose_some(self):
        """Files of some ranks may be missing: what the others say is as right as before."""
        if self.jobs is None or len(self.files) < 3 or self.random.random() > 0.2:
            return
        lost = self.files.pop(self.random.randrange(len(self.files))).rank
        self.right = runs.bubble_ratio([job for job in self.jobs if job.rank != lost])

    def break_it(self, way):
        remains = BREAKAGES[way](self.random, self.files)
        if remains is None:
            return
        if self.jobs is None:
            self.right = None  # whose jobs they are is not known here
        else:
            self.right = runs.bubble_ratio([job for job in self.jobs if remains(job)])

    def answer(self):
        broken = self.folder / "broken"
        broken.mkdir()
        for file in self.files:
            (broken / file.name).write_bytes(file.data())
        return Answer(self.program, broken)


def complaint(trial, answer, sound):
    if sound:
        if answer.code or answer.doubts:
            return f"is sound: {answer}"
    elif answer.code in (1, 2) or answer.doubts or trial.right is None:
        return None
    if answer.code:
        return f"{answer}"
    if abs(answer.ratio - trial.right) <= MOST_OFF:
        return None
    return f"{answer}, {trial.right:.4f} is right"


def main():
    chosen = options()
    if chosen.list:
        print("\n".join(BREAKAGES))
        return 0
    counts, failed = collections.Counter(), collections.Counter()
    for number in range(chosen.first, chosen.first + chosen.number):
        with tempfile.TemporaryDirectory(prefix="doubt-") as name:
            trial = Trial(chosen, number, pathlib.Path(name))
            way = "sound"
            if chosen.sound:
                trial.lose_some()
            else:
                way = chosen.only or trial.random.choice(list(BREAKAGES))
                trial.break_it(way)
            answer = trial.answer()
            problem = complaint(trial, answer, chosen.sound)
            counts[way] += 1
            if problem is None:
                continue
            failed[way] += 1
            print(f"trial {number}: {way}: {trial.about}: {problem}", flush=True)
            if chosen.keep:
                kept = chosen.keep / str(number)
                kept.parent.mkdir(parents=True, exist_ok=True)
                pathlib.Path(name, "broken").rename(kept)
    for way, count in sorted(counts.items()):
        if failed[way]:
            print(f"{way}: {failed[way]} of {count} failed")
    print(f"{sum(counts.values())} trials, {sum(failed.values())} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
