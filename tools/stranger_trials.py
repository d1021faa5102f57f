#!/usr/bin/env python3
"""Sends strangers to the ports of a run: programs that connect and say nothing, send noise, send a
byte now and then, send megabytes, or leave at once. Then checks that the run did not mind.

  stranger_trials.py                 all of the parts below
  stranger_trials.py --only PART     one of them

Parts:
  meeting    at the control ports of four processes of which one comes late
  training   at the port of rank 0's clock, while four ranks train that count as four hosts
  libtorch   at the ports of LibTorch's store and of Gloo, while the ranks come together and train

In the first two parts the run must end in order, train the same losses bit for bit, take at most
5 % longer for a step and 16 MiB more memory. In the third it must do so, too, or end with an error.

Exit codes: 0 all passed or were skipped; 1 some failed; 2 could not.
Example: tools/stranger_trials.py --connections 10000
"""

import argparse
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import typing

from trials.strangers import Flood, listening
from trials.world import free_port

ROOT = pathlib.Path(__file__).resolve().parent.parent
RANKS = 4
LATE = 2.0  # seconds after which the last rank comes
LIMIT = 120.0
MOST_MEMORY = 16 << 20
MOST_LONGER = 1.05
MOST_CAME = 0.9  # of the strangers: the last ones may find that the run has ended
PARTS = ("meeting", "training", "libtorch")


class Ports(typing.NamedTuple):
    """Where rank 0 listens."""
    store: int
    clock: int


class Failed(Exception):
    """A part did not go as it must."""


class Run:
    """Processes of one run; their outputs by rank, with the time of each line."""

    def __init__(self, folder):
        self.folder, self.processes, self.lines, self.threads = folder, [], [], []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()

    def start(self, command, environment):
        process = subprocess.Popen(command, env={**os.environ, **environment}, cwd=self.folder,
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        lines = []
        self.processes.append(process)
        self.lines.append(lines)
        thread = threading.Thread(target=lambda: [lines.append((time.monotonic(), line))
                                                  for line in process.stdout])
        thread.start()
        self.threads.append(thread)

    def pids(self):
        return [one.pid for one in self.processes]

    def goes_on(self):
        return any(one.poll() is None for one in self.processes)

    def end(self):
        for one in self.processes:
            if one.poll() is None:
                one.kill()
        for one, thread in zip(self.processes, self.threads):
            one.wait()
            thread.join()

    def output(self, rank):
        return "".join(line for _, line in self.lines[rank])

    def codes(self):
        return [one.returncode for one in self.processes]


def memory_of(pid):
    """The most that it had so far, in bytes; 0: it is gone."""
    try:
        with open(f"/proc/{pid}/status") as lines:
            return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))
    except (OSError, StopIteration):
        return 0


def watch(run, flood):
    """Until the run has ended; the most memory of each process."""
    most = [0] * RANKS
    end = time.monotonic() + LIMIT
    while run.goes_on() and time.monotonic() < end:
        if flood is not None:
            flood.step()
        for rank, pid in enumerate(run.pids()):
            most[rank] = max(most[rank], memory_of(pid))
        time.sleep(0.002)
    if run.goes_on():
        raise Failed(f"it had not ended after {LIMIT:g} s")
    run.end()
    return most


def require_came(flood, number):
    """Fails unless nearly all strangers came before the run was over."""
    if flood.made < MOST_CAME * number:
        raise Failed(f"only {flood.made} of {number} strangers came")


def compare_memory(usual, most):
    worst = max(b - a for a, b in zip(usual, most))
    if worst > MOST_MEMORY:
        raise Failed(f"a rank took {worst / 2**20:.1f} MiB more")
    return f"{max(worst, 0) / 2**20:.1f} MiB more memory"


def meeting(chosen):
    def once(flooded):
        with tempfile.TemporaryDirectory(prefix="pipetrace strangers ") as folder, \
                Run(folder) as run:
            command = [str(chosen.build / "bin" / "control_ring"), folder]
            end = [str(RANKS), "--actions", "200", "--apart", "1"]
            for rank in range(RANKS - 1):
                run.start([*command, str(rank), *end], {})
            time.sleep(LATE / 4)
            flood = None
            if flooded:
                found = listening(run.pids())
                if not found:
                    raise Failed("no control port is open")
                flood = Flood(found, chosen.connections, chosen.per_second)
                while not flood.is_over():
                    flood.step()
                    time.sleep(0.001)
            run.start([*command, str(RANKS - 1), *end], {})
            most = watch(run, flood)
            if run.codes() != [0] * RANKS:
                raise Failed(f"it ended with {run.codes()}: {run.output(0)[-300:]}")
            return flood, most

    _, usual = once(False)
    flood, most = once(True)
    require_came(flood, chosen.connections)
    return f"{flood.made} strangers, {compare_memory(usual, most)}"


