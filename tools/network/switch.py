"""The switch between the hosts: passes packets on, later, fewer or not at all, as it is ordered to."""

import heapq
import os
import random
import select
import socket
import time

PACKET = 65536
BURST = 64  # packets of a host before another one's turn
QUEUED_BYTES = 64 * 1024  # that a slow link holds; what comes then is lost, as in a router


class BadOrder(Exception):
    pass


class Link:
    """One direction between a host and the switch."""

    def __init__(self, mbit):
        self.mbit, self.free = mbit, 0.0

    def passes(self, size, now):
        """When a packet that comes now has passed; None: it is lost."""
        if not self.mbit:
            return now
        rate = self.mbit * 1e6 / 8
        begin = max(self.free, now)
        if (begin - now) * rate > QUEUED_BYTES:
            return None
        self.free = begin + size / rate
        return self.free


class Switch:
    """Knows no sockets: packets go in with their time, and come out with theirs."""

    def __init__(self, count, delay_ms=0.0, loss=0.0, mbit=0.0, seed=1):
        self.count, self.delay, self.loss, self.mbit = count, delay_ms / 1e3, loss, mbit
        self.random = random.Random(seed)
        self.sides = [0] * count
        self.up, self.down = [], []
        self.heal()

    def heal(self):
        self.sides = [0] * self.count
        self.up = [Link(self.mbit) for _ in range(self.count)]
        self.down = [Link(self.mbit) for _ in range(self.count)]

    def target(self, packet):
        """The host that a packet is for; None: none of these."""
        is_ipv4 = len(packet) >= 20 and packet[0] >> 4 == 4
        host = packet[19] - 1 if is_ipv4 else -1
        return host if 0 <= host < self.count else None

    def arrival(self, sender, target, size, now):
        """When a packet is there; None: it is lost."""
        if self.sides[sender] != self.sides[target]:
            return None
        if self.loss and self.random.random() < self.loss:
            return None
        passed = self.up[sender].passes(size, now)
        if passed is not None:
            passed = self.down[target].passes(size, passed)
        return None if passed is None else passed + self.delay

    def number(self, name):
        if not (name[:1] == "h" and name[1:].isdigit() and int(name[1:]) < self.count):
            raise BadOrder(f"no host {name}")
        return int(name[1:])

    def obey(self, order):
        """Does what an order says; its answer."""
        what, *rest = order.split() or [""]
        if what == "cut" and rest:
            side = max(self.sides) + 1
            for host in [self.number(name) for name in rest]:
                self.sides[host] = side
        elif what == "slow" and len(rest) == 2:
            try:
                mbit = float(rest[1])
            except ValueError:
                raise BadOrder(f"{rest[1]} is no number of Mbit/s") from None
            host = self.number(rest[0])
            self.up[host].mbit = self.down[host].mbit = mbit
        elif what == "heal" and not rest:
            self.heal()
        elif what != "state" or rest:
            raise BadOrder(f"no order '{order}'")
        return self.state()

    def state(self):
        cut = [f"h{i}" for i, side in enumerate(self.sides) if side]
        slow = [f"h{i} to {link.mbit:g} Mbit/s" for i, link in enumerate(self.up)
                if link.mbit != self.mbit]
        return "; ".join((["cut off: " + " ".join(cut)] if cut else [])
                         + (["slowed: " + ", ".join(slow)] if slow else [])) or "whole"


def serve(switch, devices, listener, owner, answer):
    """Passes packets between the hosts' devices until `owner`, a socket, is closed at its other end.
    Takes orders at `listener`; `answer(order)` gives the reply."""
    poll = select.poll()
    sockets = {}
    for thing in [*devices, listener.fileno(), owner.fileno()]:
        poll.register(thing, select.POLLIN)
    hosts = {device: host for host, device in enumerate(devices)}
    queue, count = [], 0
    while True:
        wait = max(0.0, queue[0][0] - time.monotonic()) * 1e3 if queue else 1000
        for ready, _ in poll.poll(wait):
            if ready in hosts:
                count = forward(switch, hosts[ready], devices, queue, count)
            elif ready == owner.fileno():
                return
            elif ready == listener.fileno():
                connection, _ = listener.accept()
                sockets[connection.fileno()] = connection
                poll.register(connection, select.POLLIN)
            else:
                connection = sockets.pop(ready)
                poll.unregister(ready)
                reply(connection, answer)
        now = time.monotonic()
        while queue and queue[0][0] <= now:
            _, _, target, packet = heapq.heappop(queue)
            deliver(devices[target], packet)


def forward(switch, sender, devices, queue, count):
    for _ in range(BURST):
        try:
            packet = os.read(devices[sender], PACKET)
        except OSError:
            break
        target = switch.target(packet)
        if target is None:
            continue
        now = time.monotonic()
        arrival = switch.arrival(sender, target, len(packet), now)
        if arrival is None:
            continue
        if arrival <= now and not queue:
            deliver(devices[target], packet)
        else:
            count += 1  # packets of one time stay in order
            heapq.heappush(queue, (arrival, count, target, packet))
    return count


def deliver(device, packet):
    try:
        os.write(device, packet)
    except OSError:
        pass  # the host's queue is full, or it has no interface any more


def reply(connection, answer):
    with connection:
        try:
            order = connection.recv(4096).decode()
            try:
                text = "ok " + answer(order)
            except BadOrder as problem:
                text = f"error {problem}"
            connection.send(text.encode())
        except (OSError, UnicodeDecodeError):
            pass  # whoever asked has gone


def listen(name):
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    listener.bind("\0" + name)  # has no file, so none is left
    listener.listen()
    return listener
