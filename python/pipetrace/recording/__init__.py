"""Records what a training program does, without a change of it (docs/python-recording.md).

`instrument()` puts the recorder on torch, Megatron-core and DeepSpeed as they are imported. `step()`
and `job()` are for loops of one's own. Nothing here imports torch.
"""

from .session import instrument, job, step

__all__ = ["instrument", "job", "step"]
