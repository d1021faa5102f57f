"""Plans as pipe-trace makes them: which rank has which stages, and the order of its actions."""

import re
import subprocess

from schedule_list import schedules

ACTION = re.compile(r"^(?:\d+[FBIWR]\d+|\(\S+\)OVERLAP_F_B)$")
CELL = re.compile(r",(?![^(]*\))")
STAGE = re.compile(r"(\d+)[FBIWR]\d+")


class Plan:
    def __init__(self, rows):
        self.rows = rows  # of each rank: its actions in their order, without transfers
        self.stages = [sorted({int(s) for cell in row for s in STAGE.findall(cell)}) for row in rows]
        self.stage_count = 1 + max(max(stages) for stages in self.stages)

    def ranks_of(self, stage):
        return [rank for rank, stages in enumerate(self.stages) if stage in stages]

    def ranks_that_load(self):
        """Those whose stages take tensors of the batch: inputs for the first, targets for the last."""
        return sorted({*self.ranks_of(0), *self.ranks_of(self.stage_count - 1)})


class Plans:
    """Asks pipe-trace, once for each plan."""

    def __init__(self, pipe_trace):
        self.pipe_trace, self.known, self.names = pipe_trace, {}, []

    def schedules(self):
        """Names of the schedules that train, and that need no search."""
        if not self.names:
            self.names = [known.name for known in schedules(self.pipe_trace)
                          if known.trains and not known.searches]
        return self.names

    def find(self, schedule, ranks, micro_batches):
        """The plan; None: there is none of this size."""
        key = (schedule, ranks, micro_batches)
        if key not in self.known:
            asked = self._ask("--schedule", schedule, "--ranks", str(ranks), "--micro-batches",
                              str(micro_batches), "--csv", "/dev/stderr")
            self.known[key] = None if asked.returncode else Plan(read_rows(asked.stderr))
        return self.known[key]

    def _ask(self, *arguments):
        return subprocess.run([self.pipe_trace, "plan", *arguments], capture_output=True, text=True,
                              check=False)


def read_rows(csv):
    lines = [line for line in csv.splitlines() if line and not line.startswith("#")]
    return [[cell for cell in CELL.split(line) if ACTION.match(cell)] for line in lines]
