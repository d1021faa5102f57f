"""Writes runs as torch.profiler (Kineto) writes them: `rank<R>.pt.trace.json.gz` for each rank.

    write(recording, folder, leave_out=(), device="gpu", annotated=True)
    write_torch.py --check      writes small runs, reads them back and compares them

Times are microseconds with three digits behind the point; `baseTimeNanoseconds` is the same in all
files, and each rank's times are shifted by its clock. `distributedInfo` has the groups of the rank:
all ranks, and with replicas its pipeline (mesh_pp) and its stage (mesh_dp_replicate).

device="gpu": a program with torch.distributed.pipelining on one GPU a rank, over NCCL.
on_gpus.py says when the host launches what, and on which streams it runs.
- Forwards are operators of the main thread, backwards (B, I, W) functions of autograd on a thread
  of its own; both with sequence numbers and arrows. Each operator launches one kernel, on stream 7.
- Messages: `c10d::send` around `record_param_comms` around `nccl:send 0->1` around the launch of
  ncclDevKernel_SendRecv. Sums: `c10d::allreduce_`, and ncclDevKernel_AllReduce. These kernels have
  the arguments of record_param_comms.
- annotated: `PP:1F3`, `PP:1SEND_F3`, `PP:1RECV_B3`, `PP:1REDUCE_GRAD` around the calls; the image
  of a forward on the device (`gpu_user_annotation`); loading and saving as annotations.
- Always: `ProfilerStep#`, `Optimizer.step#AdamW.step`.
The shape is that of a real trace of two A100 with NCCL; the arguments of messages are those that
Kineto copies from record_param_comms. Made up are that messages of a link have their own stream (as
with Megatron-LM's groups for messages in one direction), that each is sent by itself
(`isend`, `irecv`), and the layers of a stage with the names of their kernels.

device="cpu": the same over Gloo, as torch 2.11 writes it.
- All runs on the main thread: operators, and autograd's functions. They fill their jobs.
- `c10d::recv_` posts a message, and `gloo:recv` lasts until the wait for it ends: that is when the
  message has come, or when the thread first needs it. `gloo:send` lasts until the waits for sends,
  which stand at the end of the step.
- `c10d::allreduce_` on the main thread, `gloo:all_reduce` on a thread of Gloo.
- A send that is posted later than its job ends stands where the main thread is then: between jobs,
  or between two operators of a job.
- annotated: `PP:1F3` contains the wait for its message where torch's own runtime runs the schedule
  (all but 1F1B, GPipe and FThenB), and receives are posted before it, as soon as the job before has
  ended. Else `PP:1F3` begins after the wait, as where `forward_one_chunk` is annotated.
- Calls that post something take 0.5 us each. Where a job follows another one at once, it begins
  that much later in the file.
The shape is that of real trainings: Schedule1F1B, ScheduleGPipe and ScheduleInterleaved1F1B.

What this format lacks:

    what                        gpu                           cpu
    loading, saving             a gap, where not annotated    the same
    when bytes began to move    the later begin of both       -
                                kernels
    when a receive is posted    begin of its kernel           begin of gloo:recv
    when a message came         end of both kernels           only where the thread waited for it
    when a job was asked for    its launch                    -
    waits for each other        in kernels of NCCL            in gloo:all_reduce
    stages, micro-batches       only where annotated          the same
"""

import itertools
import os
import sys

import on_gpus
from torch_on_cpus import CpuTrace
from torch_on_gpus import GpuTrace


def write(recording, folder, leave_out=(), device="gpu", annotated=True):
    os.makedirs(folder, exist_ok=True)
    messages, collectives = on_gpus.by_rank(recording)
    writer = GpuTrace if device == "gpu" else CpuTrace
    for rank in range(recording.world):
        if rank in leave_out:
            continue
        trace = writer(recording, rank, annotated)
        trace.add(messages[rank], collectives[rank])
        trace.save(folder)


# Checks -------------------------------------------------------------------------------------------


def check():
    import tempfile

    import small_run
    import torch_checks

    for schedule, options in (
        ("1F1B", {}),
        ("1F1B", {"ahead": False}),
        ("Interleaved1F1B", {"positions": 2, "chunks": 2}),
        ("LoopedBFS", {"positions": 2, "chunks": 2, "replicas": 1, "ahead": False}),
        ("ZBH1", {"replicas": 1}),
    ):
        run = small_run.make(schedule, **options)
        for device, annotated in itertools.product(("gpu", "cpu"), (True, False)):
            with tempfile.TemporaryDirectory() as folder:
                write(run, folder, (), device, annotated)
                found = {}
                for rank in range(run.world):
                    _, spans = torch_checks.read_back(folder, rank)
                    if device == "gpu":
                        torch_checks.check_gpu(run, rank, spans, annotated, found)
                    else:
                        torch_checks.check_cpu(run, rank, spans, annotated)
                if device == "gpu":
                    torch_checks.check_messages(run, found, annotated)
                write(run, os.path.join(folder, "some"), (0,), device, annotated)
                assert len(os.listdir(os.path.join(folder, "some"))) == run.world - 1
        print(
            "%s: %d jobs and %d messages are exact, on GPUs and CPUs"
            % (schedule, sum(map(len, run.jobs)), len(run.messages))
        )


if __name__ == "__main__":
    if sys.argv[1:] != ["--check"]:
        sys.exit("usage: write_torch.py --check")
    check()
