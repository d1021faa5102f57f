"""What is recorded of this process: its mode, its steps, and the job that is open.

Hooks (hooks.py) of each framework call the one Session. It is off until a pipeline is known, and
stays off where nothing can be recorded. Jobs are those of one thread, the one that runs the steps;
other threads are left alone.
"""

import atexit
import contextlib
import os
import sys
from dataclasses import dataclass
from threading import get_ident
from time import monotonic_ns

from . import clocks, imports, switches
from .library import EVALUATE, KINDS, NOT_GIVEN, PREDICT, TRAINING, Library
from .sinks import LogSink, RangeSink, RecordingError

# What job() takes.
JOB_KINDS = [kind for kind in KINDS if not kind.startswith(("send_", "recv_"))]
_MOST_NOTED = 4096  # messages that are kept until their step ends
_KEPT_NS = 100_000_000  # for how long the jobs of a step are kept before they go into the ring
_COMPUTE = frozenset(
    ("forward", "backward", "backward_input", "backward_weight", "forward_backward", "recompute")
)


_OF_FORWARDS = frozenset(("send_forward", "recv_forward"))


@dataclass
class Facts:
    """What is known of the run when its log is opened."""

    rank: int = 0
    world_size: int = None
    schedule: str = None
    num_stages: int = None
    num_chunks: int = None
    num_micro_batches: int = None
    data_parallel_index: int = None
    tensor_parallel_index: int = None
    device_name: str = "cpu"
    cuda_stream: int = None  # the handle of the stream that jobs run on; None: a CPU
    cuda_device: int = 0


@dataclass
class Beside:
    """A job that is not on the compute stream: a message, a collective, a load of data."""

    kind: str
    stage: int = NOT_GIVEN
    chunk: int = NOT_GIVEN
    micro_batch: int = 0
    peer: int = NOT_GIVEN
    bytes: int = NOT_GIVEN
    job_id: int = NOT_GIVEN
    members: str = None  # ranks of a collective, "0 4"
    step: int = NOT_GIVEN


def _whole(messages):
    """One message may have several tensors."""
    sizes = {}
    for numbers, peer, size in messages:
        sizes[numbers, peer] = sizes.get((numbers, peer), 0) + size
    return [(numbers, peer, size) for (numbers, peer), size in sizes.items()]


def say(text):
    """One line on stderr."""
    with contextlib.suppress(Exception):
        print(f"pipetrace: {text}", file=sys.stderr, flush=True)


