"""Runs one trial and says what was wrong."""

import dataclasses
import os
import signal
import subprocess
import time

from network.hosts import NoHosts, why_not

from . import sanitizers
from .expectation import FOR_GOOD, expectation_of
from .log_check import check_logs
from .small_disk import NoDisk
from .verdicts import (check_causes, check_codes, check_cut, check_launcher, describe,
                       ended_actions, first_lost)
from .world import World, can_listen

TO_TRAIN, TO_FINISH, AFTER_PAUSE = 90, 180, 10  # seconds


@dataclasses.dataclass
class Outcome:
    complaints: list
    seconds: float = None  # from the fault until the last survivor had ended; None: it went on
    skipped: str = ""
    outputs: dict = dataclasses.field(default_factory=dict)
    kept: str = ""  # the folder of its files


def run_trial(trial, plan, settings, build, keeps=False):
    if trial.hosts and (reason := why_not()):
        return Outcome([], skipped=reason)
    expected = expectation_of(trial, settings, plan)
    expected.within *= settings.slower
    try:
        with World(trial, build) as world:
            outcome = Run(trial, plan, settings, expected, world).outcome()
            if keeps and outcome.complaints:
                outcome.kept = str(world.folder)
                world.keeps = True
            return outcome
    except (NoHosts, NoDisk) as problem:
        return Outcome([], skipped=str(problem))


