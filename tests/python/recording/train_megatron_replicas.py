"""Two replicas of a pipeline of Megatron-core, with its own optimizer and sums of gradients.

train_megatron_replicas.py PROGRAM. PROGRAM is ../shared/tools/hybrid_trainings/megatron_pp_tp.py,
which makes the model, and lets Megatron run on processors.
"""

import runpy
import sys

import torch.distributed as dist

made = runpy.run_path(sys.argv[1], run_name="model")

from megatron.core.distributed import (  # noqa: E402 (calls of CUDA do nothing from here on)
    DistributedDataParallel,
    DistributedDataParallelConfig,
    finalize_model_grads,
)
from megatron.core.optimizer import OptimizerConfig, get_megatron_optimizer  # noqa: E402

config = made["cfg"]
model = DistributedDataParallel(config, DistributedDataParallelConfig(), made["model"])
config.finalize_model_grads_func = finalize_model_grads
optimizer = get_megatron_optimizer(OptimizerConfig(lr=0.01, clip_grad=0.0), [model])
for step in range(3):
    model.zero_grad_buffer()
    optimizer.zero_grad()
    losses = made["run"](
        forward_step_func=made["forward_step"],
        data_iterator=made["data"](),
        model=model,
        num_microbatches=4,
        seq_length=32,
        micro_batch_size=2,
        forward_only=False,
    )
    optimizer.step()
    if losses:
        print("step", step, "loss", sum(each["loss"].item() for each in losses), flush=True)
dist.destroy_process_group()
