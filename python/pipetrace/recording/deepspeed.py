"""Hooks of DeepSpeed's PipelineEngine: the instructions that it runs.

Tried with DeepSpeed 0.18.2. Instructions name a buffer. Its micro-batch is the number of its forward
in the step; backwards and messages come in the order of forwards, too.
"""

import sys
import time

from . import topology
from .hooks import FAILED, around
from .session import EVALUATE, TRAINING, Facts, rank_and_world_size, session


class _Step:
    """What the step that is under way has run so far."""

    counts = {}  # of each instruction
    micro_batches = {}  # of each buffer, by kind of job


def hook_engine(module):
    engine = module.PipelineEngine
    around(engine, "train_batch", _step_of(TRAINING), lambda _, __: session.step_ends())
    around(engine, "eval_batch", _step_of(EVALUATE), lambda _, __: session.step_ends())
    for name, before, after in (
        ("_exec_load_micro_batch", _load_begins, _job_ends),
        ("_exec_forward_pass", _pass_of("forward"), _job_ends),
        ("_exec_backward_pass", _pass_of("backward"), _job_ends),
        ("_exec_recv_activations", _message_of("recv_forward"), _message_ends),
        ("_exec_send_activations", _message_of("send_forward"), _message_ends),
        ("_exec_recv_grads", _message_of("recv_backward"), _message_ends),
        ("_exec_send_grads", _message_of("send_backward"), _message_ends),
        ("_exec_reduce_grads", _reduce_begins, _reduce_ends),
        ("_exec_optimizer_step", _optimizer_begins, _optimizer_ends),
    ):
        original = vars(engine).get(name)
        around(engine, name, before, after)
        instructions = engine._INSTRUCTION_MAP  # has the functions themselves
        for instruction, function in list(instructions.items()):
            if function is original:
                instructions[instruction] = getattr(engine, name)


def _step_of(phase):
    def before(engine, *_, **__):
        session.knows(lambda: _facts(engine), {engine.stage_id: 0})
        _Step.counts, _Step.micro_batches = {}, {}
        return engine if session.step_begins(phase) else None

    return before


def _facts(engine):
    facts = Facts(
        schedule="TrainSchedule",
        num_stages=engine.num_stages,
        num_chunks=1,
        num_micro_batches=engine.micro_batches,
        data_parallel_index=engine.grid.get_data_parallel_rank(),
        tensor_parallel_index=engine.grid.get_slice_parallel_rank(),
    )
    facts.rank, facts.world_size = rank_and_world_size()
    device = sys.modules["torch"].device(engine.device)
    topology.set_device(facts, device)
    return facts


def _next(kind):
    number = _Step.counts.get(kind, 0)
    _Step.counts[kind] = number + 1
    return number


def _load_begins(engine, buffer_id):
    return True if session.begin("data") else None


def _pass_of(kind):
    def before(engine, buffer_id):
        number = _Step.micro_batches[kind, buffer_id] = _next(kind)
        return True if session.begin(kind, engine.stage_id, number) else None

    return before


def _job_ends(_, result):
    if result is FAILED:
        session.cancel()
    else:
        session.end()


# Messages: an instruction ends when its message has been sent or received.


def _message_of(kind):
    is_receive, way = kind.startswith("recv"), kind[5:]

    def before(engine, buffer_id):
        if not session.is_ready():
            return None
        if is_receive:
            number = _next(kind)
        else:
            number = _Step.micro_batches.get((way, buffer_id), 0)
        is_next = kind in ("send_forward", "recv_backward")
        peer = engine.grid.stage_to_global(engine.next_stage if is_next else engine.prev_stage)
        size = 0 if is_receive else _bytes_sent(engine, kind, buffer_id)
        messages = [((kind, engine.stage_id, number), peer, size)]
        waits = False
        if not session.notes:
            session.post_begins(messages)
            waits = session.wait_begins(messages)
        return engine, messages[0], waits, time.monotonic_ns()

    return before


def _message_ends(token, result):
    engine, (numbers, peer, size), waits, began = token
    if numbers[0].startswith("recv") and result is not FAILED:
        is_forward = numbers[0] == "recv_forward"
        size = _size(engine.pipe_recv_buf if is_forward else engine.grad_layer)
    messages = [(numbers, peer, size)]
    if waits:
        session.wait_ends()
    if not session.notes:
        session.post_ends(messages)
    elif result is not FAILED:
        session.note_messages(messages, began, time.monotonic_ns())


def _bytes_sent(engine, kind, buffer_id):
    name = "outputs" if kind == "send_forward" else "inputs"
    return _size(engine.pipe_buffers[name][buffer_id])


def _size(value):
    tensors = value if isinstance(value, (tuple, list)) else [value]
    return sum(tensor.nbytes for tensor in tensors)


# Gradients and the optimizer.


def _reduce_begins(engine):
    ranks = engine.grid.dp_group
    if len(ranks) < 2 or not session.is_ready():
        return None
    return session.collective_begins(
        "all_reduce", engine.stage_id, " ".join(map(str, sorted(ranks)))
    )


def _reduce_ends(token, result):
    session.collective_ends(token, result is not FAILED)


def _optimizer_begins(engine, *_, **__):
    session.optimizer_begins(engine)
    return engine if session.optimizer is engine else None


def _optimizer_ends(engine, result):
    session.optimizer_ends(engine, result is not FAILED)
