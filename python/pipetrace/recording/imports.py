"""Applies hooks to modules when the program imports them, or now, if it has."""

import importlib
import importlib.machinery
import sys

# Module of a framework, and the function of this package that puts the hooks on it.
_HOOKS = {
    "torch.distributed.pipelining.schedules": ("torch_pipelining", "hook_schedules"),
    "torch.distributed.pipelining.stage": ("torch_pipelining", "hook_stage"),
    "torch.optim.optimizer": ("torch_training", "hook_optimizer"),
    "torch.utils.data.dataloader": ("torch_training", "hook_data_loader"),
    "megatron.core.pipeline_parallel.schedules": ("megatron", "hook_schedules"),
    "megatron.core.pipeline_parallel.combined_1f1b": ("megatron", "hook_combined"),
    "megatron.core.pipeline_parallel.p2p_communication": ("megatron", "hook_messages"),
    "megatron.core.distributed.finalize_model_grads": ("megatron", "hook_gradients"),
    "megatron.core.optimizer.optimizer": ("megatron", "hook_optimizers"),
    "megatron.core.optimizer.layer_wise_optimizer": ("megatron", "hook_optimizers"),
    "deepspeed.runtime.pipe.engine": ("deepspeed", "hook_engine"),
}


def apply(module):
    """Puts the hooks on a module. Never raises; one line says what this version lacks."""
    from . import hooks
    from .session import say

    part, function = _HOOKS[module.__name__]
    package = module.__name__.partition(".")[0]
    before = len(hooks.missing)
    try:
        getattr(importlib.import_module("pipetrace.recording." + part), function)(module)
    except Exception as error:
        say(f"{module.__name__} is not recorded: {type(error).__name__}: {error}")
    lacks = [name.removeprefix(module.__name__ + ".") for name in hooks.missing[before:]]
    if lacks:
        say(f"this {package} has no {', '.join(lacks)}: what these do is not recorded")


class _Loader:
    """The loader of a module, but for one thing that it does when the module is there."""

    def __init__(self, loader):
        self._loader = loader

    def __getattr__(self, name):
        return getattr(self._loader, name)

    def create_module(self, spec):
        return self._loader.create_module(spec)

    def exec_module(self, module):
        spec = module.__spec__
        spec.loader = module.__loader__ = self._loader
        self._loader.exec_module(module)
        apply(module)


class _Finder:
    """Finds modules of _HOOKS as Python's own finders do, and gives them our loader."""

    def __init__(self):
        self._inside = set()

    def find_spec(self, name, path=None, target=None):
        if name not in _HOOKS or name in self._inside:
            return None
        self._inside.add(name)
        try:
            for finder in sys.meta_path:
                find = getattr(finder, "find_spec", None)
                spec = find(name, path, target) if find is not None else None
                if spec is not None:
                    if hasattr(spec.loader, "exec_module"):
                        spec.loader = _Loader(spec.loader)
                    return spec
        finally:
            self._inside.discard(name)
        return None


def install():
    """A second call changes nothing."""
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())
    for name in _HOOKS:
        module = sys.modules.get(name)
        if module is not None:
            apply(module)
