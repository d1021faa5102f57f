"""One of four ranks that train a small model with torch.distributed.pipelining, two stages a rank:

  order_rank.py SCHEDULE [LINES.py]    torch's own schedule, or the one that LINES.py loads

Prints one line of JSON: the losses of the micro-batches of each step, and a digest of the gradients.
"""
import hashlib
import json
import os
import sys

import torch
import torch.distributed as dist
from torch.distributed.pipelining import PipelineStage
from torch.distributed.pipelining import schedules

MICRO_BATCHES, WIDTH, ROWS, STEPS = 8, 16, 4, 2


def stage_module(stage):
    torch.manual_seed(stage)
    return torch.nn.Sequential(torch.nn.Linear(WIDTH, WIDTH), torch.nn.Tanh())


def main():
    name, lines = sys.argv[1], sys.argv[2:]
    rank, ranks = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    dist.init_process_group("gloo", rank=rank, world_size=ranks)
    own = [rank, rank + ranks]
    modules = [stage_module(stage) for stage in own]
    stages = [PipelineStage(module, stage, 2 * ranks, torch.device("cpu"))
              for module, stage in zip(modules, own)]
    loss_fn = torch.nn.MSELoss()
    if lines:
        names = {"stages": stages, "loss_fn": loss_fn}
        with open(lines[0], encoding="utf-8") as file:
            exec(file.read(), names)
        schedule = names["schedule"]
    else:
        schedule = getattr(schedules, "Schedule" + name)(stages, MICRO_BATCHES, loss_fn=loss_fn)
    torch.manual_seed(99)
    inputs, targets = torch.randn(2, MICRO_BATCHES * ROWS, WIDTH)
    losses = []
    for _ in range(STEPS):
        of_step = []
        for module in modules:
            module.zero_grad()
        is_last = own[-1] == 2 * ranks - 1
        schedule.step(*((inputs,) if rank == 0 else ()),
                      **({"target": targets, "losses": of_step} if is_last else {}))
        losses.append([loss.item() for loss in of_step])
    bits = b"".join(parameter.grad.numpy().tobytes() for module in modules
                    for parameter in module.parameters())
    print(json.dumps({"losses": losses, "gradients": hashlib.sha256(bits).hexdigest()}))
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
