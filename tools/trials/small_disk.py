"""A disk that gets full: a file system in memory, which only processes that enter it see."""

import os
import signal
import socket

from network.system import (CLONE_NEWNS, CLONE_NEWUSER, MS_NODEV, MS_NOSUID, MS_PRIVATE, MS_REC,
                            die_with_parent, mount, setns, unshare)


class NoDisk(Exception):
    pass


class SmallDisk:
    """While it is entered, `folder` is a disk of `size` bytes. Needs root, or a kernel that lets
    everybody have namespaces."""

    def __init__(self, folder, size):
        self.folder, self.size = folder, size
        self._keeper, self._namespaces = 0, []

    def __enter__(self):
        ours, theirs = socket.socketpair()
        parent = os.getpid()
        self._keeper = os.fork()
        if self._keeper == 0:
            try:
                die_with_parent(signal.SIGKILL, parent)
                self._keep(theirs)
            except BaseException as problem:
                theirs.send(str(problem).encode())
            os._exit(1)
        theirs.close()
        word = ours.recv(4096).decode()
        ours.close()
        if word != "made":
            self.__exit__()
            raise NoDisk(word)
        kinds = ["mnt"] if os.geteuid() == 0 else ["user", "mnt"]
        self._namespaces = [os.open(f"/proc/{self._keeper}/ns/{kind}", os.O_RDONLY)
                            for kind in kinds]
        return self

    def _keep(self, channel):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        user = os.geteuid(), os.getegid()
        if user[0] == 0:
            unshare(CLONE_NEWNS)
        else:
            unshare(CLONE_NEWUSER | CLONE_NEWNS)
            for name, text in (("setgroups", "deny"), ("uid_map", f"{user[0]} {user[0]} 1"),
                               ("gid_map", f"{user[1]} {user[1]} 1")):
                with open(f"/proc/self/{name}", "w") as file:
                    file.write(text)
        mount("none", "/", "none", MS_REC | MS_PRIVATE)
        mount("tmpfs", self.folder, "tmpfs", MS_NOSUID | MS_NODEV, f"size={self.size}")
        channel.send(b"made")
        while True:
            signal.pause()

    def enter(self):
        """Moves the calling process, a child that was just forked, to where the disk is."""
        for namespace in self._namespaces:
            setns(namespace)

    def __exit__(self, *_):
        for namespace in self._namespaces:
            os.close(namespace)
        self._namespaces = []
        os.kill(self._keeper, signal.SIGKILL)
        os.waitpid(self._keeper, 0)