class Session:
    # Slots lie side by side. After a job of some length nothing is in the processor's caches, and
    # what hooks look at costs as much as what they do. So the first ones are those of each job.
    __slots__ = (
        "is_off sink thread is_open is_held fused step loaded has_own_steps notes job began ended "
        "kept_until first_micro_batch steps_inside messages mode folder facts chunks next_step action schedule gathers "
        "ids collectives optimizer recorded_rank rank end_of_clocks is_registered phase is_unused"
    ).split()

    def __init__(self):
        self._reset()
        self.mode = None
        self.folder = None
        self.rank = None
        self.end_of_clocks = None  # a function, where clocks of hosts are compared
        self.is_registered = False

    def _reset(self):
        self.sink = None
        self.is_off = False  # nothing will be recorded any more
        self.facts = None  # a function that finds the Facts, once a schedule is known
        self.chunks = {}  # of this rank's stages
        self.thread = None
        self.step, self.next_step = -1, 0
        self.first_micro_batch = 0  # of the schedule's step, in the step of the program
        self.steps_inside = 0  # calls of schedules' steps that are under way
        self.has_own_steps = False
        self.phase = TRAINING  # of this step
        self.is_unused = False  # no job has begun in this step
        self.is_open = False  # a compute job is
        self.is_held = False  # ... whose end waits for the loss
        self.job = None  # what the open job was begun with: kind, stage, micro-batch, action
        self.fused = None  # the halves and the action of a fused pair that is under way
        self.action = None  # of torch's runtime, which begins
        self.schedule = None  # of torch, whose step is under way
        self.gathers = {}  # when weights of a stage were asked for
        self.loaded = []  # data that no step has used yet: when it was loaded
        self.ids = {}  # of the jobs of this step: whether it is a forward, stage, micro-batch
        self.notes = False  # whether jobs are kept until the step ends (a CPU); else the sink gets each at once
        self.began = 0  # when the open job did, where it is noted
        self.ended = []  # jobs that are not recorded yet: job, fused, when they began and ended
        self.kept_until = 0  # when jobs that are noted go into the ring before their step ends
        self.messages = []  # of this step, not recorded yet: messages, when they began and ended
        self.collectives = []  # the same
        self.optimizer = None
        self.recorded_rank = None

    # What hooks ask first.

    def is_ready(self):
        """Whether jobs of this thread are recorded now."""
        if self.sink is None and not self._open():
            return False
        return get_ident() == self.thread

    def knows(self, facts, chunks):
        """A schedule was made: `facts` finds its Facts, `chunks` has the chunk of each stage."""
        if self.sink is None:
            self.facts = facts
            self.thread = get_ident()
        self.chunks.update(chunks)

    def _open(self, explicit=False):
        if self.is_off or self.mode is None or (self.facts is None and not explicit):
            return False
        try:
            facts = self.facts() if self.facts is not None else plain_facts()
            if facts is None:
                return False
            if self.recorded_rank == facts.rank:  # a child of a process that records this rank
                self.is_off = True
                return False
            if self.mode == "annotate":
                self.sink = RangeSink(facts)
            else:
                self.sink = LogSink(facts, self.folder)
                self._close_at_exit()
                self.end_of_clocks = clocks.compare(self.sink, facts.rank, facts.world_size)
            self.rank, self.facts = facts.rank, None  # which may hold a model
            self.notes = self.mode == "record" and not self.sink.is_cuda
        except RecordingError as error:
            self.switch_off(f"nothing is recorded: {error}")
            return False
        except Exception as error:  # a version of torch that is not known
            self.switch_off(f"nothing is recorded: {type(error).__name__}: {error}")
            return False
        if self.thread is None:
            self.thread = get_ident()
        return True

    def switch_off(self, why):
        self.is_off = True
        self.sink, self.notes = None, False
        say(why)

    # Steps.

    def step_begins(self, phase=TRAINING):
        """A schedule's own step. Returns whether step_ends() is to follow."""
        if self.sink is None and not self._open():
            return False
        if self.steps_inside == 0:
            self.thread = get_ident()
        elif get_ident() != self.thread:
            return False
        self.steps_inside += 1
        if self.steps_inside > 1:
            return True
        self._close_job()
        if not self.has_own_steps or self.step < 0 or phase != self.phase:
            if self.is_unused:
                self.next_step = self.step
            self._turn_to_next_step(phase)
        self.gathers.clear()
        return True

    def step_ends(self, micro_batches=0):
        """`micro_batches`: how many the schedule's step had. One behind it in the same step of the
        program goes on counting there."""
        self.steps_inside -= 1
        if self.steps_inside == 0:
            self._close_job()
            self._record_noted()
            self.first_micro_batch += micro_batches
            if self.has_own_steps and self.phase != TRAINING:
                self._turn_to_next_step()

    def _close_job(self):
        """A job that is still open here was left by an exception, but for one that is held."""
        if self.is_open:
            self.end() if self.is_held else self.cancel()
        self.fused = self.optimizer = None

    def _turn_to_next_step(self, phase=TRAINING):
        self._record_noted()
        if self.step >= 0:
            self.sink.end_step(self.step)
        self.step = self.next_step
        self.next_step += 1
        self.sink.begin_step(self.step, phase)
        self.phase, self.is_unused = phase, True
        self._record_loaded()
        self.first_micro_batch = 0
        self.kept_until = monotonic_ns() + _KEPT_NS

    def own_step(self):
        """pipetrace.step()"""
        if self.thread is not None and get_ident() != self.thread:
            return
        self.has_own_steps = True
        if self.sink is not None and self.step >= 0:
            self._close_job()
            if not self.is_unused:
                self._turn_to_next_step()

    # Jobs of the compute stream. On a CPU they are noted with their times, and handed to the sink
    # together: at the end of a schedule's step, now and then in a long one, and at once outside of
    # all steps.

    def begin(self, kind, stage=NOT_GIVEN, micro_batch=0, action=None):
        """Opens a job; False where it is not recorded, as inside of another one.

        After a job of some length nothing of this is in the processor's caches: each call of a
        function costs a microsecond or two.
        """
        if self.sink is None and not self._open() or get_ident() != self.thread:
            return False
        if self.is_open:
            if not self.is_held:
                return False
            self.end()
        if self.step < 0:
            self._turn_to_next_step()
        elif self.loaded and self.has_own_steps:
            self._record_loaded()
        self.is_unused = False
        if not self.notes:
            self._begin_now(kind, stage, micro_batch, action)
            return True
        self.job = kind, stage, micro_batch, action
        self.is_open = True
        self.began = monotonic_ns()
        return True

    def _begin_now(self, kind, stage, micro_batch, action):
        self.job = kind, stage, micro_batch, action
        self.is_open, self.is_held = True, False
        if self.notes:
            self.began = monotonic_ns()
        else:
            job_id = self.sink.begin(kind, stage, micro_batch, action, self.chunks)
            self._has_id(self.job, self.fused, job_id)

    def end(self):
        if self.is_open and self.sink is not None:
            self.is_open = self.is_held = False
            if not self.notes:
                return self.sink.end()
            now = monotonic_ns()
            self.ended.append((self.job, self.fused, self.began, now))
            if now > self.kept_until or self.steps_inside == 0:
                self._add_ended()
                self.sink.record_added()
                self.kept_until = now + _KEPT_NS

    def cancel(self):
        if self.is_open and self.sink is not None:
            self.is_open = self.is_held = False
            if not self.notes:
                self.sink.cancel()

    def _add_ended(self):
        for job, fused, began, ended in self.ended:
            self._has_id(job, fused, self.sink.add_job(job, self.chunks, began, ended))
        self.ended.clear()

    def _has_id(self, job, fused, job_id):
        """What messages of a job know it by."""
        kind, stage, micro_batch, _ = job
        if fused is not None:
            self.ids[(True, *fused[0])] = self.ids[(False, *fused[1])] = job_id
        elif kind != "backward_weight":  # whose messages are those of the input half
            self.ids[kind == "forward", stage, micro_batch] = job_id

    def hold(self):
        """The job goes on until the next one begins, or until end()."""
        self.is_held = True

    # Fused pairs: one job from the first half's begin to the last half's end.

    def fused_begins(self, forward, backward, action):
        """`forward` and `backward`: stage and micro-batch of each half."""
        if not self.is_ready():
            return False
        self.fused = forward, backward, action
        return True

    def half_begins(self):
        """A half of the fused pair begins: with the first one the job does. Returns True."""
        if not self.is_open:
            (stage, micro_batch), _, action = self.fused
            self._begin_now("forward_backward", stage, micro_batch, action)
        return True

    def fused_ends(self, is_whole):
        """Also ends a job that is no pair, where a step of a schedule may be either."""
        self.end() if is_whole else self.cancel()
        self.fused = None

    # Messages and collectives. On a CPU they are noted with their times, and recorded at the end of
    # the step. On a GPU a receive is the time for which the stream of the jobs waits for it, and a
    # send is the moment from which its data is there.

    def note_messages(self, messages, began, ended):
        """`messages`: of each (kind, stage, micro-batch), the peer, and the bytes of a tensor."""
        self.messages.append((messages, began, ended))
        if len(self.messages) > _MOST_NOTED:
            self._record_noted()

    def _record_noted(self):
        if self.notes:
            self._add_ended()
            add, ids, chunks = self.sink.add_message, self.ids, self.chunks
            for messages, began, ended in self.messages:
                for message in messages if len(messages) == 1 else _whole(messages):
                    kind, stage, micro_batch = message[0]
                    job_id = ids.get((kind in _OF_FORWARDS, stage, micro_batch), NOT_GIVEN)
                    add(message, chunks, job_id, began, ended)
            for collective, began, ended in self.collectives:
                self.sink.add("reduce", collective, began, ended)
            self.sink.record_added()
        self.messages.clear()
        self.collectives.clear()
        self.ids.clear()

    def _message(self, numbers, peer, size):
        kind, stage, micro_batch = numbers
        job_id = self.ids.get((kind in _OF_FORWARDS, stage, micro_batch), NOT_GIVEN)
        chunk = self.chunks.get(stage, NOT_GIVEN)
        return Beside(kind, stage, chunk, micro_batch, peer, size, job_id)

    def post_begins(self, messages):
        for numbers, peer, size in messages:
            kind = numbers[0]
            if self.mode == "annotate":
                self.sink.begin_on(kind, self._message(numbers, peer, size))
            elif kind.startswith("send"):
                self.sink.begin_on("send", self._message(numbers, peer, size))
                self.sink.end_on("send")

    def post_ends(self, messages):
        if self.mode == "annotate":
            for numbers, _, _ in messages:
                self.sink.end_on(numbers[0])

    def wait_begins(self, messages):
        """Returns whether wait_ends() is to follow."""
        receives = [message for message in messages if message[0][0].startswith("recv")]
        if self.mode == "annotate" or not receives:
            return False
        self.sink.begin_on("recv", self._message(*receives[0]))
        return True

    def wait_ends(self):
        self.sink.end_on("recv")

    def collective_begins(self, kind, stage, members):
        made = Beside(kind, stage, self.chunks.get(stage, NOT_GIVEN), members=members)
        if self.sink.is_cuda:
            self.sink.begin_on("reduce", made)
        return made, monotonic_ns()

    def collective_ends(self, token, is_whole):
        made, began = token
        if self.sink.is_cuda:
            self.sink.end_on("reduce")
        elif is_whole:
            made.step = self.step
            self.collectives.append((made, began, monotonic_ns()))

    def collective_was(self, kind, stage, members, began):
        """One that ends now, and was asked for at `began`."""
        if not self.sink.is_cuda:
            made = Beside(kind, stage, self.chunks.get(stage, NOT_GIVEN), members=members)
            self.collective_ends((made, began), True)

    # Data.

    def data_begins(self):
        """Returns when, and the job that loads it inside of itself; None: it is not recorded."""
        if not self.is_ready():
            return None
        inside = None
        if self.is_open and self.fused is None and self.job[0] in _COMPUTE:
            inside = self.job  # begins when its data is there
            self.cancel()
        elif self.is_open:
            return None
        return monotonic_ns(), inside

    def data_ends(self, begun, is_loaded):
        began, inside = begun
        if is_loaded:
            self.loaded.append((began, monotonic_ns()))
        if inside is not None:
            self._record_loaded()
            self._begin_now(*inside)

    def _record_loaded(self):
        for began, ended in self.loaded:
            self.sink.record_data(Beside("data", step=self.step), began, ended)
        self.loaded.clear()

    # Optimizers. Those that an optimizer runs inside of itself are part of it.

    def optimizer_begins(self, optimizer):
        if self.step < 0 or self.optimizer is not None or not self.begin("optimizer"):
            return
        self.optimizer = optimizer

    def optimizer_ends(self, optimizer, is_whole=True):
        if self.optimizer is optimizer and optimizer is not None:
            self.optimizer = None
            self.end() if is_whole else self.cancel()

    # The end.

    def _close_at_exit(self):
        if not self.is_registered:
            atexit.register(self.close)
            self.is_registered = True
        if "multiprocessing.util" in sys.modules:  # whose forked children do not call atexit's
            sys.modules["multiprocessing.util"].Finalize(None, self.close, exitpriority=0)

    def close(self):
        if self.sink is not None:
            self._record_noted()
        sink, self.sink, self.notes = self.sink, None, False
        self.is_off = True
        if sink is None:
            return
        if self.end_of_clocks is not None:
            self.end_of_clocks()
        error = sink.close()
        if error:
            say(error)

    def forked(self):
        """In a child: the recorder is the parent's."""
        recorded = self.rank if isinstance(self.sink, LogSink) else self.recorded_rank
        self._reset()
        self.recorded_rank = recorded


