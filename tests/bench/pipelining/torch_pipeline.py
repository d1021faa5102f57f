#!/usr/bin/env python3
"""One rank of a training run of torch.distributed.pipelining, over Gloo with one thread.

It trains what pipelining_bench trains: the same models, weights, data, loss and optimizer. It takes
the same options, and prints the same line of JSON. Its place comes from RANK, WORLD_SIZE,
MASTER_ADDR and MASTER_PORT.
"""
import argparse
import datetime
import json
import os
import resource
import time

HEADS = 4
LAYERS = 8


def options():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", choices=("mlp", "xfmr"), default="mlp")
    parser.add_argument("--schedule", default="1F1B", help="a schedule's name in torch")
    parser.add_argument("--v", type=int, default=1, help="stages of a rank")
    parser.add_argument("--micro-batches", type=int, default=8, help="of a step")
    parser.add_argument("--steps", type=int, default=15, help="measured steps")
    parser.add_argument("--warm", type=int, default=3, help="steps before those")
    parser.add_argument("--width", type=int, help="of a layer (mlp 1024, xfmr 256)")
    parser.add_argument("--rows", type=int, help="of a micro-batch (mlp 32, xfmr 4)")
    parser.add_argument("--tokens", type=int, help="of a row of xfmr (64)")
    given = parser.parse_args()
    is_mlp = given.model == "mlp"
    given.width = given.width or (1024 if is_mlp else 256)
    given.rows = given.rows or (32 if is_mlp else 4)
    given.tokens = given.tokens or 64
    return given


def make_layers(given):
    import torch

    torch.manual_seed(0)
    if given.model == "mlp":
        return [torch.nn.Sequential(torch.nn.Linear(given.width, given.width), torch.nn.ReLU())
                for _ in range(LAYERS)]
    return [torch.nn.TransformerEncoderLayer(given.width, HEADS, 4 * given.width, dropout=0.0,
                                             batch_first=True) for _ in range(LAYERS)]


def make_batch(given):
    """Inputs and targets, the same in every step."""
    import torch

    generator = torch.Generator().manual_seed(1)
    shape = [given.rows * given.micro_batches, given.width]
    if given.model == "xfmr":
        shape.insert(1, given.tokens)
    return torch.randn(shape, generator=generator), torch.randn(shape, generator=generator)


class Rank:
    """The stages of this rank, and the schedule that runs them."""

    def __init__(self, given, rank, ranks):
        import torch
        from torch.distributed.pipelining import PipelineStage
        from torch.distributed.pipelining.schedules import (PipelineScheduleSingle,
                                                            get_schedule_class)

        stages = ranks * given.v
        layers, share = make_layers(given), LAYERS // stages
        mine = range(rank, stages, ranks)
        modules = {stage: torch.nn.Sequential(*layers[stage * share:(stage + 1) * share])
                   for stage in mine}
        pipeline = [PipelineStage(module, stage, stages, torch.device("cpu"))
                    for stage, module in modules.items()]
        kind = get_schedule_class(given.schedule)
        if issubclass(kind, PipelineScheduleSingle):
            if given.v != 1:
                raise SystemExit(f"error: {given.schedule} has one stage a rank, not {given.v}")
            pipeline = pipeline[0]
        self.schedule = kind(pipeline, given.micro_batches, loss_fn=torch.nn.functional.mse_loss)
        self.optimizer = torch.optim.SGD(
            [weight for module in modules.values() for weight in module.parameters()], lr=0.01)
        self.has_first, self.has_last = 0 in mine, stages - 1 in mine
        self.inputs, self.targets = make_batch(given)

    def step(self):
        """Runs a step; returns the losses of its micro-batches, on the rank with the last stage."""
        losses = []
        arguments = [self.inputs] if self.has_first else []
        last = {"target": self.targets, "losses": losses} if self.has_last else {}
        self.schedule.step(*arguments, **last)
        self.optimizer.step()
        self.optimizer.zero_grad()
        return losses


def cpu_ms():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return 1e3 * (used.ru_utime + used.ru_stime)


def main():
    given = options()
    import torch
    import torch.distributed as dist

    torch.set_num_threads(1)
    dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=60))
    rank = Rank(given, dist.get_rank(), dist.get_world_size())
    step_ms, losses, cpu_before = [], [], 0.0
    for step in range(given.warm + given.steps):
        if step == given.warm:
            cpu_before = cpu_ms()
        dist.barrier()
        begin = time.perf_counter()
        of_micro_batches = rank.step()
        dist.barrier()
        took = time.perf_counter() - begin
        if step >= given.warm:
            step_ms.append(1e3 * took)
        if rank.has_last:
            losses.append(sum(loss.item() / given.micro_batches for loss in of_micro_batches))
    cpu = (cpu_ms() - cpu_before) / given.steps
    print(json.dumps({"model": given.model, "schedule": given.schedule, "v": given.v,
                      "rank": int(os.environ["RANK"]), "torch": torch.__version__,
                      "step_ms": step_ms, "cpu_ms": cpu, "losses": losses}), flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
