"""Compares our DualPipe cell by cell with the order in which DeepSeek's runs.

Runs step() of dualpipe/dualpipe.py of a clone of deepseek-ai/DualPipe for every rank, with
stand-ins for its imports, and notes the computations instead of doing them.
"""

import argparse
import importlib.util
import os
import sys
from unittest.mock import MagicMock

from our_plans import compare

SKIPPED = 77


def load_dual_pipe(clone):
    for name in (
        "torch",
        "torch.nn",
        "torch.distributed",
        "dualpipe",
        "dualpipe.comm",
        "dualpipe.utils",
    ):
        sys.modules[name] = MagicMock()
    # `import a.b as c` looks for b in a.
    sys.modules["torch"].nn = sys.modules["torch.nn"]
    sys.modules["torch.nn"].Module = type("Module", (), {})
    path = os.path.join(clone, "dualpipe", "dualpipe.py")
    spec = importlib.util.spec_from_file_location("dualpipe.dualpipe", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.DualPipe


def recording(dual_pipe):
    """Phase 0 of a rank of the first half is the forward direction, of the second the reversed."""

    class Recording(dual_pipe):
        def __init__(self, rank, ranks, micro_batches):
            self.rank = rank
            self.num_ranks = ranks
            self.batch_dim = 0
            self.is_first_rank = rank == 0
            self.is_last_rank = rank == ranks - 1
            self.is_in_second_half = rank >= ranks // 2
            self.is_middle_rank = rank in (ranks // 2 - 1, ranks // 2)
            self.row = []
            self.stages = (rank, ranks - 1 - rank)
            self.next_forward = [0, micro_batches // 2]
            self.next_backward = [0, micro_batches // 2]
            self.pending = []

        def _cell(self, phase, letter, counters):
            direction = phase ^ self.is_in_second_half
            cell = "%d%s%d" % (self.stages[direction], letter, counters[direction])
            counters[direction] += 1
            return cell

        def _forward_compute_chunk(self, phase):
            self.row.append(self._cell(phase, "F", self.next_forward))

        def _backward_compute_chunk(self, phase, enable_zb=False):
            cell = self._cell(phase, "I" if enable_zb else "B", self.next_backward)
            self.row.append(cell)
            if enable_zb:
                self.pending.append(cell.replace("I", "W"))

        def _forward_backward_compute_chunk(self, phase0, phase1):
            forward = self._cell(phase0, "F", self.next_forward)
            backward = self._cell(phase1, "B", self.next_backward)
            self.row.append("(%s;%s)OVERLAP_F_B" % (forward, backward))

        def _weight_chunk(self):
            self.row.append(self.pending.pop(0))

        def _no_transfer(self, *_args):
            pass

        _recv_forward = _send_forward = _no_transfer
        _recv_backward = _send_backward = _commit_and_wait_comm = _no_transfer

    return Recording


def rows(recording_class, ranks, micro_batches):
    rows = []
    for rank in range(ranks):
        pipe = recording_class(rank, ranks, micro_batches)
        pipe.step(num_chunks=micro_batches, criterion=len)
        assert not pipe.pending
        rows.append(pipe.row)
    return rows


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("print_plans")
    parser.add_argument("clone", nargs="?", default="", help="a clone of deepseek-ai/DualPipe")
    arguments = parser.parse_args()
    if not os.path.exists(os.path.join(arguments.clone, "dualpipe", "dualpipe.py")):
        print("skipped: no DualPipe in %r; set PIPETRACE_DUALPIPE_DIR" % arguments.clone)
        return SKIPPED

    recording_class = recording(load_dual_pipe(arguments.clone))
    plans = {
        ("DualPipe", ranks, micro_batches, 1): rows(recording_class, ranks, micro_batches)
        for ranks in range(2, 18, 2)
        for micro_batches in range(2 * ranks, 2 * ranks + 16, 2)
    }
    different = compare([arguments.print_plans], plans)
    print("DualPipe: %d sizes, %d differ" % (len(plans), different))
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
