"""Hooks of Megatron-core: its schedules, messages, sums of gradients and optimizers.

Tried with megatron-core 0.16.1. A tensor that a stage makes carries the numbers of its job, so its
backward and its messages have them. A receive gets those of the job that takes its tensor.
"""

import sys
import time

from . import topology
from .hooks import FAILED, around, arguments
from .session import EVALUATE, TRAINING, Facts, rank_and_world_size, session

_SCHEDULES = (
    "forward_backward_no_pipelining",
    "forward_backward_pipelining_without_interleaving",
    "forward_backward_pipelining_with_interleaving",
)


class _Pipeline:
    """The place of this rank in the pipeline, as of the step that is under way."""

    ranks, position = 1, 0
    forwards = {}  # of each stage in this step, where calls do not say which one it is


def _state():
    return sys.modules["megatron.core.parallel_state"]


# Steps.


def hook_schedules(module):
    for name in _SCHEDULES:
        if hasattr(module, name):
            _hook_schedule(module, name)
    _hook_forward(module)
    _hook_backward(module)


def _hook_schedule(module, name):
    of_call = arguments(
        getattr(module, name), "forward_only", "num_microbatches", "model", "p2p_communicator"
    )

    def before(*args, **kwargs):
        is_forward_only, micro_batches, model, communicator = of_call(args, kwargs)
        if communicator is not None:
            group = communicator.pp_group
            _Pipeline.ranks, _Pipeline.position = group.size(), group.rank()
        else:
            _Pipeline.ranks = _state().get_pipeline_model_parallel_world_size()
            _Pipeline.position = _state().get_pipeline_model_parallel_rank()
        _Pipeline.forwards = {}
        models = model if isinstance(model, list) else [model]
        chunks = len(models)
        session.knows(
            lambda: _facts(name, models, micro_batches),
            {chunk * _Pipeline.ranks + _Pipeline.position: chunk for chunk in range(chunks)},
        )
        if session.step_begins(EVALUATE if is_forward_only else TRAINING):
            return True
        return None

    around(module, name, before, lambda _, __: session.step_ends())


def _facts(schedule, models, micro_batches):
    facts = Facts(
        schedule=schedule if _Pipeline.ranks > 1 else None,
        num_stages=_Pipeline.ranks * len(models),
        num_chunks=len(models),
        num_micro_batches=micro_batches,
    )
    config = getattr(models[0], "config", None)
    if getattr(config, "overlap_moe_expert_parallel_comm", False) and facts.schedule:
        facts.schedule = "Combined1F1B"
    facts.rank, facts.world_size = rank_and_world_size()
    state = _state()
    if state.model_parallel_is_initialized():
        tensor, context = state.get_tensor_model_parallel_rank(), state.get_context_parallel_rank()
        facts.tensor_parallel_index = (
            context * state.get_tensor_model_parallel_world_size() + tensor
        )
        facts.data_parallel_index = state.get_data_parallel_rank()
    weight = next(iter(models[0].parameters()), None)
    if weight is not None:
        topology.set_device(facts, weight.device)
    return facts


# Jobs.


def _tensors(value):
    """Those of a tensor, or of a list of tensors."""
    return [each for each in (value if isinstance(value, list) else [value]) if each is not None]


def _tag(value):
    """Writes stage and micro-batch of the job that has just ended on the tensors that it made."""
    stage, micro_batch = session.job[1:3]
    for tensor in _tensors(value):
        tensor._pipetrace_job = stage, micro_batch


def _stage(chunk):
    if chunk is None:
        rank = getattr(_state(), "get_virtual_pipeline_model_parallel_rank", lambda: None)()
        chunk = rank or 0
    return chunk * _Pipeline.ranks + _Pipeline.position


def _micro_batch(stage, number):
    if number is None:
        number = _Pipeline.forwards.get(stage, 0)
    _Pipeline.forwards[stage] = number + 1
    return number


def _hook_forward(module):
    of_call = arguments(module.forward_step, "input_tensor", "current_microbatch", "vp_stage")

    def before(*args, **kwargs):
        input_tensor, micro_batch, chunk = of_call(args, kwargs)
        stage = _stage(chunk)
        if session.begin("forward", stage, _micro_batch(stage, micro_batch)):
            return _tensors(input_tensor)
        return None

    def after(inputs, result):
        if result is FAILED:
            return session.cancel()
        session.end()
        _tag(result[0] if isinstance(result, tuple) else result)
        _record_receives("recv_forward", inputs)

    around(module, "forward_step", before, after)


def _hook_backward(module):
    of_call = arguments(module.backward_step, "output_tensor", "output_tensor_grad")

    def before(*args, **kwargs):
        output, gradient = of_call(args, kwargs)
        numbers = _job_of(output)
        if numbers is not None and session.begin("backward", *numbers):
            return _tensors(gradient)
        return None

    def after(gradients, result):
        if result is FAILED:
            return session.cancel()
        session.end()
        _tag(result)
        _record_receives("recv_backward", gradients)

    around(module, "backward_step", before, after)


def _job_of(value):
    for tensor in _tensors(value):
        return getattr(tensor, "_pipetrace_job", None)
    return None


