"""Tries the switch by itself, and hosts where this machine can have them."""

import os
import signal
import subprocess
import sys
import tempfile
import time

from self_check import Failure, check

from .hosts import VARIABLE, why_not
from .switch import BadOrder, Switch

SKIPPED = 77
PORT = 29876
SERVER = f"""import socket
with socket.create_server(("", {PORT})) as server:
    print("listens", flush=True)
    while True:
        connection, _ = server.accept()
        with connection:
            while data := connection.recv(65536):
                last = data
            connection.send(b"got it")
"""
# Sends so many bytes; prints how long that took, or the error.
CLIENT = f"""import socket, sys, time
begin = time.monotonic()
try:
    with socket.create_connection((sys.argv[1], {PORT}), timeout=float(sys.argv[3])) as connection:
        connection.sendall(bytes(int(sys.argv[2])))
        connection.shutdown(socket.SHUT_WR)
        assert connection.recv(100) == b"got it"
    print(time.monotonic() - begin)
except OSError as problem:
    print(type(problem).__name__)
"""


def check_switch():
    switch = Switch(3)
    check(switch.arrival(0, 1, 1000, 5.0) == 5.0, "a packet of a fast network arrives at once")
    check(Switch(2, delay_ms=20).arrival(0, 1, 1000, 5.0) == 5.02, "a delay is added")
    lossy = Switch(2, loss=0.2, seed=7)
    lost = sum(lossy.arrival(0, 1, 100, 0.0) is None for _ in range(2000))
    check(300 < lost < 500, "a fifth of the packets is lost", lost)
    switch.obey("cut h1 h2")
    check(switch.arrival(0, 1, 100, 0.0) is None and switch.arrival(2, 0, 100, 0.0) is None
          and switch.arrival(1, 2, 100, 0.0) == 0.0, "hosts cut off together reach each other alone")
    switch.obey("heal")
    check(switch.arrival(0, 1, 100, 0.0) == 0.0, "a healed network is whole")
    switch.obey("slow h1 1")
    check(switch.arrival(0, 1, 1250, 0.0) == 0.01 and switch.arrival(2, 1, 1250, 0.0) == 0.02,
          "packets to a slow host share its link")
    check(switch.arrival(1, 0, 1250, 0.0) == 0.01, "each way has a rate of its own")
    check(switch.arrival(0, 2, 1250, 0.0) == 0.0, "other links stay fast")
    late = [switch.arrival(0, 1, 1250, 0.0) for _ in range(100)]
    check(None in late and max(time for time in late if time) < 0.6, "a slow link holds 64 KiB")
    check(switch.state() == "slowed: h1 to 1 Mbit/s", "the state says what is slow", switch.state())
    for order in ("cut", "cut h3", "cut 1", "slow h1", "slow h1 fast", "heal h1", "fly", ""):
        try:
            switch.obey(order)
        except BadOrder:
            continue
        raise Failure(f"the order '{order}' is obeyed")
    check(switch.state() == "slowed: h1 to 1 Mbit/s", "a bad order is refused, and changes nothing")
    ipv4 = bytes([0x45] + [0] * 15 + [10, 9, 0, 3])
    check(Switch(3).target(ipv4) == 2 and Switch(2).target(ipv4) is None
          and Switch(3).target(b"\x60" + bytes(40)) is None and Switch(3).target(b"") is None,
          "packets of other protocols and for other addresses go nowhere")


class Tool:
    def __init__(self, script):
        self.command = [sys.executable, script]

    def start(self, count, command, *settings):
        return subprocess.Popen([*self.command, str(count), *settings, "--", *command],
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def within(self, environment):
        """Runs the tool within a network: tell, or run in a host."""
        def call(*arguments):
            return subprocess.run([*self.command, *arguments], env={**os.environ, **environment},
                                  capture_output=True, text=True, check=False)
        return call


def network_of(tool):
    """Starts two hosts, and a server in h1; the tool's process, and its call within the network."""
    shell = (f'echo "${VARIABLE}"; exec "$0" "$1" run h1 -- "$0" -c "$2"')
    process = tool.start(2, ["/bin/sh", "-c", shell, *tool.command, SERVER])
    name = process.stdout.readline().strip()
    listens = process.stdout.readline().strip()
    check(listens == "listens", "a command runs in a host", listens)
    return process, tool.within({VARIABLE: name})


def seconds(call, size, patience=5):
    """How long the host h0 takes to send so much to h1."""
    done = call("run", "h0", "--", sys.executable, "-c", CLIENT, "10.9.0.2", str(size),
                str(patience))
    text = done.stdout.strip()
    return float(text) if text[:1].isdigit() else text + done.stderr


def check_orders(call):
    names = [call("run", host, "--", "uname", "-n").stdout for host in ("h0", "h1")]
    check(names == ["h0\n", "h1\n"], "each host has a hostname of its own", names)
    fast = seconds(call, 200_000)
    check(isinstance(fast, float) and fast < 1, "hosts reach each other", fast)
    call("tell", "slow", "h1", "1")
    slow = seconds(call, 200_000)
    check(isinstance(slow, float) and 1.2 < slow < 4, "200 kB at 1 Mbit/s take more than 1.2 s", slow)
    call("tell", "cut", "h1")
    check(seconds(call, 10, 0.5) == "TimeoutError", "a host that is cut off is not reached")
    call("tell", "heal")
    healed = seconds(call, 200_000)
    check(isinstance(healed, float) and healed < 1, "a healed network is fast again", healed)
    bad = call("tell", "cut", "h7")
    check(bad.returncode == 2 and "no host h7" in bad.stderr, "a bad order says what is wrong",
          bad.stderr)


def network_namespaces():
    found = set()
    for entry in os.listdir("/proc"):
        try:
            found.add(os.stat(f"/proc/{entry}/ns/net").st_ino)
        except OSError:
            continue
    return found


def check_ends(tool):
    for number, name in ((signal.SIGINT, "Ctrl-C"), (signal.SIGTERM, "SIGTERM"),
                         (signal.SIGKILL, "kill -9")):
        before = network_namespaces()
        process, call = network_of(tool)
        check(len(network_namespaces() - before) == 2, "two hosts are two namespaces")
        process.send_signal(number)
        process.communicate(timeout=20)
        deadline = time.monotonic() + 5
        while network_namespaces() - before and time.monotonic() < deadline:
            time.sleep(0.02)
        check(not network_namespaces() - before, f"after {name} no namespace is left")
        gone = call("tell", "state")
        check(gone.returncode == 2, "nobody takes orders any more", gone.stdout)
    process = tool.start(2, ["/bin/sh", "-c", "exit 7"])
    process.communicate(timeout=20)
    check(process.returncode == 7, "the exit code is the command's")
    process = tool.start(2, ["/bin/sh", "-c", f'"$0" "$1" run h0 -- sleep 100 & exit 0',
                             *tool.command])
    begin = time.monotonic()
    process.communicate(timeout=20)
    check(time.monotonic() - begin < 10, "what still runs in a host is ended")


def check_refusal():
    os.seteuid(65534)
    try:
        reason = why_not()
    finally:
        os.seteuid(0)
    check(reason == "hosts need root", "without root it says so", reason)


def self_test(script):
    try:
        check_switch()
        if reason := why_not():
            print(f"skipped, the rest: {reason}")
            return SKIPPED
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            tool = Tool(script)
            process, call = network_of(tool)
            try:
                check_orders(call)
            finally:
                process.terminate()
                process.communicate(timeout=20)
            check_ends(tool)
            check_refusal()
            os.chdir("/")
    except Failure as failure:
        print(f"FAILED: {failure}")
        return 1
    return 0
