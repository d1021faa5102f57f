"""Connections to a run's ports by programs that are no ranks of it."""

import os
import random
import selectors
import socket
import time

KINDS = ("silent", "noise", "slow", "huge", "leaves")
MOST_AT_ONCE = 400
HELD = 3.0  # seconds for which a silent or a slow one stays
HUGE = 4 << 20


def listening(pids):
    """The TCP addresses at which processes listen: a dict from (host, port) to the process."""
    owners = {}
    for pid in pids:
        owners.update({inode: pid for inode in _sockets_of(pid)})
    found = {}
    for name, width in (("tcp", 8), ("tcp6", 32)):
        with open(f"/proc/net/{name}") as lines:
            for line in list(lines)[1:]:
                fields = line.split()
                if fields[3] == "0A" and fields[9] in owners:
                    host, port = fields[1].split(":")
                    found[(_host_of(host, width), int(port, 16))] = owners[fields[9]]
    return found


def _sockets_of(pid):
    inodes = []
    try:
        for name in os.listdir(f"/proc/{pid}/fd"):
            try:
                target = os.readlink(f"/proc/{pid}/fd/{name}")
            except OSError:
                continue
            if target.startswith("socket:["):
                inodes.append(target[8:-1])
    except OSError:
        pass
    return inodes


def _host_of(text, width):
    if width == 32:
        return "127.0.0.1" if set(text) <= {"0"} else "::1"
    octets = bytes.fromhex(text)[::-1]
    return "127.0.0.1" if not any(octets) else ".".join(str(one) for one in octets)


class Flood:
    """Sends strangers to addresses, so many a second, one of each kind in turn. step() does what is
    due, and never waits."""

    def __init__(self, addresses, number, per_second, seed=1):
        self.addresses, self.left, self.pause = list(addresses), number, 1 / per_second
        self.random = random.Random(seed)
        self.selector = selectors.DefaultSelector()
        self.open = {}  # by socket: kind, when it leaves, what is left to send
        self.next = time.monotonic()
        self.made, self.refused = 0, 0

    def is_over(self):
        return self.left == 0 and not self.open

    def step(self):
        now = time.monotonic()
        for one, (kind, leaves, left) in list(self.open.items()):
            if now >= leaves:
                self._close(one)
            elif kind == "slow" and left and one.fileno() not in self.selector.get_map():
                if left < 64 - 10 * (HELD - (leaves - now)):
                    continue
                self.selector.register(one, selectors.EVENT_WRITE)
        while self.left > 0 and now >= self.next and len(self.open) < MOST_AT_ONCE:
            self.next = max(self.next + self.pause, now - 0.1)
            self._come(now)
        for key, _ in self.selector.select(0):
            self._send(key.fileobj)

    def close(self):
        for one in list(self.open):
            self._close(one)

    def _come(self, now):
        self.left -= 1
        address = self.addresses[self.left % len(self.addresses)]
        kind = KINDS[self.left // len(self.addresses) % len(KINDS)]
        one = socket.socket(socket.AF_INET6 if ":" in address[0] else socket.AF_INET)
        one.setblocking(False)
        try:
            one.connect(address)
        except BlockingIOError:
            pass
        except OSError:
            self.refused += 1
            one.close()
            return
        self.made += 1
        size = {"silent": 0, "noise": self.random.randrange(1, 4096), "slow": 64, "huge": HUGE,
                "leaves": 1}[kind]
        held = HELD if kind in ("silent", "slow") else HELD / 3
        self.open[one] = (kind, now + held, size)
        if size:
            self.selector.register(one, selectors.EVENT_WRITE)

    def _send(self, one):
        kind, leaves, left = self.open[one]
        try:
            sent = one.send(self.random.randbytes(min(left, 1 if kind == "slow" else 65536)))
        except BlockingIOError:
            return
        except OSError:
            self._close(one)
            return
        left -= sent
        self.open[one] = (kind, leaves, left)
        if left == 0 or kind == "slow":
            self.selector.unregister(one)
        if left == 0 and kind == "leaves":
            self._close(one)

    def _close(self, one):
        if one.fileno() in self.selector.get_map():
            self.selector.unregister(one)
        one.close()
        self.open.pop(one, None)