def hook_combined(module):
    """A step of the combined 1F1B: a forward, a backward, or both in turns."""
    of_call = arguments(
        module.combined_forward_backward_step,
        "f_model",
        "input_tensor",
        "b_model",
        "b_output_tensor",
        "b_output_tensor_grad",
        "f_model_chunk_id",
        "current_microbatch",
    )

    def before(*args, **kwargs):
        forward_model, inputs, backward_model, output, gradient, chunk, number = of_call(
            args, kwargs
        )
        forward = backward = None
        if forward_model is not None:
            stage = _stage(chunk or 0)
            forward = stage, _micro_batch(stage, number)
        if backward_model is not None:
            numbers = _job_of(output)
            if numbers is None:
                return None
            backward = numbers
        if forward is None or backward is None:
            kind = "forward" if backward is None else "backward"
            if not session.begin(kind, *(forward or backward)):
                return None
        else:
            action = f"({forward[0]}F{forward[1]};{backward[0]}B{backward[1]})OVERLAP_F_B"
            if not session.fused_begins(forward, backward, action):
                return None
            session.half_begins()
        return forward, backward, _tensors(inputs), _tensors(gradient)

    def after(token, result):
        forward, backward, inputs, gradients = token
        session.fused_ends(result is not FAILED)
        if result is FAILED:
            return
        output, _, input_gradient = result
        if forward is not None:
            _tag_as(output, forward)
            _record_receives("recv_forward", inputs, forward)
        if backward is not None:
            _tag_as(input_gradient, backward)
            _record_receives("recv_backward", gradients, backward)

    around(module, "combined_forward_backward_step", before, after)


def _tag_as(value, numbers):
    for tensor in _tensors(value):
        tensor._pipetrace_job = numbers


# Messages.


class _Receive:
    """A receive whose tensor no job has taken yet."""

    def __init__(self, began, ended, peer):
        self.began, self.ended, self.peer = began, ended, peer

    def is_over(self, _):
        self.ended = time.monotonic_ns()


class _Send:
    def __init__(self, messages, began, posted):
        self.messages, self.began, self.posted = messages, began, posted

    def is_over(self, was_over):
        """`was_over`: before anything waited for it."""
        ended = self.posted if was_over else time.monotonic_ns()
        session.note_messages(self.messages, self.began, ended)


class _Request:
    """A request that notes when the wait for it ends."""

    def __init__(self, request, when_over):
        self._request, self._when_over = request, when_over

    def __getattr__(self, name):
        return getattr(self._request, name)

    def wait(self, *args, **kwargs):
        was_over = self._request.is_completed()
        result = self._request.wait(*args, **kwargs)
        if self._when_over is not None and session.sink is not None:
            self._when_over(was_over)
            self._when_over = None
        return result


def hook_messages(module):
    communicator = getattr(module, "P2PCommunicator", None)
    if communicator is not None:
        around(communicator, "_communicate", _communication_begins, _communication_ends)


def _communication_begins(communicator, **of_call):
    if not session.is_ready() or not session.notes:
        return None
    return communicator, of_call, time.monotonic_ns()


def _communication_ends(token, result):
    if result is FAILED:
        return None
    communicator, of_call, began = token
    from_previous, from_next, requests = result
    now = time.monotonic_ns()
    is_over = not requests
    whens = {}
    for tensor, peer, key in (
        (from_previous, communicator.prev_rank, "recv_prev"),
        (from_next, communicator.next_rank, "recv_next"),
    ):
        if tensor is not None:
            receive = tensor._pipetrace_receive = _Receive(began, now if is_over else None, peer)
            whens[key] = receive.is_over
    for tensor, peer, kind, key in (
        (of_call.get("tensor_send_next"), communicator.next_rank, "send_forward", "send_next"),
        (of_call.get("tensor_send_prev"), communicator.prev_rank, "send_backward", "send_prev"),
    ):
        numbers = getattr(tensor, "_pipetrace_job", None)
        if numbers is not None:
            send = _Send([((kind, *numbers), peer, tensor.nbytes)], began, now)
            if is_over:
                send.is_over(True)
            else:
                whens[key] = send.is_over
    if isinstance(requests, dict):
        requests = {
            key: _Request(request, whens[key]) if key in whens else request
            for key, request in requests.items()
        }
        return from_previous, from_next, requests
    return None


def _record_receives(kind, tensors, numbers=None):
    """Those of the tensors that the job which has just ended took."""
    for tensor in tensors:
        receive = getattr(tensor, "_pipetrace_receive", None)
        if receive is not None and session.sink is not None:
            del tensor._pipetrace_receive
            message = (kind, *(numbers or session.job[1:3])), receive.peer, tensor.nbytes
            ended = receive.ended if receive.ended is not None else time.monotonic_ns()
            session.note_messages([message], receive.began, ended)


# Gradients and optimizers.


def hook_gradients(module):
    around(module, "finalize_model_grads", _sums_begin, _sums_end)


def _sums_begin(*_, **__):
    if not session.is_ready():
        return None
    group = _state().get_data_parallel_group(with_context_parallel=True)
    ranks = sys.modules["torch.distributed"].get_process_group_ranks(group)
    if len(ranks) > 1:
        members = " ".join(map(str, sorted(ranks)))
        return session.collective_begins("all_reduce", -1, members)
    return "job" if session.begin("default") else None


def _sums_end(token, result):
    if token != "job":
        session.collective_ends(token, result is not FAILED)
    elif result is FAILED:
        session.cancel()
    else:
        session.end()


def hook_optimizers(module):
    for value in list(vars(module).values()):
        is_its = isinstance(value, type) and value.__module__ == module.__name__
        if is_its and "step" in vars(value):
            around(value, "step", _optimizer_begins, _optimizer_ends)


def _optimizer_begins(optimizer, *_, **__):
    session.optimizer_begins(optimizer)
    return optimizer if session.optimizer is optimizer else None


def _optimizer_ends(optimizer, result):
    session.optimizer_ends(optimizer, result is not FAILED)
