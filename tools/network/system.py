"""Calls of the kernel that Python 3.11 has no functions for."""

import ctypes
import os

CLONE_NEWNS = 0x00020000
CLONE_NEWUTS = 0x04000000
CLONE_NEWUSER = 0x10000000
CLONE_NEWNET = 0x40000000
CLONE_NEWTIME = 0x00000080
MS_NOSUID, MS_NODEV, MS_REC, MS_PRIVATE = 2, 4, 16384, 1 << 18
PR_SET_PDEATHSIG = 1

_libc = ctypes.CDLL(None, use_errno=True)


def _check(result, what):
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


def unshare(kinds):
    """Moves this process into new namespaces of these kinds."""
    _check(_libc.unshare(kinds), "unshare")


def setns(descriptor, kind=0):
    """Moves this process into the namespace of an open /proc/PID/ns file."""
    _check(_libc.setns(descriptor, kind), "setns")


def mount(source, target, kind, flags, data=""):
    _check(_libc.mount(source.encode(), target.encode(), kind.encode(), flags, data.encode()),
           f"mount {target}")


def set_hostname(name):
    _check(_libc.sethostname(name.encode(), len(name)), "sethostname")


def die_with_parent(number, parent=None):
    """The kernel sends this process that signal when its parent's thread ends. `parent`: the parent's
    process, which may have ended already."""
    _check(_libc.prctl(PR_SET_PDEATHSIG, number, 0, 0, 0), "prctl")
    if parent is not None and os.getppid() != parent:
        os.kill(os.getpid(), number)


def shift_steady_clock(seconds):
    """This process and its children have a steady clock that is that much ahead."""
    unshare(CLONE_NEWTIME)
    with open("/proc/self/timens_offsets", "w") as offsets:
        whole = int(seconds // 1)
        offsets.write(f"monotonic {whole} {int((seconds - whole) * 1e9)}\n"
                      f"boottime {whole} {int((seconds - whole) * 1e9)}\n")
    own = os.open("/proc/self/ns/time_for_children", os.O_RDONLY)
    setns(own, CLONE_NEWTIME)
    os.close(own)
