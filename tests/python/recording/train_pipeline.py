"""A small training under a schedule of torch.distributed.pipelining, over Gloo.

It knows nothing of PipeTrace. Its layers note when they run, with the stage and the micro-batch,
which is a number in the data: NOTES/notes.<rank>.json, with torch's own list of the rank's actions.
The last stage's rank prints its losses, bit by bit. SCHEDULE is the name of a schedule, STEPS the number of steps.
"""

import json
import os
import sys
import time

import torch
import torch.distributed as dist
from torch.distributed.pipelining import PipelineStage
from torch.distributed.pipelining.schedules import PipelineScheduleMulti, get_schedule_class

ROWS, WIDTH, MICRO_BATCHES = 2, 8, 8
notes = []


def noted(part, stage, micro_batch, tensor):
    """What the layer does, so that it can be found in the time of a job."""
    began = time.time_ns()
    time.sleep(0.001)
    notes.append([part, stage, micro_batch, began, time.time_ns()])
    return tensor.clone()


class Input(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, stage, micro_batch):
        ctx.of = stage, micro_batch
        return noted("forward", stage, micro_batch, x)

    @staticmethod
    def backward(ctx, grad):
        return noted("input", *ctx.of, grad), None, None


class Weight(torch.autograd.Function):
    @staticmethod
    def forward(ctx, w, stage, micro_batch):
        ctx.of = stage, micro_batch
        return w.clone()

    @staticmethod
    def backward(ctx, grad):
        return noted("weight", *ctx.of, grad), None, None


class Part(torch.nn.Module):
    """The first number of each row is that of its micro-batch, and stays so: its weight is 0."""

    def __init__(self, stage):
        super().__init__()
        torch.manual_seed(stage)
        self.stage = stage
        self.w = torch.nn.Parameter(torch.rand(WIDTH))
        with torch.no_grad():
            self.w[0] = 0

    def forward(self, x):
        micro_batch = int(x[0, 0])
        return torch.relu(
            Input.apply(x, self.stage, micro_batch) + Weight.apply(self.w, self.stage, micro_batch)
        )


def loss_of(output, target):
    time.sleep(0.001)
    return (output - target).square().mean()


def leave_out_messages_to_oneself():
    """At its start torch 2.11 sends a message to every neighbour, which Gloo cannot send to itself."""
    from torch.distributed.pipelining import stage

    original = getattr(stage._PipelineStageBase, "_get_init_p2p_neighbors_ops", None)
    if original is None:  # an older torch
        return

    def others(self):
        return [op for op in original(self) if op.peer != dist.get_rank()]

    stage._PipelineStageBase._get_init_p2p_neighbors_ops = others


def main():
    name, steps = sys.argv[1], int(sys.argv[2])
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank, ranks = dist.get_rank(), dist.get_world_size()
    try:
        kind = get_schedule_class(name)
    except ValueError as error:
        sys.exit(f"there is no such schedule in this torch: {error}")
    is_multi = issubclass(kind, PipelineScheduleMulti)
    if name in ("ZBVZeroBubble", "DualPipeV"):
        leave_out_messages_to_oneself()
        numbers = [rank, 2 * ranks - 1 - rank]
    else:
        numbers = [rank + chunk * ranks for chunk in range(2 if is_multi else 1)]
    example = torch.zeros(ROWS, WIDTH)
    total = ranks * len(numbers)
    stages = [
        PipelineStage(
            Part(n), n, total, torch.device("cpu"), input_args=example, output_args=example
        )
        for n in numbers
    ]
    schedule = kind(stages if is_multi else stages[0], MICRO_BATCHES, loss_fn=loss_of)
    parameters = [p for stage in stages for p in stage.submod.parameters()]
    optimizer = torch.optim.SGD(parameters, lr=0.1)
    numbers_of_rows = torch.arange(MICRO_BATCHES, dtype=torch.float32).repeat_interleave(ROWS)
    rows = [numbers_of_rows[:, None].repeat(1, WIDTH)] * steps
    for batch in torch.utils.data.DataLoader(rows, batch_size=None):
        optimizer.zero_grad()
        losses = []
        arguments = (batch,) if stages[0].is_first else ()
        is_last = any(stage.is_last for stage in stages)
        schedule.step(*arguments, target=batch if is_last else None, losses=losses)
        for parameter in parameters:
            parameter.grad[0] = 0
        optimizer.step()
        if is_last:
            print("losses", *(loss.item().hex() for loss in losses), flush=True)
    print("weights", rank, *(x.hex() for p in parameters for x in p.tolist()), flush=True)
    if os.environ.get("NOTES"):
        with open(os.path.join(os.environ["NOTES"], f"notes.{rank}.json"), "w") as file:
            actions = [str(action) for action in schedule.pipeline_order[rank] if action]
            if not is_multi:  # torch 2.11's list of 1F1B has a micro-batch that there is not
                last = notes[-len(notes) // steps :]
                letters = {"forward": "F", "weight": "B"}
                actions = [f"{n[1]}{letters[n[0]]}{n[2]}" for n in last if n[0] in letters]
            json.dump({"notes": notes, "stages": numbers, "actions": actions}, file)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
