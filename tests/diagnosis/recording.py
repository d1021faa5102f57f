"""What a simulated run consists of: the simulation makes it, the writers of formats read it.

All times are whole nanoseconds of one true clock that starts at 0. Ranks are numbered with replicas
fastest: rank = position in the pipeline * replicas + replica.
"""

import dataclasses


@dataclasses.dataclass(slots=True)
class Job:
    """Something that the compute stream of a rank did."""

    letter: str  # F, B (the whole backward), I and W (its halves); or data, optimizer, checkpoint
    step: int
    stage: int  # virtual: 0 to positions * chunks - 1; of data and the like the rank's first
    chunk: int  # which of the rank's stages
    micro_batch: int  # 0 of data and the like
    launched: int  # when the host asked for it; not after `begin`
    begin: int
    end: int


@dataclasses.dataclass(slots=True)
class Message:
    """Activations (direction F) or their gradients (B) between two stages on different ranks."""

    direction: str
    step: int
    micro_batch: int
    stage: int  # of the job that sends it
    to_stage: int  # of the job that waits for it
    source: int  # ranks
    target: int
    sent: int  # when the sender posted it
    received: int  # when the receiver posted its receive
    begin: int  # when its bytes began to move: not before both, nor before the line was free
    end: int
    size: int  # bytes
    size_ns: int = 0  # how long it moves


@dataclasses.dataclass(slots=True)
class Collective:
    """Between jobs, or beside them: gradients of replicas, or the norm of all gradients."""

    kind: str  # all_reduce, all_gather, reduce_scatter
    use: str  # gradients, norm
    step: int
    stage: int  # of gradients; -1 of the norm
    ranks: tuple
    came: dict  # of each rank, when it began its part
    end: int  # of all of them
    size: int


@dataclasses.dataclass(slots=True)
class Recording:
    case: dict  # what cases.py drew
    jobs: list  # of each rank its jobs, in order
    messages: list
    collectives: list
    clocks: list  # of each rank, by how much its clock shows more than the true one

    @property
    def world(self):
        return len(self.jobs)