def plain_facts():
    """What launchers and torch.distributed say of a process whose pipeline is not known."""
    rank, world_size = rank_and_world_size()
    return Facts(rank=rank, world_size=world_size)


def rank_and_world_size():
    dist = sys.modules.get("torch.distributed")
    if dist is not None and dist.is_available() and dist.is_initialized():
        return dist.get_rank(), dist.get_world_size()
    return switches.place()


session = Session()


def instrument(folder: "str | os.PathLike | None" = None) -> bool:
    """Records this process from now on: call it before the training begins.

    `folder`: where the logs go; PIPETRACE_LOG_DIR, else `pipetrace-logs`, if it is not given.
    PIPETRACE=0 records nothing, PIPETRACE=annotate makes ranges for another profiler. A second call
    changes nothing. Returns whether anything is recorded.
    """
    mode = switches.mode("record")
    if (unknown := switches.unknown_mode()) is not None:
        say(f"nothing is recorded: PIPETRACE is {unknown!r}, and can be 1, 0 or annotate")
    if mode is None or session.mode is not None:
        return session.mode is not None
    session.folder = os.path.abspath(folder) if folder else switches.log_folder()
    session.mode = mode
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=session.forked)
    if mode == "record" and switches.is_on("PIPETRACE_NCCL"):
        plugin = Library.plugin_path()
        if plugin is not None:  # another one that the user has named stays
            os.environ.setdefault("NCCL_PROFILER_PLUGIN", plugin)
        else:
            say("NCCL's calls are not recorded: its plugin is not beside libpipetrace.so")
    imports.install()
    return True


