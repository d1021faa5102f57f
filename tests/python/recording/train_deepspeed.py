"""A small training of DeepSpeed's PipelineEngine, over Gloo on processors.

train_deepspeed.py STAGES STEPS. It knows nothing of PipeTrace. Its layers note when they run, with
the micro-batch, which is a number in the data: NOTES/notes.<rank>.json.
"""

import json
import os
import sys
import time

os.environ["DS_ACCELERATOR"] = "cpu"

import deepspeed  # noqa: E402
import torch  # noqa: E402
from deepspeed.pipe import PipelineModule  # noqa: E402

ROWS, WIDTH, MICRO_BATCHES = 2, 8, 4
notes = []


class Noted(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, micro_batch):
        ctx.micro_batch = micro_batch
        began = time.time_ns()
        time.sleep(0.001)
        notes.append(["F", micro_batch, began, time.time_ns()])
        return x.clone()

    @staticmethod
    def backward(ctx, grad):
        began = time.time_ns()
        time.sleep(0.001)
        notes.append(["B", ctx.micro_batch, began, time.time_ns()])
        return grad.clone(), None


class Layer(torch.nn.Module):
    """The first number of each row is that of its micro-batch, and stays so."""

    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(WIDTH, WIDTH)

    def forward(self, x):
        y = Noted.apply(self.linear(x), int(x[0, 0]))
        return torch.cat((x[:, :1], y[:, 1:]), 1)


def batches():
    while True:
        for micro_batch in range(MICRO_BATCHES):
            x = torch.full((ROWS, WIDTH), float(micro_batch))
            yield x, x


def main():
    stages, steps = map(int, sys.argv[1:3])
    torch.set_num_threads(1)
    torch.manual_seed(1)
    deepspeed.init_distributed("gloo", verbose=False)
    model = PipelineModule(
        [Layer() for _ in range(2 * stages)],
        num_stages=stages,
        loss_fn=torch.nn.functional.mse_loss,
        partition_method="uniform",
    )
    replicas = torch.distributed.get_world_size() // stages
    engine, *_ = deepspeed.initialize(
        model=model,
        model_parameters=list(model.parameters()),
        config={
            "train_batch_size": ROWS * MICRO_BATCHES * replicas,
            "train_micro_batch_size_per_gpu": ROWS,
            "gradient_accumulation_steps": MICRO_BATCHES,
            "optimizer": {"type": "Adam", "params": {"lr": 0.01, "torch_adam": True}},
        },
    )
    data = batches()
    for step in range(steps):
        print("step", step, "loss", engine.train_batch(data_iter=data).item().hex(), flush=True)
    with open(os.path.join(os.environ["NOTES"], f"notes.{engine.global_rank}.json"), "w") as file:
        json.dump(notes, file)


if __name__ == "__main__":
    main()
