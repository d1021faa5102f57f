#!/usr/bin/env python3
"""Trains with pipe-run on four hosts with two ranks each, which are network namespaces: 5 ms each way,
1 % loss, wall clocks 20 ms apart. Checks what comes home, that a killed rank and a host that is cut
off are named by all others in 10 s, and that nothing is left on any host.

  four_hosts.py HOSTS_PY BIN    HOSTS_PY: ../shared/tools/hosts/hosts.py; BIN: of the built programs

Needs root, ip, unshare, /dev/net/tun and libfaketime (Debian package faketime); is skipped, with exit
code 77, where one is missing.
"""
import glob
import json
import os
import pathlib
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
COUNT, A_HOST, RANKS = 4, 2, 8
SKIPPED = 77
APART = 0.020  # seconds between the wall clocks of a host and the next
STAND_IN = HERE / "ssh_stand_in.py"
VARIABLE = "PIPETRACE_FOUR_HOSTS"


class Failure(Exception):
    pass


def check(condition, what, *shown):
    if not condition:
        raise Failure("\n".join([what, *map(str, shown)]))
    print("ok:", what, flush=True)


def faketime():
    found = glob.glob("/usr/lib/*/faketime/libfaketime.so.1")
    return found[0] if found else ""


def why_not(hosts_py):
    if not hosts_py.exists():
        return f"there is no {hosts_py}"
    if os.geteuid() != 0:
        return "hosts need root"
    for tool in ("ip", "unshare"):
        if shutil.which(tool) is None:
            return f"hosts need `{tool}`"
    if not os.path.exists("/dev/net/tun"):
        return "hosts need /dev/net/tun, which this kernel lacks"
    if not faketime():
        return "clocks that differ need the Debian package faketime"
    return ""


def address(host):
    return f"10.9.0.{host + 1}"


def in_host(host, command):
    """The command in a host with a name and a wall clock of its own."""
    clock = [] if host == 0 else [
        f"LD_PRELOAD={faketime()}", "FAKETIME_DISABLE_SHM=1", f"FAKETIME={APART * host:+.3f}s",
        "DONT_FAKE_MONOTONIC=1", "FAKETIME_DONT_FAKE_MONOTONIC=1"]
    return ["ip", "netns", "exec", f"h{host}", "unshare", "--uts", "env", *clock, *command]


def environments():
    """Of all processes: id and variables."""
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            state = pathlib.Path(f"/proc/{entry}/stat").read_text().rpartition(")")[2].split()[0]
            variables = pathlib.Path(f"/proc/{entry}/environ").read_bytes().split(b"\0")
        except OSError:
            continue
        if state not in "ZX":
            yield int(entry), variables


def of_run(name):
    """The processes of a run that its ranks' environment names."""
    mark = f"{VARIABLE}={name}".encode()
    return {pid: variables for pid, variables in environments() if mark in variables}


def agents():
    """The agents on other hosts, whoever started them."""
    found = []
    for pid, _ in environments():
        try:
            if b"--host-agent" in pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0"):
                found.append(pid)
        except OSError:
            continue
    return found


def rank_process(name, rank):
    return next(pid for pid, variables in of_run(name).items()
                if f"RANK={rank}".encode() in variables)


def wait_until(condition, seconds):
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