def step() -> None:
    """Says that a step of the training is over, in a loop of one's own.

    Schedules of torch, Megatron-core and DeepSpeed begin their steps themselves. From the first
    call on, which may come before the loop, steps are the program's: those of schedules begin none.
    """
    session.own_step()


@contextlib.contextmanager
def job(kind: str, micro_batch: int = 0, stage: "int | None" = None):
    """Records what the block does as a job of the compute stream.

    `kind`: `forward`, `backward`, `backward_input`, `backward_weight`, `recompute`, `lr`,
    `optimizer`, `data`, `checkpoint` or `default`. `micro_batch` counts in the step, from 0, and
    `stage` in the pipeline, over all chunks. A block that raises is not recorded, nor is one inside
    of another job. `with pipetrace.job("forward", micro_batch=3, stage=1): ...`
    """
    if kind not in JOB_KINDS:
        raise ValueError(f"{kind!r} is no kind of job; these are: {', '.join(JOB_KINDS)}")
    is_begun = False
    if session.sink is not None or session._open(explicit=True):
        is_begun = session.begin(kind, NOT_GIVEN if stage is None else stage, micro_batch)
    try:
        yield
    except BaseException:
        if is_begun:
            session.cancel()
        raise
    if is_begun:
        session.end()


__all__ = ["EVALUATE", "PREDICT", "TRAINING", "instrument", "job", "session", "step"]
