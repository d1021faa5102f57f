"""Compares the clocks of several hosts, so that messages between them have the right order.

Rank 0 answers what time it is, on the host of MASTER_ADDR. Where, and the token that it asks for,
the others read in torch.distributed's store. They do so in a thread, and never wait for it.
"""

import os
import sys
import threading
import time

from . import switches

_KEY = "pipetrace/clock"
_PATIENCE_S = 60  # for rank 0 to have begun


def compare(sink, rank, world_size):
    """Returns a function that ends what was begun here; None where there is one host."""
    address = os.environ.get("MASTER_ADDR")
    if not world_size or not address or not switches.has_several_hosts(world_size):
        return None
    dist = sys.modules.get("torch.distributed")
    if dist is None or not dist.is_initialized():
        return None
    store = dist.distributed_c10d._get_default_store()
    if rank == 0:
        token = os.urandom(16).hex()
        port = sink.library.serve_clock(sink.handle, address.encode(), 0, token.encode())
        if port > 0:  # else that is no address of this host, but one that leads to it
            store.set(_KEY, f"{port} {token}")
        return None
    is_over = threading.Event()
    thread = threading.Thread(target=_ask, args=(sink, store, address, is_over), daemon=True)
    thread.start()

    def end():
        is_over.set()
        thread.join(5)

    return end


def _ask(sink, store, address, is_over):
    until = time.monotonic() + _PATIENCE_S
    while time.monotonic() < until and not is_over.is_set():
        try:
            if store.check([_KEY]):
                port, token = store.get(_KEY).decode().split()
                sink.library.compare_clock(sink.handle, address.encode(), int(port), token.encode())
                return
        except Exception:  # the store is gone: the program ends
            return
        is_over.wait(0.2)