class Run:
    """pipe-run in h0, with ranks on all hosts."""

    def __init__(self, folder, binaries, name, steps):
        self.name, self.folder = name, folder / name
        self.logs = self.folder / "my logs"
        self.folder.mkdir()
        hosts = ",".join(f"{address(rank // A_HOST)}:{rank % A_HOST}" for rank in range(RANKS))
        training = [str(binaries / "faulty_training"), "--schedule", "1F1B", "--stages", str(RANKS),
                    "--micro-batches", "8", "--model", "layers", "--layers", "16", "--width", "32",
                    "--rows", "16", "--steps", str(steps), "--pace-ms", "2", "--step-timeout", "60",
                    "--losses", str(self.folder / "losses")]
        command = [str(binaries / "pipe-run"), "--hosts", hosts, "--remote-shell",
                   f"{sys.executable} '{STAND_IN}'", "--log-dir", str(self.logs), "--", *training]
        start = in_host(0, ["sh", "-c", 'hostname h0; exec "$@"', "sh", *command])
        self.output = open(self.folder / "output", "w+")
        self.process = subprocess.Popen(start, stdin=subprocess.DEVNULL, stdout=self.output,
                                        stderr=subprocess.STDOUT, cwd=self.folder,
                                        env={**os.environ, VARIABLE: name})
        self.master = set()

    def text(self):
        """All output without the frames of LibTorch's errors."""
        lines = (self.folder / "output").read_text(errors="replace").splitlines(True)
        return "".join(line for line in lines if "frame #" not in line)

    def log(self, rank):
        try:
            return (self.logs / f"workerlog.{rank}").read_text(errors="replace")
        except OSError:
            return ""

    def await_training(self):
        trains = wait_until(lambda: all("step = 2," in self.log(rank) for rank in range(RANKS))
                            or self.process.poll() is not None, 120)
        check(trains and self.process.poll() is None, f"{self.name}: all ranks train",
              self.text()[-3000:])

    def end(self, seconds):
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise Failure(f"{self.name}: the run did not end within {seconds} s\n"
                          + self.text()[-3000:]) from None

    def check_nothing_left(self):
        check(wait_until(lambda: not of_run(self.name) and not agents(), 15),
              f"{self.name}: nothing runs on any host", of_run(self.name).keys(), agents())

    def last_errors(self, but=()):
        """What ranks say last of why the run ended, from their logs at home."""
        return {rank: ([""] + re.findall(r"^error: (.*)$", self.log(rank), re.M))[-1]
                for rank in range(RANKS) if rank not in but}


def check_profile(run, binaries):
    profile = run.folder / "profile.sqlite"
    done = subprocess.run([str(binaries / "pipe-trace"), str(run.logs), "-o", str(profile)],
                          capture_output=True, text=True, check=False)
    check(done.returncode == 0, "the logs at home make one profile", done.stderr)
    with sqlite3.connect(profile) as base:
        rows = base.execute(
            "SELECT track.rank, track.lane, job.step, job.micro_batch, job.begin_ns, job.end_ns, "
            "job.peer FROM job JOIN track ON job.track = track.id "
            "WHERE track.lane LIKE 'send_%' OR track.lane LIKE 'recv_%'").fetchall()
    ends = {}
    for rank, lane, step, micro_batch, begin, end, peer in rows:
        what, _, way = lane.partition("_")
        way = way.split("_")[0]
        source, target = (rank, peer) if what == "send" else (peer, rank)
        ends.setdefault((source, target, way, step, micro_batch), {})[what] = (begin, end)
    pairs = [pair for pair in ends.values() if len(pair) == 2]
    check(len(pairs) > 1000, "the profile has both ends of messages", len(pairs), rows[:3])
    early = {key: pair["send"][0] - pair["recv"][1] for key, pair in ends.items()
             if len(pair) == 2 and pair["recv"][1] < pair["send"][0]}
    check(not early, "no message is received before it is sent", early, len(pairs))
    hosts = subprocess.run([str(binaries / "pipe-trace"), "align", str(run.logs)],
                           capture_output=True, text=True, check=False).stdout
    check(all(f"h{host}" in hosts for host in range(COUNT)), "the logs are of four hosts", hosts)
    shifts = [run.log(host * A_HOST) for host in range(COUNT)]
    starts = [int(re.search(r"Profiler Clock: .*?offset_ns = (-?\d+)", text)[1])
              if "offset_ns" in text else 0 for text in shifts]
    check(all(abs(abs(starts[host]) - host * APART * 1e9) < 8e6 for host in range(1, COUNT)),
          "their clocks are 20 ms apart", starts)


def check_training(folder, binaries):
    run = Run(folder, binaries, "trains", 60)
    follow = subprocess.Popen([str(binaries / "pipe-trace"), str(wait_for_folder(run)), "--follow",
                               "-o", str(run.folder / "live.json")], stderr=subprocess.PIPE,
                              text=True)
    code = run.end(240)
    check(code == 0, "a training on four hosts ends well", run.text()[-3000:], run.log(0)[-1500:])
    losses = [float.fromhex(line) for line in (run.folder / "losses").read_text().split()]
    check(len(losses) == 60, "it has trained all steps", len(losses))
    alone = subprocess.run([str(binaries / "faulty_training"), "--schedule", "1F1B", "--stages",
                            str(RANKS), "--micro-batches", "8", "--model", "layers", "--layers",
                            "16", "--width", "32", "--rows", "16", "--steps", "60", "--losses",
                            str(run.folder / "alone")], capture_output=True, text=True, check=False,
                           env={**os.environ, "OMP_NUM_THREADS": "1"}, cwd=run.folder)
    check((run.folder / "alone").read_text() == (run.folder / "losses").read_text(),
          "its losses are those of one process", alone.stderr)
    said = follow.communicate(timeout=60)[1]
    check(follow.returncode == 0, "pipe-trace --follow at home ends with the run", said)
    events = json.loads((run.folder / "live.json").read_text())
    events = events["traceEvents"] if isinstance(events, dict) else events
    steps = {event["args"]["step"] for event in events if "step" in event.get("args", {})}
    check(59 in steps, "the profile that it wrote has the last step", max(steps, default=None))
    check_profile(run, binaries)
    run.check_nothing_left()


