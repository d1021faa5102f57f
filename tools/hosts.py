#!/usr/bin/env python3
"""Several hosts on one machine, for a command: network namespaces behind a switch, which delays and
drops packets, cuts hosts off and slows their links.

  hosts.py N [--delay-ms MS] [--loss SHARE] [--mbit MBIT] -- COMMAND...
                                   makes N hosts, runs COMMAND, and takes them away
  hosts.py run HOST -- COMMAND...  runs COMMAND in a host; from within the first COMMAND
  hosts.py tell ORDER...           changes the network; from within the first COMMAND
  hosts.py --self-test             tries all of it

The hosts are h0, h1, ... with the addresses 10.9.0.1, 10.9.0.2, ... on their interface eth0. Each has
a hostname of its own. COMMAND itself runs outside of them.

Orders:
  cut h2 h3     they are cut off from the others, and reach each other
  slow h1 MBIT  the link of h1 carries that many Mbit/s each way
  heal          all is as it was in the beginning
  state         what is cut and slow

Needs root, `ip` (Debian package iproute2) and /dev/net/tun. The kernel's netem is not needed. All goes
away when COMMAND ends, also after Ctrl-C or kill -9: interfaces, namespaces, and processes in them.
Exit codes: that of COMMAND; 2 could not.
Example: tools/hosts.py 2 --delay-ms 5 -- tools/hosts.py run h1 -- ip address show eth0
"""
import argparse
import os
import signal
import subprocess
import sys

sys.dont_write_bytecode = True
from network.hosts import Hosts, NoHosts, enter, tell  # noqa: E402
from network.system import die_with_parent  # noqa: E402


def options(arguments):
    own, command = arguments, []
    if "--" in arguments:
        at = arguments.index("--")
        own, command = arguments[:at], arguments[at + 1:]
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", metavar="N | run HOST | tell ORDER", nargs="*")
    parser.add_argument("--delay-ms", metavar="MS", type=float, default=0,
                        help="a packet takes that long (default: %(default)s)")
    parser.add_argument("--loss", metavar="SHARE", type=float, default=0,
                        help="this share of packets is lost, 0.01 for 1 %% (default: %(default)s)")
    parser.add_argument("--mbit", metavar="MBIT", type=float, default=0,
                        help="of each link, each way (default: 0, no limit)")
    parser.add_argument("--seed", metavar="SEED", type=int, default=1,
                        help="of the lost packets (default: %(default)s)")
    parser.add_argument("--self-test", action="store_true", help="try the script itself")
    chosen = parser.parse_args(own)
    chosen.command = command
    if chosen.self_test:
        return chosen
    first = chosen.what[0] if chosen.what else ""
    chosen.number = int(first) if first.isdigit() else 0
    if not 0 <= chosen.loss <= 1:
        parser.error("SHARE is from 0 to 1")
    is_complete = (chosen.number > 0 and len(chosen.what) == 1 and command
                   or first == "run" and len(chosen.what) == 2 and command
                   or first == "tell" and len(chosen.what) > 1)
    if not is_complete:
        parser.error("say N -- COMMAND (N is 1 or more), run HOST -- COMMAND, or tell ORDER (try --help)")
    return chosen


def with_hosts(chosen):
    die_with_parent(signal.SIGTERM)
    with Hosts(chosen.number, delay_ms=chosen.delay_ms, loss=chosen.loss, mbit=chosen.mbit,
               seed=chosen.seed) as hosts:
        try:
            child = subprocess.Popen(chosen.command, env={**os.environ, **hosts.environment},
                                     preexec_fn=lambda: die_with_parent(signal.SIGKILL))
        except OSError as problem:
            raise NoHosts(f"cannot run {chosen.command[0]}: {problem.strerror}") from None
        try:
            code = child.wait()
        finally:
            if child.poll() is None:
                child.kill()
                child.wait()
    return code if code >= 0 else 128 - code


def stop(number, _frame):
    raise SystemExit(128 + number)


def main():
    chosen = options(sys.argv[1:])
    if chosen.self_test:
        from network.self_test import self_test
        return self_test(os.path.abspath(__file__))
    if chosen.number:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, stop)
        return with_hosts(chosen)
    if chosen.what[0] == "tell":
        print(tell(" ".join(chosen.what[1:])))
        return 0
    die_with_parent(signal.SIGKILL)
    enter(chosen.what[1])
    return run(chosen.command)


def run(command):
    try:
        os.execvp(command[0], command)
    except OSError as problem:
        raise NoHosts(f"cannot run {command[0]}: {problem.strerror}") from None


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (NoHosts, OSError) as problem:
        print(f"hosts: {problem}", file=sys.stderr)
        sys.exit(2)
