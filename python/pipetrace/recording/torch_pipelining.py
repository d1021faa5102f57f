"""Hooks of torch.distributed.pipelining: schedules, their runtime, and stages.

Tried with torch 2.11. Jobs are the calls of a stage's `forward_one_chunk`, `backward_one_chunk` and
`backward_weight_one_chunk`. The runtime says which action it runs, so fused pairs and functions of
one's own for an action are one job each. Messages get their stage and micro-batch where a stage
makes them, and last from their post to the end of the wait for them.
"""

import contextlib
from threading import get_ident
from time import monotonic_ns

from . import topology
from .hooks import FAILED, Hook, around, behind, calling, job, replace
from .session import EVALUATE, PREDICT, TRAINING, session

_KINDS = {  # of compute actions
    "F": "forward",
    "B": "backward",
    "I": "backward_input",
    "W": "backward_weight",
}
_PLAIN = frozenset(_KINDS) | {"SEND_F", "RECV_F", "SEND_B", "RECV_B"}


def hook_schedules(module):
    for name in ("PipelineScheduleSingle", "PipelineScheduleMulti"):
        schedule = getattr(module, name)
        around(schedule, "__init__", lambda self, *_, **__: self, _schedule_is_made)
        around(schedule, "step", _step_begins, _step_ends)
    around(module._PipelineSchedule, "_maybe_compute_loss", lambda *_, **__: True, _loss_ends)
    replace(module, "_batch_p2p", _noting_posts)
    replace(module, "_wait_batch_p2p", _noting_waits)
    runtime = getattr(module, "_PipelineScheduleRuntime", None)
    if runtime is not None:
        around(runtime, "_assert_unsharded", _gather_is_awaited, _gather_ends)
    if hasattr(module, "record_function"):
        around(module, "_get_profiler_function_name", _action_comes)
        module.record_function = _ranges_of_actions(module.record_function)


def hook_stage(module):
    stage = module._PipelineStageBase
    around(stage, "forward_one_chunk", _forward_begins, _forward_ends)
    job(stage, "backward_one_chunk", _backward_begins)
    job(stage, "backward_weight_one_chunk", _weight_begins)
    for kind, name in (
        ("recv_forward", "get_fwd_recv_ops"),
        ("send_forward", "get_fwd_send_ops"),
        ("recv_backward", "get_bwd_recv_ops"),
        ("send_backward", "get_bwd_send_ops"),
    ):
        behind(stage, name, _tag_as(kind))
    around(stage, "perform_reduce_grad", _reduce_begins, _reduce_ends)


# Schedules and steps.


def _schedule_is_made(schedule, result):
    if result is FAILED:
        return
    stages = getattr(schedule, "_stages", None) or [schedule._stage]
    stages = sorted(stages, key=lambda stage: stage.stage_index)
    chunks = {stage.stage_index: chunk for chunk, stage in enumerate(stages)}
    session.knows(lambda: topology.of_torch(schedule, stages), chunks)


def _step_begins(schedule, *_, **__):
    if schedule._has_backward:
        phase = TRAINING
    else:
        phase = PREDICT if schedule._loss_fn is None else EVALUATE
    if not session.step_begins(phase):
        return None
    session.schedule = schedule
    return True


def _step_ends(_, __):
    session.step_ends(getattr(session.schedule, "_n_microbatches", 0))
    if session.steps_inside == 0:
        session.schedule = None  # which holds a model


# Jobs.


def _job_begins(kind, stage_index, chunk_id):
    """`chunk_id`: the micro-batch in the schedule's step."""
    return session.begin(kind, stage_index, session.first_micro_batch + chunk_id)


def _forward_begins(stage, fwd_chunk_id, *_, **__):
    if session.fused is not None and session.half_begins():
        return None
    return stage if _job_begins("forward", stage.stage_index, fwd_chunk_id) else None


def _forward_ends(stage, result):
    if result is FAILED:
        session.cancel()
    elif stage.is_last and getattr(session.schedule, "_loss_fn", None) is not None:
        session.hold()  # for the loss, which is part of the forward
    else:
        session.end()


def _loss_ends(_, result):
    if session.is_held:
        session.end()


def _backward_begins(stage, bwd_chunk_id, loss=None, full_backward=True, last_backward=False, **_):
    if not stage.has_backward or (session.fused is not None and session.half_begins()):
        return None
    kind = "backward" if full_backward else "backward_input"
    return _job_begins(kind, stage.stage_index, bwd_chunk_id) or None


def _weight_begins(stage, bwd_chunk_id, *_, **__):
    if not stage.has_backward:
        return None
    return _job_begins("backward_weight", stage.stage_index, bwd_chunk_id) or None


# Actions of the runtime.


def _action_comes(action):
    session.action = action


def _ranges_of_actions(original):
    """torch's record_function, which the runtime calls for each action that it runs."""
    if isinstance(original, _Ranges):
        return original
    return _Ranges(original)


_of_actions = Hook("torch.distributed.pipelining.schedules.record_function")


class _Ranges:
    def __init__(self, original):
        self.original = original

    def __call__(self, name, *args, **kwargs):
        action, session.action = session.action, None
        if session.is_off or _of_actions.is_off:
            return self.original(name, *args, **kwargs)
        try:
            if session.mode == "annotate" and session.is_ready():
                if action is None or _letters(action) in _PLAIN:
                    return contextlib.nullcontext()  # our own range is inside
            if action is not None and session.is_ready() and _is_one_job(action):
                return _Action(self.original(name, *args, **kwargs), action)
        except Exception as error:  # an action of a torch that is not known
            _of_actions.fail(error)
        return self.original(name, *args, **kwargs)