def wait_for_folder(run):
    wait_until(run.logs.exists, 60)
    return run.logs


def check_kill(folder, binaries):
    run = Run(folder, binaries, "killed", 10**8)
    run.await_training()
    begin = time.monotonic()
    os.kill(rank_process("killed", 5), signal.SIGKILL)
    code = run.end(15)
    seconds = time.monotonic() - begin
    check(code == 2 and seconds < 10, "a killed rank ends the run within 10 s", code, seconds)
    errors = run.last_errors(but=(5,))
    check(all("rank 5 died" in error for error in errors.values()), "all others name it", errors)
    check(f"pipe-run: rank 5 was killed by signal 9 (SIGKILL) on host {address(2)}" in run.text(),
          "so does pipe-run", run.text()[-2000:])
    done = subprocess.run([str(binaries / "pipe-trace"), str(run.logs)], capture_output=True,
                          text=True, check=False)
    check(list(run.logs.glob("workerlog.5*.ring")) != [], "its ring file has come home", done.stderr)
    run.check_nothing_left()


def check_cut(folder, binaries, switch):
    run = Run(folder, binaries, "cut", 10**8)
    run.await_training()
    begin = time.monotonic()
    os.kill(switch, signal.SIGUSR1)
    named = {}

    def all_name_it():
        for rank, error in run.last_errors(but=(6, 7)).items():
            if error:
                named.setdefault(rank, (time.monotonic() - begin, error))
        return len(named) == 6

    wait_until(all_name_it, 20)
    check(all(seconds < 10 and "host h3 (ranks 6 and 7) has not been heard of" in error
              for seconds, error in named.values()) and len(named) == 6,
          "a host that is cut off is named by all others within 10 s", named, run.text()[-3000:])
    check(run.end(20) == 2, "the run ends", run.text()[-2000:])
    check(f"host {address(3)} (ranks 6 and 7) has not been heard of for 5." in run.text(),
          "pipe-run names the host, too", run.text()[-2000:])
    lines = run.log(6).splitlines()
    check(len(lines) > 20 and "step = " in lines[-2], "its logs at home go up to the cut", lines[-2:])
    run.check_nothing_left()
    os.kill(switch, signal.SIGUSR2)
    print(f"named after {', '.join(f'{seconds:.1f}' for seconds, _ in named.values())} s")


def inside(binaries, switch):
    servers = []
    scratch = tempfile.TemporaryDirectory(prefix="four hosts ")
    folder = pathlib.Path(scratch.name)
    try:
        for host in range(1, COUNT):
            own = folder / f"h{host}"
            own.mkdir()
            command = in_host(host, ["env", f"TMPDIR={own}", sys.executable, str(STAND_IN), "serve",
                                     f"h{host}"])
            server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
            servers.append(server)
            check(server.stdout.readline() == "serves\n", f"h{host} serves")
        check_training(folder, binaries)
        check_kill(folder, binaries)
        check(not list(folder.glob("h*/*")), "no files are left on any host",
              list(folder.glob("h*/*")))
        check_cut(folder, binaries, switch)
        check(list(folder.glob("h3/*/workerlog.6")) and not list(folder.glob("h[12]/*")),
              "the host that was cut off keeps its logs, and no other one does",
              list(folder.glob("h*/*")))
    finally:
        for server in servers:
            server.kill()
            server.wait()
        for name in ("trains", "killed", "cut"):
            for pid in of_run(name):
                os.kill(pid, signal.SIGKILL)
        scratch.cleanup()


def main():
    hosts_py, binaries = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]).resolve()
    if len(sys.argv) > 3:
        inside(binaries, os.getppid())
        return 0
    if reason := why_not(hosts_py):
        print("skipped:", reason)
        return SKIPPED
    return subprocess.run([sys.executable, str(hosts_py), str(COUNT), "--delay-ms", "5", "--loss",
                           "0.01", "--", sys.executable, __file__, str(hosts_py), str(binaries),
                           "inside"], check=False).returncode


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Failure as failure:
        sys.exit(f"failed: {failure}")
