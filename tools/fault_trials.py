#!/usr/bin/env python3
"""Trains under random plans, does something bad to the ranks, and checks how that ends.

  fault_trials.py N SEED                runs the trials 0 to N - 1 of a seed
  fault_trials.py 1 SEED --first K      runs the trial K
  fault_trials.py --list                lists the faults
  fault_trials.py --self-test           tries the checks on made-up runs; trains nothing

A trial has a random schedule, number of ranks and micro-batches, transport and model, and one fault
at a random moment. It passes when
  - the run ends within 10 s of a fault that ends it, or 16 s of one that is only silence;
  - every survivor names the same rank and cause, and they are right;
  - a run that goes on has the losses of an undisturbed one, bit for bit;
  - every log is whole up to the last job;
  - no process, port, namespace or temporary file is left;
  - no sanitizer reports anything, where the build has one (preset runtime-asan).
All limits of time are twice as long there.
docs/runtime.md says how runs end. A trial takes 1 to 30 s, on a slow link up to two minutes.

Some trials run on four hosts, which tools/hosts.py makes on this machine; they need root, `ip` and
/dev/net/tun. Where the Debian package faketime is installed, the wall clocks of some hosts differ.
A trial that cannot run here is skipped, with a line. The disk that gets full is one in memory; it
needs root, or a kernel that lets everybody have namespaces.

Exit codes: 0 all passed or were skipped; 1 some failed; 2 could not.
Example: tools/fault_trials.py 20 1 --hosts none
"""
import argparse
import os
import pathlib
import shlex
import signal
import sys
import time

sys.dont_write_bytecode = True
from trials.plans import Plans  # noqa: E402
from trials.report import line_of, table  # noqa: E402
from trials.run_trial import run_trial  # noqa: E402
from trials.sanitizers import SLOWER, is_sanitized  # noqa: E402
from trials.trial import FAULTS, Settings, draw  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
PROGRAMS = ("pipe-run", "pipe-trace", "faulty_training")


def options():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("number", metavar="N", nargs="?", type=int, help="how many trials")
    parser.add_argument("seed", metavar="SEED", nargs="?", help="the trials of a seed stay the same")
    parser.add_argument("--first", metavar="K", type=int, default=0,
                        help="begin with this trial of the seed (default: %(default)s)")
    parser.add_argument("--build", metavar="FOLDER", type=pathlib.Path,
                        help="of the built programs (default: build/all)")
    parser.add_argument("--only", metavar="FAULT", default="", choices=["", *FAULTS],
                        help="trials of this fault alone")
    parser.add_argument("--hosts", choices=["none", "four", "mixed"], default="mixed",
                        help="where the ranks run (default: %(default)s)")
    parser.add_argument("--most-ranks", metavar="P", type=int, default=16,
                        help="a run has at most that many (default: %(default)s)")
    parser.add_argument("--step-timeout", metavar="SECONDS", type=float, default=5,
                        help="of the runs (default: %(default)s)")
    parser.add_argument("--silence", metavar="SECONDS", type=float, default=8,
                        help="after which a rank is given up (default: %(default)s)")
    parser.add_argument("--table", action="store_true", help="print a table of the faults at the end")
    parser.add_argument("--show-output", action="store_true", help="print what failed runs printed")
    parser.add_argument("--keep", action="store_true", help="keep the folders of failed trials")
    parser.add_argument("--list", action="store_true", help="list the faults")
    parser.add_argument("--self-test", action="store_true", help="try the script itself")
    chosen = parser.parse_args()
    if chosen.list or chosen.self_test:
        return chosen
    if chosen.number is None or chosen.seed is None:
        parser.error("say how many trials, and a seed")
    if chosen.number < 1 or chosen.first < 0:
        parser.error("N is 1 or more, and K is 0 or more")
    if chosen.hosts == "none" and chosen.only in ("cut-off", "slow-link"):
        parser.error(f"--only {chosen.only} needs hosts; leave --hosts none out")
    if chosen.most_ranks < 2:
        parser.error("--most-ranks is at least 2")
    chosen.build = chosen.build or HERE.parent / "build" / "all"
    for program in PROGRAMS:
        if not (chosen.build / "bin" / program).exists():
            parser.error(f"{chosen.build}/bin has no {program}; build it with cmake --build --preset "
                         f"all --target {' '.join(PROGRAMS)}")
    return chosen


def command_of(chosen, number):
    """The command that runs one trial again."""
    command = ["tools/fault_trials.py", "1", chosen.seed, "--first", str(number)]
    for name, usual in (("only", ""), ("hosts", "mixed"), ("most_ranks", 16), ("step_timeout", 5),
                        ("silence", 8)):
        value = getattr(chosen, name)
        if value != usual:
            shown = f"{value:g}" if isinstance(value, float) else str(value)
            command += ["--" + name.replace("_", "-"), shown]
    if chosen.build.resolve() != (HERE.parent / "build" / "all").resolve():
        command += ["--build", str(chosen.build)]
    return shlex.join(command)


def run_all(chosen):
    slower = SLOWER if is_sanitized(chosen.build) else 1
    settings = Settings(chosen.step_timeout * slower, chosen.silence * slower, chosen.hosts,
                        chosen.only, chosen.most_ranks, slower)
    plans = Plans(str(chosen.build.resolve() / "bin" / "pipe-trace"))
    results = []
    for number in range(chosen.first, chosen.first + chosen.number):
        begin = time.monotonic()
        trial, plan = draw(chosen.seed, number, settings, plans)
        outcome = run_trial(trial, plan, settings, chosen.build, chosen.keep)
        results.append((trial, outcome))
        print(line_of(trial, outcome, len(results), chosen.number, time.monotonic() - begin),
              flush=True)
        for complaint in outcome.complaints:
            print(f"    {complaint}")
        if outcome.complaints:
            print(f"    repeat: {command_of(chosen, number)}", flush=True)
            if outcome.kept:
                print(f"    kept: {outcome.kept}", flush=True)
            if chosen.show_output:
                for name, output in outcome.outputs.items():
                    lines = [line for line in output.splitlines() if not line.startswith("frame #")]
                    print("\n".join([f"    == {name}", *lines[-8:]]), flush=True)
    return results


def summary(results):
    skipped = sum(bool(outcome.skipped) for _, outcome in results)
    failed = sum(bool(outcome.complaints) for _, outcome in results)
    more = f", {skipped} skipped" if skipped else ""
    return f"{len(results) - skipped - failed} of {len(results)} trials passed, {failed} failed{more}"


def stop(number, _frame):
    raise SystemExit(128 + number)


def main():
    chosen = options()
    if chosen.self_test:
        from trials.self_test import self_test
        return self_test()
    if chosen.list:
        for name, (title, _) in FAULTS.items():
            print(f"{name:16} {title}")
        return 0
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, stop)
    results = run_all(chosen)
    if chosen.table:
        print(table(results))
    print(summary(results))
    return 1 if any(outcome.complaints for _, outcome in results) else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except OSError as problem:
        print(f"fault_trials: {problem}", file=sys.stderr)
        sys.exit(2)