class Run:
    def __init__(self, trial, plan, settings, expected, world):
        self.trial, self.plan, self.settings = trial, plan, settings
        self.expected, self.world = expected, world
        self.happened = None  # when

    def outcome(self):
        complaints = self.train()
        world = self.world
        outputs = {name: world.output(name) for name in world.processes}
        by_rank = {rank: world.output_of_rank(rank) for rank in range(self.trial.ranks)}
        seconds = self.seconds_to_end()
        if not complaints:
            complaints = self.judge(outputs, by_rank)
        complaints += self.leftovers()
        complaints += sanitizers.reports(world.folder / "reports", outputs)
        return Outcome(complaints, seconds, outputs=outputs)

    # The run

    def train(self):
        """Runs the training until it has ended; what went wrong with that."""
        world, trial, expected = self.world, self.trial, self.expected
        world.start(self.settings, FOR_GOOD if expected.is_sure_to_end else trial.steps)
        complaints = self.inflict()
        if complaints:
            return complaints
        if expected.is_sure_to_end:
            return self.await_end()
        limit = trial.seconds + TO_FINISH * self.settings.slower
        if not world.wait(lambda: not self.to_end(), limit):
            return [f"the run did not end within {limit:.0f} s: {self.stuck()}"]
        return []

    def inflict(self):
        """Makes the fault happen at its moment."""
        world, trial = self.world, self.trial
        if trial.fault == "full-disk":
            return []
        if trial.is_within:
            world.wait(lambda: world.mark.exists() or world.ended, TO_TRAIN * self.settings.slower)
            self.happened = time.monotonic()
            return [] if world.mark.exists() else ["the fault did not happen: " + self.stuck()]
        world.wait(lambda: world.train_all() or world.ended, TO_TRAIN * self.settings.slower)
        if not world.train_all():
            return ["the ranks did not train: " + self.stuck()]
        world.wait(lambda: world.ended, trial.delay)
        if world.ended:
            return ["a rank ended before the fault: " + self.stuck()]
        self.happened = time.monotonic()
        FAULTS[trial.fault](self)
        return []

    def pause(self):
        pid = self.world.pid_of(self.trial.rank)
        os.kill(pid, signal.SIGSTOP)
        in_process = self.trial.transport == "in-process"
        # An early end of the others ends no pause: the rank is to wake up to it.
        self.world.wait(lambda: pid_has_ended(pid) and not in_process, self.trial.seconds)
        try:
            os.kill(pid, signal.SIGCONT)
        except ProcessLookupError:
            pass  # pipe-run has killed it
        self.woken = time.monotonic()

    def signal_rank(self, number):
        os.kill(self.world.pid_of(self.trial.rank), number)

    def interrupt(self):
        processes = self.world.processes
        own = [self.trial.rank] if self.trial.variant == "one" else list(processes)
        for name in own:
            processes[name].send_signal(signal.SIGINT)

    def to_end(self):
        """The processes that have not ended, and that nobody stopped for good."""
        stays = {self.trial.rank} if self.trial.fault == "stop" else set()
        return [name for name in self.world.processes
                if name not in self.world.ended and name not in stays]

    def await_end(self):
        """Whether the run ends in time; a rank that was stopped has time after it goes on."""
        world, trial = self.world, self.trial
        limit = self.happened + self.expected.within
        if hasattr(self, "woken"):
            limit = max(limit, self.woken + AFTER_PAUSE)
        if not world.wait(lambda: not self.to_end(), limit - time.monotonic()):
            return [f"the run did not end within {self.expected.within} s: {self.stuck()}"]
        late = [name for name in world.processes if name in world.ended
                and world.ended[name] - self.happened > self.expected.within
                and name != trial.rank]
        if late and trial.transport != "in-process":
            longest = max(world.ended[name] for name in late) - self.happened
            return [f"{describe(late[0])} ended after {longest:.1f} s, not within "
                    f"{self.expected.within} s"]
        return []

    def seconds_to_end(self):
        ended = [when for name, when in self.world.ended.items()
                 if name not in self.expected.silent]
        if not self.expected.ends or self.happened is None or not ended or self.went_on():
            return None
        return max(ended) - self.happened

    def went_on(self):
        return all(process.returncode == 0 for process in self.world.processes.values())

    def stuck(self):
        lines = []
        first = sorted(self.world.ended, key=self.world.ended.get)[:3]
        for name in [*first, *self.to_end()[:3]]:
            process = self.world.processes[name]
            state = "still runs" if process.returncode is None else f"ended with {process.returncode}"
            last = (self.world.output(name).strip().splitlines() or ["no output"])[-1]
            lines.append(f"{describe(name)} {state}, last line: {last[:300]}")
        return "; ".join(lines)

    # The judgement

    def judge(self, outputs, by_rank):
        trial, expected, world = self.trial, self.expected, self.world
        whole = self.went_on()
        complaints = []
        if whole and not expected.goes_on:
            return ["the run went on to its end"]
        if whole:
            complaints += self.check_losses()
        elif not expected.ends:
            return [f"the run did not reach its end: {self.stuck()}"]
        else:
            complaints += self.check_ended(outputs, by_rank)
        lost = {}
        for output in outputs.values():
            lost.update(first_lost(output))
        if expected.lost_logs and not lost:
            complaints.append("nobody says that logs are incomplete")
        return complaints + check_logs(world, self.plan, expected, whole,
                                       {} if whole else ended_actions(by_rank), lost)

    def check_ended(self, outputs, by_rank):
        trial, expected = self.trial, self.expected
        codes = {name: process.returncode for name, process in self.world.processes.items()}
        complaints = check_codes(trial, expected, codes)
        if trial.fault == "cut-off":
            return complaints + check_cut(trial, by_rank)
        if trial.fault == "launcher-killed":
            return complaints
        if trial.transport == "in-process":
            by_rank = {trial.rank: outputs["run"]}
        return (complaints + check_causes(trial, expected, by_rank)
                + check_launcher(trial, outputs.get("run", "")))

    def check_losses(self):
        """Whether an undisturbed run in one process has the same bits."""
        world, trial = self.world, self.trial
        file = world.folder / "usual losses"
        usual = subprocess.run(world.training(trial.steps, 0, file), cwd=world.folder / "cwd",
                               env=world.environment(), capture_output=True, text=True, check=False)
        if usual.returncode != 0:
            return [f"an undisturbed run fails: {usual.stderr.strip()[-300:]}"]
        wanted = file.read_text().split()
        got = world.losses.read_text().split() if world.losses.exists() else []
        if got == wanted and len(got) == trial.steps:
            return []
        at = next((i for i, (a, b) in enumerate(zip(got, wanted)) if a != b), len(got))
        return [f"the losses differ from those of an undisturbed run from step {at} on"]

    # What is left

    def leftovers(self):
        world = self.world
        complaints = []
        if self.trial.fault == "stop" and self.trial.rank in world.processes:
            world.processes[self.trial.rank].kill()
            world.processes[self.trial.rank].wait()
        world.wait(lambda: not self.own_left(), 1)
        if left := self.own_left():
            complaints.append(f"{len(left)} processes are left")
        world.kill_all()
        if not self.trial.hosts and not (can_listen(world.port) and can_listen(world.port + 1)):
            if world.port:
                complaints.append(f"a port of the run is still taken: {world.port} or the next")
        for name in ("tmp", "cwd"):
            if files := sorted(os.listdir(world.folder / name)):
                complaints.append(f"files are left in {name}: {', '.join(files[:5])}")
        if not self.world.disk:
            rings = [file.name for file in (world.folder / "logs").iterdir()
                     if file.name.endswith(".ring")]
            for name in rings:
                rank = int(name.split(".")[1])
                if not self.may_leave_ring(rank):
                    complaints.append(f"rank {rank} has left its ring file")
        return complaints

    def own_left(self):
        reader = self.world.reader.pid if self.world.reader is not None else None
        return [pid for pid in self.world.own_processes() if pid != reader]

    def may_leave_ring(self, rank):
        """A process that was ended, or ended itself, has not closed its log."""
        if rank in self.expected.silent or self.trial.fault == "launcher-killed":
            return True
        process = self.world.processes.get(rank, self.world.processes.get("run"))
        return process.returncode in (124, -9) or (self.trial.launcher and not self.went_on())


def pid_has_ended(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


FAULTS = {
    "kill": lambda run: run.signal_rank(signal.SIGKILL),
    "stop": lambda run: run.signal_rank(signal.SIGSTOP),
    "pause-short": Run.pause,
    "pause-long": Run.pause,
    "closed-output": lambda run: run.world.stop_reader(),
    "cut-off": lambda run: run.world.network.cut(f"h{run.trial.host}"),
    "slow-link": lambda run: run.world.network.slow(f"h{run.trial.host}", 1),
    "ctrl-c": Run.interrupt,
    "launcher-killed": lambda run: run.world.processes["run"].kill(),
}
