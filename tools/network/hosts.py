"""Hosts as network namespaces. A process of its own has the switch, and a process for each host keeps
its namespaces. All of them end when the process that made the hosts does, whatever ends it."""

import fcntl
import os
import shutil
import signal
import socket
import struct
import subprocess
import time

from . import switch as switches
from .system import CLONE_NEWNET, CLONE_NEWUTS, die_with_parent, set_hostname, setns, unshare

VARIABLE = "PIPETRACE_HOSTS"  # where a network takes orders
TUN = "/dev/net/tun"
TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x400454CA, 0x0001, 0x1000
INTERFACE = "eth0"


class NoHosts(Exception):
    pass


def why_not():
    """Why this machine can have no hosts; empty: it can."""
    if os.geteuid() != 0:
        return "hosts need root"
    if shutil.which("ip") is None:
        return "hosts need `ip`: apt-get install iproute2"
    if not os.path.exists(TUN):
        return f"hosts need {TUN}, which this kernel lacks"
    return ""


def address_of(host):
    return f"10.9.0.{host + 1}"


def tell(order, name=None):
    """Gives an order to a network, by default that of this process's environment; its answer."""
    name = name or os.environ.get(VARIABLE)
    if not name:
        raise NoHosts(f"{VARIABLE} is not set: this works within hosts.py N -- COMMAND only")
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as connection:
        try:
            connection.connect("\0" + name)
        except OSError as problem:
            raise NoHosts(f"the network has gone ({problem})") from None
        connection.send(order.encode())
        word, _, text = connection.recv(4096).decode().partition(" ")
    if word != "ok":
        raise NoHosts(text or "the network has gone")
    return text


def namespaces_of(keeper):
    """Opens the namespaces of a host, by the process that keeps them."""
    return [os.open(f"/proc/{keeper}/ns/{kind}", os.O_RDONLY) for kind in ("net", "uts")]


def enter(host):
    """Moves this process into a host of the network of its environment."""
    for namespace in namespaces_of(int(tell(f"keeper {host}"))):
        setns(namespace)
        os.close(namespace)


def keep_host(host, channel):
    """The process of a host: makes its namespaces and its interface, and waits for its end."""
    unshare(CLONE_NEWNET | CLONE_NEWUTS)
    set_hostname(f"h{host}")
    device = os.open(TUN, os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(device, TUNSETIFF,
                struct.pack("16sH22x", INTERFACE.encode(), IFF_TUN | IFF_NO_PI))
    orders = (f"address add {address_of(host)}/24 dev {INTERFACE}\n"
              f"link set {INTERFACE} txqueuelen 10000 up\nlink set lo up\n")
    made = subprocess.run(["ip", "-batch", "-"], input=orders, text=True, capture_output=True)
    if made.returncode != 0:
        raise NoHosts("ip: " + made.stderr.strip())
    socket.send_fds(channel, [b"made"], [device])
    os.close(device)
    while True:
        signal.pause()


def start_host(host):
    """Starts the process of a host; its number, and the device of the host's interface."""
    ours, theirs = socket.socketpair()
    switch = os.getpid()
    keeper = os.fork()
    if keeper == 0:
        try:
            ours.close()
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                signal.signal(number, signal.SIG_IGN)
            die_with_parent(signal.SIGKILL, switch)
            keep_host(host, theirs)
        except BaseException as problem:
            theirs.send(str(problem).encode())
        os._exit(1)
    theirs.close()
    word, devices, _, _ = socket.recv_fds(ours, 4096, 1)
    ours.close()
    if not devices:
        raise NoHosts(f"cannot make h{host}: {word.decode() or 'its process has ended'}")
    return keeper, devices[0]


def end_processes(keepers):
    """Ends all that runs in the hosts, and the hosts."""
    own = set()
    for keeper in keepers:
        try:
            own.add(os.stat(f"/proc/{keeper}/ns/net").st_ino)
        except OSError:
            pass
    found = True
    while found:  # what a process has just started is found the next time
        found = False
        for entry in os.listdir("/proc"):
            try:
                if not entry.isdigit() or int(entry) in keepers:
                    continue
                if os.stat(f"/proc/{entry}/ns/net").st_ino in own:
                    os.kill(int(entry), signal.SIGKILL)
                    found = True
            except OSError:
                continue
        if found:
            time.sleep(0.01)
    for keeper in keepers:
        os.kill(keeper, signal.SIGKILL)
        os.waitpid(keeper, 0)


def be_switch(count, owner, name, settings):
    """The process of the switch."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # it ends with its owner
    keepers, devices = [], []
    try:
        listener = switches.listen(name)
        for host in range(count):
            keeper, device = start_host(host)
            keepers.append(keeper)
            devices.append(device)
        switch = switches.Switch(count, **settings)

        def answer(order):
            what, *rest = order.split() or [""]
            if what == "keeper" and len(rest) == 1:
                return str(keepers[switch.number(rest[0])])
            return switch.obey(order)

        owner.send(b"made")
        switches.serve(switch, devices, listener, owner, answer)
    except BaseException as problem:
        try:
            owner.send(str(problem).encode())
        except OSError:
            pass
    finally:
        end_processes(keepers)


class Hosts:
    """N hosts while it is entered. One at a time in a process, and no threads beside it."""

    def __init__(self, count, **settings):
        """`settings`: delay_ms, loss, mbit and seed, as Switch has them."""
        self.count, self.settings = count, settings
        self.names = [f"h{host}" for host in range(count)]
        self.addresses = [address_of(host) for host in range(count)]
        self.name = ""
        self._owner, self._switch, self._namespaces = None, 0, {}

    @property
    def environment(self):
        """The variables with which other processes find the network."""
        return {VARIABLE: self.name}

    def __enter__(self):
        if reason := why_not():
            raise NoHosts(reason)
        self.name = f"pipetrace-hosts-{os.getpid()}-{time.monotonic_ns()}"
        self._owner, theirs = socket.socketpair()
        self._switch = os.fork()
        if self._switch == 0:
            try:
                self._owner.close()
                be_switch(self.count, theirs, self.name, self.settings)
            finally:
                os._exit(0)
        theirs.close()
        word = self._owner.recv(4096).decode()
        if word != "made":
            self.__exit__()
            raise NoHosts(word or "the process of the switch has ended")
        for name in self.names:
            self._namespaces[name] = namespaces_of(int(self.tell(f"keeper {name}")))
        return self

    def __exit__(self, *_):
        for namespaces in self._namespaces.values():
            for namespace in namespaces:
                os.close(namespace)
        self._namespaces = {}
        self._owner.close()
        os.waitpid(self._switch, 0)

    def enter(self, name):
        """Moves the calling process, a child that was just forked, into a host."""
        for namespace in self._namespaces[name]:
            setns(namespace)

    def tell(self, order):
        return tell(order, self.name)

    def cut(self, *names):
        self.tell("cut " + " ".join(names))

    def slow(self, name, mbit):
        self.tell(f"slow {name} {mbit}")

    def heal(self):
        self.tell("heal")
