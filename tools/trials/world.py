"""The processes of a trial, their files, and what is left of them."""

import glob
import os
import random
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path

from network.hosts import Hosts
from network.system import die_with_parent, shift_steady_clock

from . import sanitizers
from .small_disk import SmallDisk
from .trial import SHIFTS, UPTIMES

TOKEN = "PIPETRACE_TRIAL"
LOOK = 0.01  # seconds between two looks
FIRST_PORT, LAST_PORT = 12000, 31000  # below those that the system gives to connections
FOREIGN = ("PIPETRACE", "RANK", "LOCAL_", "WORLD_SIZE", "MASTER_", "TORCHELASTIC_", "OMP_")


def fake_wall_clock():
    """The library of the Debian package faketime; empty: it is not installed."""
    found = glob.glob("/usr/lib/*/faketime/libfaketime.so.1")
    return found[0] if found else ""


def can_listen(port):
    with socket.socket() as one:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            one.bind(("127.0.0.1", port))
            one.listen(1)
            return True
        except OSError:
            return False


def free_port():
    while True:
        port = random.randrange(FIRST_PORT, LAST_PORT)
        if can_listen(port) and can_listen(port + 1):
            return port


class World:
    """A trial's scratch folder, network and processes, while it is entered."""

    def __init__(self, trial, build):
        self.trial, self.bin = trial, Path(build).resolve() / "bin"
        self.token = f"{os.getpid()}-{trial.number}-{time.monotonic_ns()}"
        self.processes = {}  # by rank, or "run" for pipe-run and for a single process
        self.ended = {}      # when they ended
        self.reader = None
        self.keeps = False  # its files, when it is left
        self.network, self.disk, self.port = None, None, 0

    def __enter__(self):
        self.folder = Path(tempfile.mkdtemp(prefix="pipetrace trial "))
        for name in ("logs", "out", "tmp", "cwd", "reports"):
            (self.folder / name).mkdir()
        try:
            if self.trial.hosts:
                self.network = Hosts(self.trial.hosts, delay_ms=self.trial.delay_ms,
                                     loss=self.trial.loss, seed=self.trial.number).__enter__()
            if self.trial.fault == "full-disk":
                self.disk = SmallDisk(str(self.folder / "logs"), self.trial.disk_size()).__enter__()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        self.kill_all()
        for one in (self.network, self.disk):
            if one is not None:
                one.__exit__()
        if not self.keeps:
            shutil.rmtree(self.folder, ignore_errors=True)

    # Starting

    @property
    def mark(self):
        return self.folder / "mark"

    @property
    def losses(self):
        return self.folder / "losses"

    def training(self, steps, pace_ms, losses):
        """The command line that trains as the trial says."""
        trial = self.trial
        command = [str(self.bin / "faulty_training"), "--schedule", trial.schedule,
                   "--stages", str(trial.ranks), "--micro-batches", str(trial.micro_batches),
                   "--model", trial.model, "--layers", str(trial.layers),
                   "--width", str(trial.width), "--rows", str(trial.rows), "--steps", str(steps),
                   "--pace-ms", str(pace_ms), "--losses", str(losses)]
        if trial.partition:
            file = self.folder / "partition.json"
            file.write_text(f'{{"partition": {trial.partition}}}')
            command += ["--partition", str(file)]
        return command

    def environment(self, **more):
        base = {name: value for name, value in os.environ.items() if not name.startswith(FOREIGN)}
        return {**base, **sanitizers.environment(self.folder / "reports"), "OMP_NUM_THREADS": "1",
                "TMPDIR": str(self.folder / "tmp"), TOKEN: self.token, **more}

    def start(self, settings, steps):
        trial = self.trial
        command = self.training(steps, trial.pace_ms, self.losses)
        command += ["--step-timeout", str(settings.step_timeout), "--silence", str(settings.silence)]
        if not trial.overlap:
            command += ["--no-send-recv-overlap"]
        logs = str(self.folder / "logs")
        fault = {"PIPETRACE_FAULT_MARK": str(self.mark)}
        if trial.planted:
            fault["PIPETRACE_FAULT"] = trial.planted
        self.port = 29500 if trial.hosts else free_port()
        if trial.launcher:
            command = [str(self.bin / "pipe-run"), "--ranks", str(trial.ranks), "--log-dir", logs,
                       "--master-port", str(self.port), "--", *command]
            self._spawn("run", command, fault)
        elif trial.transport == "in-process":
            self._spawn("run", [*command, "--log-dir", logs], fault)
        else:
            for rank in range(trial.ranks):
                place = {"RANK": str(rank), "LOCAL_RANK": str(rank % trial.ranks_a_host),
                         "WORLD_SIZE": str(trial.ranks), "LOCAL_WORLD_SIZE": str(trial.ranks_a_host),
                         "MASTER_ADDR": "10.9.0.1" if trial.hosts else "127.0.0.1",
                         "MASTER_PORT": str(self.port), "PIPETRACE_LOG_DIR": logs}
                self._spawn(rank, command, {**fault, **place})

    def _spawn(self, name, command, variables):
        trial, parent = self.trial, os.getpid()
        host = name // trial.ranks_a_host if trial.hosts else None
        if trial.clocks and SHIFTS[host] and fake_wall_clock():
            variables = {**variables, "LD_PRELOAD": fake_wall_clock(), "FAKETIME_DISABLE_SHM": "1",
                         "FAKETIME": f"{SHIFTS[host]:+.3f}s", "DONT_FAKE_MONOTONIC": "1",
                         "FAKETIME_DONT_FAKE_MONOTONIC": "1"}

        def prepare():
            die_with_parent(signal.SIGKILL, parent)
            if host is not None:
                self.network.enter(f"h{host}")
                if trial.clocks and UPTIMES[host]:
                    shift_steady_clock(UPTIMES[host])
            if self.disk is not None:
                self.disk.enter()
            os.chdir(self.folder / "cwd")

        with self._output(name) as output:
            self.processes[name] = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=output, stderr=output,
                env=self.environment(**variables), preexec_fn=prepare, start_new_session=True)

    def _output(self, name):
        file = open(self.folder / "out" / str(name), "wb")
        if self.trial.variant != "reader":
            return file
        if self.reader is None:  # one for all of them, which goes away
            self.reader = subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=file)
        file.close()
        return open(os.dup(self.reader.stdin.fileno()), "wb")

    # Looking

    def output(self, name):
        try:
            return (self.folder / "out" / str(name)).read_text(errors="replace")
        except OSError:
            return ""

    def output_of_rank(self, rank):
        if rank in self.processes:
            return self.output(rank)
        text = self.output("run")
        if not self.trial.launcher:
            return text
        mark = f"[rank {rank}] "
        return "".join(line[len(mark):] for line in text.splitlines(True) if line.startswith(mark))

    def log_of(self, rank):
        keeper = f"/proc/{self.disk._keeper}/root" if self.disk is not None else ""
        return Path(f"{keeper}{self.folder}/logs/workerlog.{rank}")

    def train_all(self):
        """Whether all ranks train."""
        for rank in range(self.trial.ranks):
            try:
                if b"step = 1," not in self.log_of(rank).read_bytes():
                    return False
            except OSError:
                return False
        return True

    def look(self):
        """Notes which processes have ended."""
        for name, process in self.processes.items():
            if name not in self.ended and process.poll() is not None:
                self.ended[name] = time.monotonic()

    def wait(self, condition, seconds):
        """Whether the condition holds within so many seconds."""
        deadline = time.monotonic() + seconds
        while True:
            self.look()
            if condition():
                return True
            if time.monotonic() > deadline:
                return False
            time.sleep(LOOK)

    def pid_of(self, rank):
        """The process of a rank; None: it has none any more."""
        if rank in self.processes:
            return self.processes[rank].pid
        if not self.trial.launcher:
            return self.processes["run"].pid
        for pid in self.own_processes():
            if pid != self.processes["run"].pid and f"RANK={rank}" in environment_of(pid):
                return pid
        return None

    def own_processes(self):
        mark = f"{TOKEN}={self.token}"
        return [int(entry) for entry in os.listdir("/proc")
                if entry.isdigit() and mark in environment_of(entry)]

    # Ending

    def stop_reader(self):
        if self.reader is not None:
            self.reader.kill()
            self.reader.wait()
            self.reader.stdin.close()

    def kill_all(self):
        """Ends what still runs; how many processes that were."""
        count = 0
        while pids := self.own_processes():
            count = max(count, len(pids))
            for pid in pids:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
            self.look()
            time.sleep(LOOK)
        if self.reader is not None:
            self.stop_reader()
        return count


def environment_of(pid):
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            return file.read().decode(errors="replace").split("\0")
    except OSError:
        return []
