"""Programs with a limit of time and memory, which end with this one."""

import os
import resource
import signal
import subprocess
import time
from dataclasses import dataclass

MEMORY = 6 << 30  # of one program: a mutant may fill a list for ever
FILE_SIZE = 2 << 30


@dataclass
class Ended:
    code: int  # below 0: minus the number of a signal
    output: str
    seconds: float
    ran_out: bool = False  # it was stopped at the limit


def _limit(cpu_seconds):
    def limit():
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_FSIZE, (FILE_SIZE, FILE_SIZE))
        if cpu_seconds:
            resource.setrlimit(resource.RLIMIT_CPU, (cpu_seconds, cpu_seconds + 5))
    return limit


def _stop(process):
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()


def run_together(commands, folder, seconds, cpu_seconds=0, env=None):
    """Runs all at once, each in a process group of its own. All are stopped when one fails. Returns
    those that ended; a failure is the last one."""
    begin = time.monotonic()
    running, ended = [], []
    try:
        for command, extra in commands:
            log = os.memfd_create("output")
            process = subprocess.Popen(
                command, cwd=folder, env={**os.environ, **(env or {}), **extra}, stdout=log,
                stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, start_new_session=True,
                preexec_fn=_limit(cpu_seconds))
            running.append((process, log))
        while running:
            waited = time.monotonic() - begin
            for item in list(running):
                process, log = item
                code = process.poll()
                ran_out = code is None and waited > seconds
                if code is None and not ran_out:
                    continue
                running.remove(item)
                _stop(process)
                ran_out = ran_out or code == -signal.SIGXCPU
                ended.append(Ended(process.returncode, _read(log), waited, ran_out))
                if ran_out or code != 0:
                    return ended
            time.sleep(0.01 if waited < 2 else 0.1)
        return ended
    finally:
        for process, log in running:
            _stop(process)
            os.close(log)


def _read(log):
    size = os.lseek(log, 0, os.SEEK_END)
    output = os.pread(log, min(size, 1 << 20), max(size - (1 << 20), 0))
    os.close(log)
    return output.decode(errors="replace")


def run(command, folder, seconds, env=None):
    return run_together([(command, {})], folder, seconds, 0, env)[-1]