def train(chosen, choose_ports, number):
    """One run. `choose_ports` picks from what is listening, or is None."""
    with tempfile.TemporaryDirectory(prefix="pipetrace strangers ") as folder, Run(folder) as run:
        ports = Ports(free_port(), free_port())
        program = [str(chosen.build / "bin" / "faulty_training"), "--transport", "gloo",
                   "--model", "layers", "--layers", str(RANKS), "--schedule", "1F1B", "--stages",
                   str(RANKS), "--micro-batches", "4", "--steps", str(chosen.steps), "--pace-ms",
                   "20", "--losses", "losses", "--log-dir", "logs"]
        named = 'hostname "$0"; exec "$@"'
        begin = time.monotonic()
        flood = None
        most = [0] * RANKS
        for rank in range(RANKS):
            if rank == RANKS - 1 and choose_ports:
                flood = flood_while_they_come(run, choose_ports, ports, number, chosen)
            elif rank == RANKS - 1:
                time.sleep(LATE)
            run.start(["unshare", "--map-root-user", "--uts", "sh", "-c", named, f"host{rank}",
                       *program],
                      {"RANK": str(rank), "LOCAL_RANK": "0", "WORLD_SIZE": str(RANKS),
                       "LOCAL_WORLD_SIZE": "1", "MASTER_ADDR": "127.0.0.1",
                       "MASTER_PORT": str(ports.store), "PIPETRACE_CLOCK_PORT": str(ports.clock),
                       "OMP_NUM_THREADS": "1"})
        if choose_ports:
            while not any("step 1 " in line for lines in run.lines for _, line in lines):
                if not run.goes_on() or time.monotonic() > begin + LIMIT / 2:
                    break
                if flood is not None:
                    flood.step()
                time.sleep(0.002)
            found = choose_ports(listening(run.pids()), ports)
            left = number if flood is None else number - flood.made
            if flood is not None:
                flood.close()
            if run.goes_on() and not found:
                raise Failed("no such port is open")
            before = 0 if flood is None else flood.made
            flood = Flood(found or [("127.0.0.1", ports.store)], left, chosen.per_second)
            flood.made = before
        most = watch(run, flood)
        times = [at for lines in run.lines for at, line in lines if line.startswith("step ")]
        steps = [b - a for a, b in zip(times[10:], times[11:])]
        try:
            losses = pathlib.Path(folder, "losses").read_text()
        except OSError:
            losses = ""
        return run, most, statistics.median(steps) if steps else 0, losses, flood


def flood_while_they_come(run, choose_ports, ports, number, chosen):
    """A flood of the ports that are open already, while one rank is missing; None: there is none."""
    time.sleep(LATE / 2)
    found = choose_ports(listening(run.pids()), ports)
    flood = Flood(found, number // 2, chosen.per_second) if found else None
    end = time.monotonic() + LATE
    while flood is not None and not flood.is_over() and time.monotonic() < end:
        flood.step()
        time.sleep(0.002)
    return flood


def port_of_clock(found, ports):
    return [at for at in found if at[1] == ports.clock]


def ports_of_libtorch(found, ports):
    return sorted(at for at in found if at[1] != ports.clock)


def check_same(chosen, usual, run, longest, losses, most):
    _, usual_most, usual_step, usual_losses, _ = usual
    if run.codes() != [0] * RANKS:
        raise Failed(f"it ended with {run.codes()}: {run.output(0)[-500:]}")
    if losses != usual_losses or not losses:
        raise Failed("the losses are others")
    text = compare_memory(usual_most, most)
    if longest > usual_step * MOST_LONGER and not chosen.same_losses_only:
        raise Failed(f"a step took {longest * 1e3:.2f} ms, undisturbed {usual_step * 1e3:.2f}")
    return f"{text}, step {longest * 1e3:.2f} ms (undisturbed {usual_step * 1e3:.2f}), same losses"


def training(chosen):
    usual = train(chosen, None, 0)
    run, most, step, losses, flood = train(chosen, port_of_clock, chosen.connections)
    require_came(flood, chosen.connections)
    return f"{flood.made} strangers, {check_same(chosen, usual, run, step, losses, most)}"


def libtorch(chosen):
    usual = train(chosen, None, 0)
    number = min(500, chosen.connections)
    run, most, step, losses, flood = train(chosen, ports_of_libtorch, number)
    if any(code != 0 for code in run.codes()):
        silent = [rank for rank in range(RANKS) if "error: " not in run.output(rank)]
        if silent:
            raise Failed(f"ranks {silent} say no cause: {run.output(silent[0])[-500:]}")
        error = run.output(0)[run.output(0).rindex("error: "):].strip()
        return f"{flood.made} strangers, all ranks ended: {error[:200]}"
    require_came(flood, number)
    return f"{flood.made} strangers, {check_same(chosen, usual, run, step, losses, most)}"


def options():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", metavar="PART", choices=PARTS, help="one part")
    parser.add_argument("--connections", metavar="N", type=int, default=10000,
                        help="of strangers, at LibTorch's ports 500 at most (default: %(default)s)")
    parser.add_argument("--per-second", metavar="N", type=float, default=500,
                        help="so many come (default: %(default)g)")
    parser.add_argument("--same-losses-only", action="store_true",
                        help="do not judge the time of steps: other programs run beside")
    parser.add_argument("--steps", metavar="N", type=int, default=0,
                        help="that are trained (default: as long as strangers come, and 100 more)")
    parser.add_argument("--build", metavar="FOLDER", type=pathlib.Path,
                        default=ROOT / "build" / "all", help="of the programs (default: build/all)")
    chosen = parser.parse_args()
    chosen.build = chosen.build.resolve()
    chosen.steps = chosen.steps or 100 + int(40 * chosen.connections / chosen.per_second)
    for program in ("control_ring", "faulty_training"):
        if not (chosen.build / "bin" / program).exists():
            parser.error(f"{chosen.build}/bin has no {program}; build it with cmake --build --preset "
                         "all --target control_ring faulty_training")
    return chosen


def main():
    chosen = options()
    named = subprocess.run(["unshare", "--map-root-user", "--uts", "true"], check=False,
                           stderr=subprocess.DEVNULL).returncode == 0
    failed = False
    for part in (chosen.only,) if chosen.only else PARTS:
        if part != "meeting" and not named:
            print(f"{part}: skipped, this system gives no host names of their own to processes")
            continue
        try:
            print(f"{part}: {globals()[part](chosen)}", flush=True)
        except Failed as problem:
            failed = True
            print(f"{part}: FAILED, {problem}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except OSError as problem:
        print(f"stranger_trials: {problem}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(130)
