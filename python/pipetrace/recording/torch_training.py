"""Hooks of torch itself: optimizers, by its global hooks, and data loaders."""

from .hooks import FAILED, Hook, around
from .session import session


def hook_optimizer(module):
    if getattr(module, "_pipetrace_hook", None) is not None:
        return
    before, after = Hook("torch.optim.Optimizer.step"), Hook("torch.optim.Optimizer.step")
    module._pipetrace_hook = before

    def guarded(hook, call):
        def called(optimizer, args, kwargs):
            if session.sink is None or hook.is_off or _is_compiling():
                return
            if session.mode == "annotate":  # torch has a range of its own around a step
                return
            try:
                call(optimizer)
            except Exception as error:
                hook.fail(error)

        return called

    module.register_optimizer_step_pre_hook(guarded(before, session.optimizer_begins))
    module.register_optimizer_step_post_hook(guarded(after, session.optimizer_ends))


def _is_compiling():
    import torch

    return torch.compiler.is_compiling()


def hook_data_loader(module):
    around(module._BaseDataLoaderIter, "__next__", _load_begins, _load_ends)


def _load_begins(iterator, *_, **__):
    return session.data_begins()


def _load_ends(begun, result):
    session.data_ends(begun, result is not FAILED)
