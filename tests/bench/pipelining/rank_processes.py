"""Runs a command as several ranks of this machine, and ends all of them whatever happens."""

import ctypes
import json
import os
import signal
import socket
import subprocess
import tempfile
import time

LAST_LINES = 12  # of a rank's output, in errors
PR_SET_PDEATHSIG = 1


class RankFailed(Exception):
    """A rank died, hung or printed no result."""


def free_ports(count):
    probes = [socket.socket() for _ in range(count)]
    try:
        for probe in probes:
            probe.bind(("127.0.0.1", 0))
        return [probe.getsockname()[1] for probe in probes]
    finally:
        for probe in probes:
            probe.close()


def die_with_parent():
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def rank_environment(rank, ranks, port):
    own = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": ranks, "LOCAL_WORLD_SIZE": ranks,
           "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, "OMP_NUM_THREADS": 1}
    return {"GLOO_SOCKET_IFNAME": "lo", **os.environ, **{name: str(own[name]) for name in own}}


class Ranks:
    """The processes of one run. Leaving the `with` block kills those that still run."""

    def __init__(self, command, ranks, port):
        self.command, self.ranks, self.port = command, ranks, port
        self.files, self.processes = [], []

    def __enter__(self):
        try:
            for rank in range(self.ranks):
                self.start(rank)
        except BaseException as error:  # a signal, too
            self.__exit__()
            if isinstance(error, OSError):
                raise RankFailed(f"{self.command[0]} does not start: {error.strerror}") from error
            raise
        return self

    def start(self, rank):
        out, err = tempfile.TemporaryFile(), tempfile.TemporaryFile()
        self.files.append((out, err))
        self.processes.append(subprocess.Popen(
            self.command, env=rank_environment(rank, self.ranks, self.port),
            stdin=subprocess.DEVNULL, stdout=out, stderr=err, start_new_session=True,
            preexec_fn=die_with_parent))

    def __exit__(self, *_):
        for process in self.processes:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
        for process in self.processes:
            process.wait()
        for file in [file for pair in self.files for file in pair]:
            file.close()

    def text(self, rank, which):
        file = self.files[rank][which]
        file.seek(0)
        return file.read().decode(errors="replace")

    def failure(self, rank, what):
        lines = (self.text(rank, 0) + self.text(rank, 1)).splitlines()[-LAST_LINES:]
        return RankFailed("\n".join([f"{self.command[0]}: rank {rank} {what}", *lines]))

    def wait(self, timeout):
        """Waits for all; raises RankFailed for the first that fails or if time is up."""
        end = time.monotonic() + timeout
        while True:
            codes = [process.poll() for process in self.processes]
            for rank, code in enumerate(codes):
                if code:
                    raise self.failure(rank, f"died of {signal.Signals(-code).name}" if code < 0
                                       else f"ended with exit code {code}")
            if None not in codes:
                return
            if time.monotonic() > end:
                raise self.failure(codes.index(None), f"still ran after {timeout} s")
            time.sleep(0.05)

    def results(self):
        """The line of JSON of each rank."""
        found = []
        for rank in range(self.ranks):
            lines = [line for line in self.text(rank, 0).splitlines() if line.startswith("{")]
            try:
                found.append(json.loads(lines[-1]))
            except (IndexError, ValueError):
                raise self.failure(rank, "printed no result") from None
        return found


def run_ranks(command, ranks, port, timeout):
    with Ranks(command, ranks, port) as running:
        running.wait(timeout)
        return running.results()