def _letters(action):
    """What the action does, as its text has it: "F", "SEND_B"."""
    kind = action.computation_type
    return kind.value if isinstance(kind.value, str) else str(kind)  # torch 2.11, older ones


def _is_one_job(action):
    if action.sub_actions is not None:
        return True
    return _letters(action) == "UNSHARD" or _has_own_function(action)


def _has_own_function(action):
    functions = getattr(session.schedule, "_comp_type_to_function_map", ())
    return action.computation_type in functions


class _Action:
    """The range of an action, and what is recorded of it as a whole."""

    def __init__(self, range_of_torch, action):
        self.range, self.action = range_of_torch, action
        self.ends = None

    def __enter__(self):
        self.range.__enter__()
        try:
            self.ends = self._begin()
        except Exception as error:
            _of_actions.fail(error)
        return self.range

    def __exit__(self, kind, *rest):
        if self.ends is not None:
            try:
                self.ends(kind is None)
            except Exception as error:
                _of_actions.fail(error)
        return self.range.__exit__(kind, *rest)

    def _begin(self):
        action = self.action
        own = _has_own_function(action)
        if action.sub_actions is not None:
            halves = {_letters(each): each for each in action.sub_actions}
            forward, backward = halves["F"], halves.get("B") or halves["I"]
            if not session.fused_begins(
                (forward.stage_index, session.first_micro_batch + forward.microbatch_index),
                (backward.stage_index, session.first_micro_batch + backward.microbatch_index),
                str(action),
            ):
                return None
            if own:
                session.half_begins()
            return session.fused_ends
        kind = _KINDS.get(_letters(action))
        if kind is None:
            if not own:
                session.gathers[action.stage_index] = monotonic_ns()
            return None
        if _job_begins(kind, action.stage_index, action.microbatch_index):
            return lambda is_whole: session.end() if is_whole else session.cancel()
        return None


# Messages.


class _Works(list):
    """What posting messages returned, with what is known of the messages."""

    # As Session.note_messages() takes them, and when the post began and ended.
    __slots__ = ("messages", "began", "posted")


def _tag_as(kind):
    def after(operations, stage, chunk_id, *_, **__):
        numbers = kind, stage.stage_index, session.first_micro_batch + chunk_id
        for operation in operations:
            operation.pipetrace = numbers

    return after


# Where messages are noted, one function does all: there are more of them than of jobs, and after a
# job of some length each function that is called costs a microsecond or two.


def _noting_posts(original, hook):
    told = calling(_post_begins, _post_ends)(original, hook)

    def hooked(p2p_ops, *args, **kwargs):
        if not session.notes or hook.is_off or get_ident() != session.thread:
            return told(p2p_ops, *args, **kwargs)
        began = monotonic_ns()
        works = original(p2p_ops, *args, **kwargs)
        try:
            if p2p_ops and hasattr(p2p_ops[0], "pipetrace"):
                posted, messages = monotonic_ns(), []
                for each in p2p_ops:
                    messages.append((each.pipetrace, each.peer, each.tensor.nbytes))
                noted = _Works(works)
                noted.messages, noted.began, noted.posted = messages, began, posted
                works = noted
        except Exception as error:
            hook.fail(error)
        return works

    return hooked


def _noting_waits(original, hook):
    told = calling(_wait_begins, _wait_ends)(original, hook)

    def hooked(work, *args, **kwargs):
        if not session.notes or hook.is_off or type(work) is not _Works or not work.messages:
            return told(work, *args, **kwargs)
        messages, work.messages = work.messages, ()
        ended = None
        try:
            if messages[-1][0][0][0] == "s":  # behind sends torch posts receives
                ended = work.posted
                for each in work:
                    if not each.is_completed():
                        ended = None
        except Exception as error:
            hook.fail(error)
        result = original(work, *args, **kwargs)
        session.messages.append((messages, work.began, ended or monotonic_ns()))
        return result

    return hooked


def _post_begins(p2p_ops, *_, **__):
    # Messages of torch itself, before the first step, have no numbers.
    if not p2p_ops or not hasattr(p2p_ops[0], "pipetrace") or not session.is_ready():
        return None
    messages = [(each.pipetrace, each.peer, each.tensor.nbytes) for each in p2p_ops]
    session.post_begins(messages)
    return messages


def _post_ends(messages, works):
    session.post_ends(messages)
    if works is FAILED:
        return None
    result = _Works(works)
    result.messages = messages
    return result


def _wait_begins(work, *_, **__):
    if type(work) is not _Works or not work.messages or session.sink is None:
        return None
    return work if session.wait_begins(work.messages) else None


def _wait_ends(work, _):
    work.messages = ()
    session.wait_ends()


# Weights and gradients of data parallelism.


def _gather_is_awaited(runtime, stage, *_, **__):
    if session.gathers and stage.stage_index in runtime.unshard_ops and session.is_ready():
        return stage
    return None


def _gather_ends(stage, result):
    began = session.gathers.pop(stage.stage_index, None)
    group = topology.group_of_weights(stage)
    if began is not None and group is not None and result is not FAILED:
        session.collective_was("all_gather", stage.stage_index, group[1], began)


def _reduce_begins(stage, *_, **__):
    group = topology.group_of_weights(stage)
    if group is None or not session.is_ready():
        return None
    kind, members = group
    return session.collective_begins(kind, stage.stage_index, members)


def _reduce_ends(token, result):
    session.collective_ends(token, result is not FAILED)
