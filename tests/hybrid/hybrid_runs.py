"""Makes traces of hybrid pipeline-parallel trainings of which everything is known.

A run is simulated in whole nanoseconds, then written as PyTorch's profiler writes it on GPUs: one
`rank<R>.pt.trace.json.gz` a rank, and `truth.json`. The same seed and options give the same files.

    hybrid_runs.py --seed 7 --random --out DIR           draws the options and at most one fault
    hybrid_runs.py --seed 7 --random-rings --out DIR     the same of larger rings (below)
    hybrid_runs.py --seed 7 --out DIR --pp 4 --tp 4 --slow-rank 6 --slow-rank-factor 1.25
    hybrid_runs.py --check                               compares runs with known answers
    hybrid_runs.py --verify DIR                          compares a run's truth with its traces

What is simulated. Ranks are numbered with TP fastest, then CP, DP, PP. A rank does its jobs in the
order of the schedule. A job is a chain: each of its kernels and collectives starts when the one
before has ended. It starts when its message has come. A collective of a chain starts on a rank
when the rank comes to it, and ends a fixed time after its last member came. With --fsdp-overlap,
the all-gather for the next job starts during a job, and reduce-scatters run beside the next jobs.
With --grad-overlap, a stage's last backward starts a part of the sum of gradients after each
layer. With --contention, kernels compute more slowly while collectives run in the background.
Steps do not overlap.

Rings (--cp-comm ring, ring_overlap). Without one, a CP group of N ranks gathers before each layer.
In a ring a rank passes keys and values on: it sends to the next rank of the group and receives
from the previous one, the first rank from the last. A layer's compute is cut into N parts, with
an exchange between each two: each kernel becomes N of the same length, one for each part, together
as long as it was. Experts' kernels behind an all-to-all stay whole. A weight half has no exchange.
- Exchanges of a rank are counted. Number k ends on a rank --cp-ms after the last of the rank and
  its two neighbours came to their number k: until then it waits, and from then on it moves. Other
  ranks of the group do not matter, so ends differ. Of two ranks, each is both neighbours.
- ring: a rank comes to an exchange when its part has ended. Exchanges are of the chain.
- ring_overlap: a rank comes to an exchange when a part starts. The exchange runs beside the part,
  and the next part starts when both have ended. What is left of the exchange when its part has
  ended counts as waiting and moving, and so does what runs in gaps between the part's kernels.
How they are written (--cp-written):
- batched (batch_isend_irecv): one kernel, which says nothing of itself. Before its launch the host
  posts a send and a receive.
- pairs (isend and irecv): a kernel that sends and one that receives, each on its own stream. Both
  start when the rank comes. One ends --cp-ms after the rank and the next one came, the other
  --cp-ms after the rank and the previous one came. The exchange ends with the later one. The rank
  at an even place of its group launches the send first, the others the receive.
- permute (all_to_all_single): one kernel; its sizes say from whom and to whom.

Definitions (also of the keys of truth.json; times in ns, of one rank and step):
- A job lasts from the start of its first kernel to the end of its last, both of its chain. Kernels
  of collectives count. Collectives in the background do not, neither do messages.
- own: in compute kernels of jobs. waiting: in no compute kernel, in a collective that a member
  has not come to yet. moving: in no compute kernel, in a collective whose members all came. Of
  two collectives at a time the chain's counts. launch: in a job and in none of these. Exchanges
  of rings are like collectives of the rank and its neighbours, and count before the background's.
  own + waiting + moving + launch = length of jobs.
- idle: from the end of a job to the start of the next. Collectives in the background can run
  then: between_waiting and between_moving are those parts of idle.
- A step lasts from the first job's start to the last optimizer's end, over all ranks.
  lead + jobs + idle + sync + optimizer + tail = step. lead: the step's start to the rank's first
  job; sync: the last job's end to the optimizer's start (sync_waiting + sync_moving, and nothing
  else); tail: the optimizer's end to the step's end.
- awaited: how long others waited in collectives of chains, and exchanges, to which this rank came
  last (to an exchange: of the waiting rank and its neighbours).
- repaired: the same run, with the same random numbers, without the fault.
- rank_factor_by_own: the slow rank's own over the lower median of its peers'. stage_factor_by_own:
  the lower median of the slow stage's ranks over the lower median of the other stages'.
- Peers of a rank: the other ranks of its stage. The lower median of an even number is the lower
  of the middle two.
"""

import argparse
import bisect
import collections
import gzip
import json
import math
import os
import random
import sys
import tempfile

SCHEDULES = ("1F1B", "GPipe", "Interleaved1F1B", "ZBH1")
DRAWN_FAULTS = ("none", "slow_rank", "slow_stage", "both", "experts", "slow_group", "slow_loader")
FAULTS = (*DRAWN_FAULTS, "exposed_gathers", "contention")
GROUP_NAMES = {
    "megatron": {
        "pp": "PIPELINE_MODEL_PARALLEL_GROUP",
        "dp": "DATA_PARALLEL_GROUP",
        "dp_cp": "DATA_PARALLEL_GROUP_WITH_CP",
        "tp": "TENSOR_MODEL_PARALLEL_GROUP",
        "cp": "CONTEXT_PARALLEL_GROUP",
        "ep": "EXPERT_MODEL_PARALLEL_GROUP",
    },
    "mesh": {
        "pp": "mesh_pp",
        "dp": "mesh_dp_shard",
        "dp_cp": "mesh_dp_shard_cp",
        "tp": "mesh_tp",
        "cp": "mesh_cp",
        "ep": "mesh_ep",
    },
}
COMPUTE_STREAM = 7
GROUP_STREAMS = {"tp": 20, "cp": 21, "ep": 22, "dp": 24}
RING_RECV_STREAM = 23  # of exchanges written as pairs; the CP group's stream has the sends
SEND_STREAM, RECV_STREAM, SECOND_RECV_STREAM = 30, 31, 32
GEMM = "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64"
COMPUTE_NAMES = (
    GEMM,
    "void flash_fwd_kernel<Flash_fwd_kernel_traits<128, 128, 64, 4, false, false>>",
    "void at::native::vectorized_elementwise_kernel<4, at::native::GeluCUDAKernelImpl>",
    "nvjet_tst_128x256_64x4_2x1_v_bz_TNT",
)
ADAM = "void at::native::multi_tensor_apply_kernel<at::native::FusedAdamMathFunctor>"
PIPELINE_NAMES = tuple(names["pp"] for names in GROUP_NAMES.values())
KERNEL_ARGS = "(ncclDevKernelArgsStorage<4096ul>)"
SEND_RECV = "ncclDevKernel_SendRecv" + KERNEL_ARGS
# Kind of collective: its name in the arguments, its kernel, its type.
COLLECTIVES = {
    "all_reduce": (
        "allreduce",
        "ncclDevKernel_AllReduce_Sum_bf16_RING_LL" + KERNEL_ARGS,
        "BFloat16",
    ),
    "grad_sync": ("allreduce", "ncclDevKernel_AllReduce_Sum_f32_RING_LL" + KERNEL_ARGS, "Float"),
    "all_gather": ("_allgather_base", "ncclDevKernel_AllGather_RING_LL" + KERNEL_ARGS, "BFloat16"),
    "reduce_scatter": (
        "_reduce_scatter_base",
        "ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL" + KERNEL_ARGS,
        "BFloat16",
    ),
    "all_to_all": ("all_to_allv", SEND_RECV, "BFloat16"),
    "exchange": ("all_to_allv", SEND_RECV, "BFloat16"),
}
ELEMENTS = 8388608  # of each collective and exchange
FIRST_CLOCK_US = 4458676000000  # the ts of the first job's start
BASE_NS = 1750000000000000000
SKIPPED = 77  # exit code
PITCH_NS = 8000  # between the launches of two kernels
BEFORE_STEP_NS = 400000  # from the start of ProfilerStep# on the host to the first kernel


# Options ------------------------------------------------------------------------------------------


def add_options(parser):
    """All options of a run, and nothing else, so that truth.json can list them."""

    def option(group, name, default, text, choices=None, kind=None):
        if default is False:
            group.add_argument(name, action="store_true", help=text)
        else:
            kind = kind or type(default)
            shown = " (default: %(default)s)" if default is not None else ""
            group.add_argument(name, default=default, type=kind, choices=choices, help=text + shown)

    shape = parser.add_argument_group("the run")
    option(shape, "--pp", 2, "pipeline stages (with Interleaved1F1B: two chunks on each)")
    option(shape, "--tp", 1, "ranks of a tensor-parallel group")
    option(shape, "--cp", 1, "ranks of a context-parallel group")
    option(shape, "--dp", 1, "replicas")
    option(shape, "--schedule", "1F1B", "order of jobs", SCHEDULES)
    option(shape, "--micro-batches", 8, "micro-batches a step")
    option(shape, "--steps", 3, "steps")
    option(shape, "--layers", 2, "layers of a stage (of a chunk)")
    option(shape, "--kernels", 1, "compute kernels of a layer")
    option(
        shape, "--layer-ms", 5.0, "compute of a layer's forward; its backward takes twice as long"
    )
    option(shape, "--jitter", 0.0, "standard deviation of compute kernels, in percent")
    option(shape, "--jitter-shape", "normal", "its distribution", ("normal", "lognormal"))
    option(
        shape,
        "--launch-gap-us",
        0.0,
        "gap before each compute kernel but a job's first: half to 1.5 times this",
    )

    comm = parser.add_argument_group("collectives and messages")
    option(
        comm,
        "--tp-comm",
        "all_reduce",
        "what a layer does in its TP group (sequence: all-gather before it and "
        "reduce-scatter after it, each half as long)",
        ("all_reduce", "sequence", "none"),
    )
    option(comm, "--tp-ms", 0.3, "how long the TP group's collectives move")
    option(
        comm,
        "--cp-comm",
        "gather",
        "what a layer does in its CP group: all-gather before its forward and reduce-scatter "
        "after its backward; or exchanges with neighbours between as many parts of its compute "
        "as the group has ranks (each kernel is cut into them), in the chain or beside the parts",
        ("gather", "ring", "ring_overlap"),
    )
    option(
        comm,
        "--cp-ms",
        0.2,
        "how long the CP group's collectives move; with rings, each exchange",
    )
    option(
        comm,
        "--experts",
        "none",
        "ranks that share experts: those of the TP group, or the replicas",
        ("none", "tp", "dp"),
    )
    option(
        comm,
        "--expert-exchanges",
        2,
        "all-to-alls of a layer: 1, after it, or 2, before and after its experts",
        (1, 2),
    )
    option(comm, "--expert-share", 0.5, "share of experts in a layer's compute")
    option(comm, "--ep-ms", 0.3, "how long an all-to-all moves")
    option(
        comm,
        "--ep-spread",
        0.0,
        "members of an all-to-all move for up to this share longer or shorter",
    )
    option(
        comm,
        "--fsdp",
        False,
        "parameters are gathered before each job, and gradients scattered after it",
    )
    option(comm, "--fsdp-overlap", False, "… during the job before, and beside the jobs after")
    option(comm, "--fsdp-ms", 1.5, "how long each of these moves")
    option(
        comm,
        "--grad-ms",
        3.0,
        "how long the all-reduce of gradients moves at the end of the step, without FSDP",
    )
    option(
        comm,
        "--grad-overlap",
        False,
        "a part of it after each layer of a stage's last backward, in the background",
    )
    option(comm, "--optimizer-ms", 2.0, "the optimizer")
    option(comm, "--message-ms", 0.2, "a message between stages")
    option(comm, "--step-gap-ms", 5.0, "from the end of a step to the start of the next")

    fault = parser.add_argument_group("faults")
    option(fault, "--slow-rank", None, "this rank computes longer", kind=int)
    option(fault, "--slow-rank-factor", 1.25, "how many times as long as usual")
    option(
        fault,
        "--slow-stage",
        None,
        "all ranks of this stage compute longer (counted as in PP:5F0: of two chunks only one)",
        kind=int,
    )
    option(
        fault,
        "--slow-both-chunks",
        False,
        "with Interleaved1F1B: they compute longer in both of their chunks",
    )
    option(fault, "--slow-stage-factor", 1.25, "how many times as long as usual")
    option(fault, "--uneven-experts", None, "sigma of the log-normal load of experts", kind=float)
    option(
        fault,
        "--slow-group",
        None,
        "the collectives of this group move longer: tp:4 is rank 4's TP group",
        kind=str,
    )
    option(fault, "--slow-group-factor", 3.0, "how many times as long as usual")
    option(fault, "--slow-loader", None, "this rank waits for its data before each step", kind=int)
    option(fault, "--loader-ms", 50.0, "for so long")
    option(
        fault,
        "--exposed-gathers",
        False,
        "that --fsdp is without --fsdp-overlap is the fault: the repaired run has it",
    )

    option(
        fault,
        "--contention",
        None,
        "kernels take this many times as long while collectives run in the background",
        kind=float,
    )

    files = parser.add_argument_group("how it is written")
    option(files, "--names", "megatron", "names of groups", tuple(GROUP_NAMES))
    option(
        files,
        "--group-numbers",
        "own",
        "names of groups are numbers: counted on each rank, or over all groups",
        ("own", "all"),
    )
    option(files, "--seq", False, "collectives have a Seq, as torch 2.6 writes it")
    option(files, "--bare-messages", False, "kernels of messages name neither group nor peer")
    option(
        files,
        "--on-compute-stream",
        False,
        "collectives inside jobs are on the compute stream (exchanges of rings are not)",
    )
    option(
        files,
        "--cp-written",
        "batched",
        "exchanges of rings: a kernel that says nothing, after a send and a receive on the host; "
        "a kernel that sends and one that receives; or an all-to-all that is empty but for "
        "the neighbours",
        ("batched", "pairs", "permute"),
    )
    option(
        files,
        "--host",
        "ahead",
        "when the host launches: the whole step at its start, or each kernel just before it "
        "runs (always so with gaps)",
        ("ahead", "close"),
    )
    option(
        files,
        "--recv-kernels",
        "transfer",
        "kernels of receives last as long as the message moves, or begin when the "
        "rank has nothing else to do",
        ("transfer", "posted"),
    )
    option(files, "--truth-jobs", False, "truth.json lists all jobs")
    option(files, "--hosts", 1, "hosts; files name them if there are several")
    option(files, "--clock-ms", 0.0, "clocks of hosts differ by up to this")


def fault_of(options):
    rank, stage = options.slow_rank is not None, options.slow_stage is not None
    if rank or stage:
        return "both" if rank and stage else "slow_rank" if rank else "slow_stage"
    if options.uneven_experts is not None:
        return "experts"
    if options.slow_group is not None:
        return "slow_group"
    if options.exposed_gathers:
        return "exposed_gathers"
    if options.contention is not None:
        return "contention"
    return "slow_loader" if options.slow_loader is not None else "none"


def slow_stages(options):
    """The stages of --slow-stage: one, or both chunks of its ranks."""
    if options.slow_stage is None:
        return []
    if options.slow_both_chunks:
        return [
            options.slow_stage % options.pp + chunk * options.pp
            for chunk in range(chunks_of(options.schedule))
        ]
    return [options.slow_stage]


def world_size(options):
    return options.pp * options.tp * options.cp * options.dp


def has_rings(options):
    return options.cp > 1 and options.cp_comm != "gather"


def problem_of(options):
    """What is wrong with the options; empty if nothing."""
    world = world_size(options)
    faults = [
        options.slow_rank is not None or options.slow_stage is not None,
        options.uneven_experts is not None,
        options.slow_group is not None,
        options.slow_loader is not None,
        options.exposed_gathers,
        options.contention is not None,
    ]
    if sum(faults) > 1:
        return "a run has one fault, or a slow rank and a slow stage"
    if (
        min(
            options.pp,
            options.tp,
            options.cp,
            options.dp,
            options.steps,
            options.layers,
            options.kernels,
        )
        < 1
    ):
        return "sizes are at least 1"
    if options.pp < 2:
        return "--pp is at least 2"
    if options.schedule == "Interleaved1F1B" and options.micro_batches % options.pp:
        return "with Interleaved1F1B, --micro-batches is a multiple of --pp"
    if options.micro_batches < options.pp:
        return "--micro-batches is at least --pp"
    if options.fsdp_overlap and not options.fsdp:
        return "--fsdp-overlap needs --fsdp"
    if options.exposed_gathers and (not options.fsdp or options.fsdp_overlap):
        return "--exposed-gathers needs --fsdp without --fsdp-overlap"
    if options.fsdp and options.dp * options.cp < 2:
        return "--fsdp needs --dp or --cp of 2 and more"
    if options.grad_overlap and (options.fsdp or options.dp * options.cp < 2):
        return "--grad-overlap needs --dp or --cp of 2 and more, without --fsdp"
    if options.contention is not None and not (options.grad_overlap or options.fsdp_overlap):
        return "--contention needs --grad-overlap or --fsdp-overlap"
    if options.cp_comm != "gather" and options.cp < 2:
        return "--cp-comm %s needs a --cp of 2 and more" % options.cp_comm
    if options.experts != "none" and (options.tp if options.experts == "tp" else options.dp) < 2:
        return "--experts %s needs a --%s of 2 and more" % (options.experts, options.experts)
    if options.experts != "none" and options.expert_exchanges == 2 and options.kernels < 2:
        return "with --expert-exchanges 2, --kernels is at least 2: the last are the experts"
    if options.slow_both_chunks and (
        options.slow_stage is None or options.schedule != "Interleaved1F1B"
    ):
        return "--slow-both-chunks needs --slow-stage and Interleaved1F1B"
    if options.uneven_experts is not None and options.experts == "none":
        return "--uneven-experts needs --experts"
    for name in ("slow_rank", "slow_loader"):
        if getattr(options, name) is not None and not 0 <= getattr(options, name) < world:
            return "--%s is a rank from 0 to %d" % (name.replace("_", "-"), world - 1)
    stages = options.pp * (2 if options.schedule == "Interleaved1F1B" else 1)
    if options.slow_stage is not None and not 0 <= options.slow_stage < stages:
        return "--slow-stage is from 0 to %d" % (stages - 1)
    if options.slow_group is not None:
        kind, _, rank = options.slow_group.partition(":")
        if kind not in GROUP_STREAMS or not rank.isdigit() or int(rank) >= world:
            return "--slow-group is tp:RANK, cp:RANK, ep:RANK or dp:RANK"
        if len(Layout(options).groups.get(kind, {}).get(int(rank), ())) < 2:
            return "--slow-group %s: rank %s is in no such group" % (options.slow_group, rank)
    if not 1 <= options.hosts <= world or world % options.hosts:
        return "--hosts divides the number of ranks"
    return ""


# Orders of schedules ------------------------------------------------------------------------------


def chunks_of(schedule):
    return 2 if schedule == "Interleaved1F1B" else 1


def order_of(schedule, pp, micro_batches, position):
    """The jobs of one pipeline position: (letter, stage, micro-batch)."""
    m = micro_batches
    if schedule == "GPipe":
        return [("F", position, i) for i in range(m)] + [("B", position, i) for i in range(m)]
    if schedule == "1F1B":
        return alternate(
            [("F", position, i) for i in range(m)],
            [("B", position, i) for i in range(m)],
            min(pp - 1 - position, m),
        )
    if schedule == "Interleaved1F1B":
        forwards, backwards = [], []
        for first in range(0, m, pp):  # rounds of as many micro-batches as there are positions
            for chunk in (0, 1):
                forwards += [("F", chunk * pp + position, i) for i in range(first, first + pp)]
                backwards += [
                    ("B", (1 - chunk) * pp + position, i) for i in range(first, first + pp)
                ]
        return alternate(forwards, backwards, min(pp + 2 * (pp - 1 - position), 2 * m))
    # ZB-H1: the weight half comes as many input halves later as the position is far from the first.
    jobs = [("F", position, i) for i in range(min(pp - 1 - position, m))]
    forward = len(jobs)
    weight = 0
    for i in range(m):
        if forward < m:
            jobs.append(("F", position, forward))
            forward += 1
        jobs.append(("I", position, i))
        if i >= position:
            jobs.append(("W", position, weight))
            weight += 1
    return jobs + [("W", position, i) for i in range(weight, m)]


def alternate(forwards, backwards, warm_up):
    jobs = forwards[:warm_up]
    for forward, backward in zip(forwards[warm_up:], backwards):
        jobs += [forward, backward]
    return jobs + backwards[len(forwards) - warm_up :]


# Ranks and groups ---------------------------------------------------------------------------------


class Layout:
    """Which ranks are where: groups[kind][rank] = the ranks of its group."""

    def __init__(self, options):
        tp, cp, dp, pp = options.tp, options.cp, options.dp, options.pp
        self.world = tp * cp * dp * pp
        self.inner = tp * cp * dp  # ranks of a stage
        ranks = range(self.world)
        self.position = [rank // self.inner for rank in ranks]
        self.groups = {kind: {} for kind in ("pp", "dp", "tp")}
        if cp > 1:
            self.groups["cp"] = {}
        if options.experts != "none" and not (
            options.experts == "tp" and options.tp_comm == "none"
        ):
            self.groups["ep"] = {}
        for rank in ranks:
            t, c, d, s = rank % tp, rank // tp % cp, rank // (tp * cp) % dp, self.position[rank]

            def at(t, c, d, s):
                return ((s * dp + d) * cp + c) * tp + t

            self.groups["pp"][rank] = tuple(at(t, c, d, i) for i in range(pp))
            self.groups["tp"][rank] = tuple(at(i, c, d, s) for i in range(tp))
            # Ranks of a CP group have the same parameters, as replicas have.
            self.groups["dp"][rank] = tuple(at(t, i, j, s) for j in range(dp) for i in range(cp))
            if cp > 1:
                self.groups["cp"][rank] = tuple(at(t, i, d, s) for i in range(cp))
            if "ep" in self.groups:
                self.groups["ep"][rank] = (
                    self.groups["tp"][rank]
                    if options.experts == "tp"
                    else tuple(at(t, c, i, s) for i in range(dp))
                )
        # The group whose ranks share experts: one of its own, unless TP has no other use.
        self.expert_kind = (
            None if options.experts == "none" else "ep" if "ep" in self.groups else "tp"
        )

    def stage_ranks(self, stage, pp):
        first = stage % pp * self.inner
        return list(range(first, first + self.inner))


# What a step does ---------------------------------------------------------------------------------

JOB, COMPUTE, GAP, MEET, START, AWAIT, END, OPTIMIZER = range(8)


def ns(ms):
    return round(ms * 1e6)


class Work:
    """The operations of each rank in one step, with all random numbers drawn.

    (JOB, letter, stage, micro-batch), (COMPUTE, ns, ns with even loads, name), (GAP, ns),
    (MEET, group kind, kind, ns) a collective of the chain, (START, group kind, kind, ns, tag) one
    in the background, or an exchange beside a part, (AWAIT, group kind, tag), (END,),
    (OPTIMIZER, ns).
    """

    def __init__(self, options, layout, loads, step, set_kernel=None):
        self.options, self.layout, self.loads, self.step = options, layout, loads, step
        self.set_kernel = set_kernel
        self.random = random.Random("%d kernels %d" % (options.seed, step))
        self.gaps = random.Random("%d gaps %d" % (options.seed, step))
        self.spread = random.Random("%d spread %d" % (options.seed, step))
        self.programs = [self.program(rank) for rank in range(layout.world)]

    def program(self, rank):
        options = self.options
        jobs = order_of(
            options.schedule, options.pp, options.micro_batches, self.layout.position[rank]
        )
        replicas = len(self.layout.groups["dp"][rank])
        fsdp_ns = ns(options.fsdp_ms)
        program, tags, gathered = [], 0, None
        scatters = []
        last_of = {job[1]: index for index, job in enumerate(jobs) if job[0] in "BW"}
        for index, job in enumerate(jobs):
            letter = job[0]
            program.append((JOB,) + job)
            chain = self.chain(rank, job)
            if options.fsdp and letter != "W":  # a weight half needs no parameters
                if gathered is None:
                    program.append((MEET, "dp", "all_gather", fsdp_ns))
                else:
                    program.append((AWAIT, "dp", gathered))
            gathered = None
            if options.fsdp_overlap and index + 1 < len(jobs) and jobs[index + 1][0] != "W":
                tags += 1
                gathered = tags
                second = 2 if chain[0][0] == START else 1
                chain.insert(second, (START, "dp", "all_gather", fsdp_ns, tags))
            if options.grad_overlap and last_of[job[1]] == index:
                chain = self.with_sums(chain, tags)
                tags += options.layers
            program += chain
            if options.fsdp and letter in "BW":
                if options.fsdp_overlap:
                    tags += 1
                    scatters.append(tags)
                    program.append((START, "dp", "reduce_scatter", fsdp_ns, tags))
                else:
                    program.append((MEET, "dp", "reduce_scatter", fsdp_ns))
            program.append((END,))
        program += [(AWAIT, "dp", tag) for tag in scatters[-1:]]
        if options.grad_overlap:
            program += [(AWAIT, "dp", tag + 1) for tag in range(tags)]
        elif not options.fsdp and replicas > 1:
            program.append((MEET, "dp", "grad_sync", ns(options.grad_ms)))
        program.append((OPTIMIZER, ns(options.optimizer_ms)))
        return program

    def chain(self, rank, job):
        options, layout = self.options, self.layout
        letter, stage, micro_batch = job
        forward = letter == "F"
        meets = letter != "W"
        layer_ns = options.layer_ms * 1e6 * (2 if letter == "B" else 1)
        tp_kind = options.tp_comm if len(layout.groups["tp"][rank]) > 1 and meets else "none"
        cp = "cp" in layout.groups and meets
        expert_kind = layout.expert_kind if meets else None
        chain = []
        for layer in range(options.layers):
            load, even = 1.0, 1.0
            if layout.expert_kind and self.loads:
                # The load of a micro-batch is the same in its forward and its backward.
                real_layer = layer if forward else options.layers - 1 - layer
                load, even = self.loads[(self.step, stage, real_layer, micro_batch, rank)]
            kernels = self.kernels(rank, layer_ns, load, even, job, layer)
            experts = []
            if layout.expert_kind and options.expert_exchanges == 2:
                split = len(kernels) - 1 if options.kernels < 3 else len(kernels) - 2
                kernels, experts = kernels[:split], kernels[split:]
            exchange = [self.exchange(expert_kind)] if expert_kind else []
            before, after = [], []
            if tp_kind == "sequence":
                before.append((MEET, "tp", "all_gather", ns(options.tp_ms / 2)))
                after.append((MEET, "tp", "reduce_scatter", ns(options.tp_ms / 2)))
            elif tp_kind == "all_reduce":
                after.append((MEET, "tp", "all_reduce", ns(options.tp_ms)))
            if cp and has_rings(options):
                kernels = self.ring(kernels)
            elif cp:
                if forward:
                    before.append((MEET, "cp", "all_gather", ns(options.cp_ms)))
                else:
                    after.insert(0, (MEET, "cp", "reduce_scatter", ns(options.cp_ms)))
            second = [self.exchange(expert_kind)] if expert_kind and experts else []
            if not experts:
                chain += before + kernels + after + exchange
            elif forward:
                chain += before + kernels + after + exchange + experts + second
            else:
                chain += exchange + experts + second + before + kernels + after
        if options.launch_gap_us:
            chain = self.with_gaps(chain)
        return chain

    def kernels(self, rank, layer_ns, load, even, job, layer):
        options = self.options
        count, share = options.kernels, options.expert_share
        sizes = [(1 / count, 1 / count)] * count
        if self.layout.expert_kind:
            if options.expert_exchanges == 1:
                sizes = [
                    ((1 - share + share * load) / count, (1 - share + share * even) / count)
                ] * count
            else:
                experts = 1 if count < 3 else 2
                dense = count - experts
                sizes = [((1 - share) / dense,) * 2] * dense + [
                    (share * load / experts, share * even / experts)
                ] * experts
        kernels = []
        for index, (real, even_size) in enumerate(sizes):
            noise = 1.0
            if options.jitter:
                sigma = options.jitter / 100
                drawn = self.random.gauss(0, sigma)
                noise = (
                    max(0.5, 1 + drawn)
                    if options.jitter_shape == "normal"
                    else math.exp(drawn - sigma * sigma / 2)
                )
            values = (round(layer_ns * real * noise), round(layer_ns * even_size * noise))
            if self.set_kernel:
                values = self.set_kernel(self.step, rank, job, layer)
            kernels.append((COMPUTE,) + values + (COMPUTE_NAMES[index % len(COMPUTE_NAMES)],))
        return kernels

    def ring(self, kernels):
        """A layer's compute in parts, with the exchanges between them."""
        parts, length = self.options.cp, ns(self.options.cp_ms)
        overlap = self.options.cp_comm == "ring_overlap"
        chain = []
        for part in range(parts):
            if part > 0 and overlap:
                chain.append((AWAIT, "cp", "exchange"))
            elif part > 0:
                chain.append((MEET, "cp", "exchange", length))
            if part + 1 < parts and overlap:
                chain.append((START, "cp", "exchange", length, "exchange"))
            for _, real, even, name in kernels:
                pieces = [
                    size * (part + 1) // parts - size * part // parts for size in (real, even)
                ]
                chain.append((COMPUTE, *pieces, name))
        return chain

    def with_sums(self, chain, tag):
        """A part of the sum of gradients starts behind the last kernel of each layer."""
        kernels = [index for index, operation in enumerate(chain) if operation[0] == COMPUTE]
        layers = self.options.layers
        length = ns(self.options.grad_ms / layers)
        result = list(chain)
        for layer in range(layers, 0, -1):
            place = kernels[len(kernels) * layer // layers - 1] + 1
            result.insert(place, (START, "dp", "grad_sync", length, tag + layer))
        return result

    def exchange(self, kind):
        options = self.options
        length = options.ep_ms * (
            1 + options.ep_spread * self.spread.uniform(-1, 1) if options.ep_spread else 1
        )
        return (MEET, kind, "all_to_all", ns(length))

    def with_gaps(self, chain):
        result = []
        first = 1 if chain[0][0] == START else 0
        for index, operation in enumerate(chain):
            if operation[0] == COMPUTE and index > first:
                gap = (GAP, round(self.options.launch_gap_us * 1000 * self.gaps.uniform(0.5, 1.5)))
                starts = result[-1][0] == START  # with the kernel, and not with the gap
                result.insert(len(result) - starts, gap)
            result.append(operation)
        return result


def draw_loads(options, layout):
    """Loads of experts: {(step, stage, layer, micro-batch, rank): (load, load spread evenly)}.

    Over the run each rank's loads, and over the group each layer's, have the mean 1, as near as
    a few rounds of scaling bring both: no rank is slow by itself.
    """
    if options.uneven_experts is None:
        return {}
    source = random.Random("%d loads" % options.seed)
    loads = {}
    members = layout.groups[layout.expert_kind]
    for group in sorted(set(members.values())):
        position = layout.position[group[0]]
        stages = range(position, options.pp * chunks_of(options.schedule), options.pp)
        cells = [
            (step, stage, layer, micro_batch)
            for step in range(options.steps)
            for stage in stages
            for layer in range(options.layers)
            for micro_batch in range(options.micro_batches)
        ]
        table = [[math.exp(source.gauss(0, options.uneven_experts)) for _ in group] for _ in cells]
        for _ in range(12):
            for row in table:
                scale = len(row) / sum(row)
                row[:] = [value * scale for value in row]
            totals = [len(table) / sum(column) for column in zip(*table)]
            for row in table:
                row[:] = [value * scale for value, scale in zip(row, totals)]
        for cell, row in zip(cells, table):
            even = sum(row) / len(row)
            for rank, value in zip(group, row):
                loads[cell + (rank,)] = (value, even)
    return loads


# Simulation ---------------------------------------------------------------------------------------


class Meeting:
    """One collective, or the exchanges of a number. Of each member: when it started it, when the
    last came of those it waits for, when its kernel ended, and how long it waited in jobs."""

    __slots__ = ("kind", "started", "moves", "arrived", "last", "ends", "waiting", "waited")

    def __init__(self, kind):
        self.kind = kind
        self.started, self.moves, self.waiting = {}, {}, []
        self.arrived, self.last, self.ends, self.waited = {}, {}, {}, {}


class Group:
    """Collectives of one group happen one after the other, in the same order on all members."""

    __slots__ = ("kind", "ranks", "factor", "meetings", "next", "begun", "free")

    def __init__(self, kind, ranks, factor):
        self.kind, self.ranks, self.factor = kind, ranks, factor
        self.meetings, self.next = [], 0
        self.begun = dict.fromkeys(ranks, 0)
        self.free = dict.fromkeys(ranks, -(1 << 62))

    def awaited_by(self, rank):
        """The ranks for which a rank waits, with itself."""
        return self.ranks

    def begin(self, rank, kind, now, length):
        number = self.begun[rank]
        self.begun[rank] += 1
        if number == len(self.meetings):
            self.meetings.append(Meeting(kind))
        meeting = self.meetings[number]
        assert meeting.kind == kind, "members are in different collectives"
        meeting.started[rank] = now
        meeting.moves[rank] = round(length * self.factor) if self.factor != 1 else length
        return meeting

    def start(self, rank, kind, now, length):
        """The meeting that this is, and the ranks that can go on because of it."""
        meeting = self.begin(rank, kind, now, length)
        woken = []
        while self.next < len(self.meetings) and len(self.meetings[self.next].started) == len(
            self.ranks
        ):
            done = self.meetings[self.next]
            done.arrived = {
                member: max(done.started[member], self.free[member]) for member in self.ranks
            }
            last = max(done.arrived.values())
            done.last = dict.fromkeys(self.ranks, last)
            done.ends = {member: last + done.moves[member] for member in self.ranks}
            self.free = done.ends
            woken += done.waiting
            self.next += 1
        return meeting, woken


class Ring(Group):
    """In exchanges a rank waits for its neighbours alone."""

    __slots__ = ()

    def neighbours(self, rank):
        """The previous rank and the next one."""
        place, size = self.ranks.index(rank), len(self.ranks)
        return self.ranks[place - 1], self.ranks[(place + 1) % size]

    def awaited_by(self, rank):
        return (rank, *self.neighbours(rank))

    def start(self, rank, kind, now, length):
        meeting = self.begin(rank, kind, now, length)
        assert self.free[rank] <= now, "a rank is in two exchanges at a time"
        meeting.arrived[rank] = now
        woken = []
        for member in set(self.awaited_by(rank)):
            times = [meeting.arrived.get(each) for each in self.awaited_by(member)]
            if None in times:
                continue
            meeting.last[member] = max(times)
            meeting.ends[member] = self.free[member] = max(times) + meeting.moves[member]
            if member in meeting.waiting:
                woken.append(member)
        return meeting, woken


class JobTimes:
    __slots__ = (
        "letter",
        "stage",
        "micro_batch",
        "begin",
        "end",
        "own",
        "waiting",
        "moving",
        "launch",
        "kernels",
        "received",
        "sent",
    )

    def __init__(self, letter, stage, micro_batch):
        self.letter, self.stage, self.micro_batch = letter, stage, micro_batch
        self.begin = self.end = None
        self.own = self.waiting = self.moving = self.launch = 0
        self.kernels = (
            []
        )  # in the order of launches: (start, end, name) or (group, meeting, in the background)
        self.received = self.sent = None  # (start, end, peer)


class RankTimes:
    def __init__(self):
        self.jobs = []
        self.after = []  # kernels after the last job
        self.background = []  # meetings
        # (start, end, job, exchange): in it neither a kernel nor a collective of the chain runs;
        # an exchange beside the part may.
        self.gaps = []
        self.by_group = {}
        self.optimizer = None
        self.sync = (
            []
        )  # (start, end) of waits for the background, and collectives, after the last job


class Step:
    """One step, simulated from time 0. `faults` are those that are not repaired."""

    def __init__(self, options, layout, work, faults):
        self.options, self.layout, self.faults = options, layout, faults
        self.programs = work.programs
        self.even = "experts" not in faults
        slow_group = None
        if "slow_group" in faults:
            kind, _, rank = options.slow_group.partition(":")
            slow_group = (kind, layout.groups[kind][int(rank)])
        self.groups = {}  # (kind, rank) -> Group
        for kind, members in layout.groups.items():
            if kind == "pp":
                continue
            made = {}
            for rank, ranks in members.items():
                if ranks not in made:
                    made[ranks] = (Ring if kind == "cp" and has_rings(options) else Group)(
                        kind, ranks, options.slow_group_factor if slow_group == (kind, ranks) else 1
                    )
                self.groups[(kind, rank)] = made[ranks]
        self.last_stage = options.pp * chunks_of(options.schedule) - 1
        self.message_ns = ns(options.message_ms)
        self.messages = {}  # (direction, to stage, micro-batch, inner rank) -> (start, end)
        self.expecting = {}
        self.ranks = [RankTimes() for _ in range(layout.world)]
        ready = collections.deque(range(layout.world))
        runs = [self.run(rank) for rank in range(layout.world)]
        self.ready = ready
        finished = 0
        while ready:
            rank = ready.popleft()
            if next(runs[rank], "done") == "done":
                finished += 1
        assert finished == layout.world, "ranks wait for each other for ever"
        self.begin = min(times.jobs[0].begin for times in self.ranks)
        self.end = max(times.optimizer[1] for times in self.ranks)
        self.length = self.end - self.begin

    def awaited(self):
        """For each rank: how long others waited in collectives of jobs to which it came last.

        The accounts of all ranks come first.
        """
        result = [0] * self.layout.world
        for group in set(self.groups.values()):
            for meeting in group.meetings:
                for member, waited in meeting.waited.items():
                    culprit = max(
                        group.awaited_by(member), key=lambda rank: (meeting.arrived[rank], -rank)
                    )
                    result[culprit] += waited
        return result

    def count(self, rank, job, kind, meeting, start, end):
        """Counts a meeting from start to end, in which no kernel runs; gives when it was over."""
        end = min(end, meeting.ends[rank])
        if end <= start:
            return start
        moves = min(end, max(start, meeting.last[rank]))
        sums = self.ranks[rank].by_group.setdefault(kind, [0, 0])
        sums[0] += moves - start
        sums[1] += end - moves
        job.waiting += moves - start
        job.moving += end - moves
        if moves > start:
            meeting.waited[rank] = meeting.waited.get(rank, 0) + moves - start
        return end

    def factor(self, rank, stage):
        factor = 1.0
        if "slow_rank" in self.faults and rank == self.options.slow_rank:
            factor *= self.options.slow_rank_factor
        if "slow_stage" in self.faults and stage in slow_stages(self.options):
            factor *= self.options.slow_stage_factor
        return factor

    def beside_background(self, rank, now, work):
        """How long a kernel takes that starts now: more slowly beside collectives, which come one
        after the other."""
        factor, time, left = self.options.contention, now, work
        for meeting in self.ranks[rank].background:
            begin, end = meeting.arrived[rank], meeting.ends[rank]
            if end <= time:
                continue
            alone = max(0, begin - time)
            if left <= alone:
                break
            left -= alone
            time += alone
            if left * factor <= end - time:
                return round(time + left * factor) - now
            left -= (end - time) / factor
            time = end
        return round(time + left) - now

    def run(self, rank):
        """Goes through a rank's program. Stops where it has to wait for something not known yet."""
        layout, times = self.layout, self.ranks[rank]
        inner = rank % layout.inner
        now = 0
        if "slow_loader" in self.faults and rank == self.options.slow_loader:
            now = ns(self.options.loader_ms)
        tags = {}
        job, factor, send_free, exchange = None, 1.0, 0, None
        for operation in self.programs[rank]:
            what = operation[0]
            if what == COMPUTE:
                length = operation[2] if self.even else operation[1]
                if factor != 1:
                    length = round(length * factor)
                if "contention" in self.faults:
                    for meeting in times.background:
                        while rank not in meeting.ends:
                            meeting.waiting.append(rank)
                            yield
                    length = self.beside_background(rank, now, length)
                if job.begin is None:
                    job.begin = now
                job.own += length
                job.kernels.append((now, now + length, operation[3]))
                now += length
            elif what == MEET:
                group = self.groups[(operation[1], rank)]
                meeting, woken = group.start(rank, operation[2], now, operation[3])
                self.ready.extend(woken)
                while rank not in meeting.ends:
                    meeting.waiting.append(rank)
                    yield
                arrived, last, end = meeting.arrived[rank], meeting.last[rank], meeting.ends[rank]
                if job:
                    if job.begin is None:
                        job.begin = arrived
                    elif now < arrived:
                        times.gaps.append((now, arrived, job, None))
                    job.kernels.append((group, meeting, False))
                    times.by_group.setdefault(operation[1], [0, 0])
                    self.count(rank, job, operation[1], meeting, arrived, end)
                else:
                    times.after.append((group, meeting))
                    times.sync.append((arrived, last, end))
                now = end
            elif what == START:
                group = self.groups[(operation[1], rank)]
                meeting, woken = group.start(rank, operation[2], now, operation[3])
                self.ready.extend(woken)
                tags[operation[4]] = meeting
                job.kernels.append((group, meeting, True))
                if operation[2] == "exchange":
                    exchange = meeting
                else:
                    times.background.append(meeting)
            elif what == AWAIT:
                meeting = tags[operation[2]]
                while rank not in meeting.ends:
                    meeting.waiting.append(rank)
                    yield
                if meeting is exchange:
                    times.by_group.setdefault(operation[1], [0, 0])
                    self.count(rank, job, operation[1], meeting, now, meeting.ends[rank])
                    exchange = None
                now = max(now, meeting.ends[rank])
            elif what == GAP:
                times.gaps.append((now, now + operation[1], job, exchange))
                now += operation[1]
            elif what == JOB:
                _, letter, stage, micro_batch = operation
                job = JobTimes(letter, stage, micro_batch)
                times.jobs.append(job)
                factor = self.factor(rank, stage)
                source = None
                if letter == "F" and stage > 0:
                    source, key = stage - 1, ("F", stage, micro_batch, inner)
                elif letter in "BI" and stage < self.last_stage:
                    source, key = stage + 1, ("B", stage, micro_batch, inner)
                if source is not None:
                    while key not in self.messages:
                        self.expecting[key] = rank
                        yield
                    start, end = self.messages[key]
                    job.received = (start, end, source % self.options.pp * layout.inner + inner)
                    now = max(now, end)
            elif what == END:
                job.end = now
                target = None
                if job.letter == "F" and job.stage < self.last_stage:
                    target, key = job.stage + 1, ("F", job.stage + 1, job.micro_batch, inner)
                elif job.letter in "BI" and job.stage > 0:
                    target, key = job.stage - 1, ("B", job.stage - 1, job.micro_batch, inner)
                if target is not None:
                    start = max(now, send_free)
                    send_free = start + self.message_ns
                    self.messages[key] = (start, send_free)
                    job.sent = (start, send_free, target % self.options.pp * layout.inner + inner)
                    if key in self.expecting:
                        self.ready.append(self.expecting.pop(key))
                job = None
            else:
                times.optimizer = (now, now + operation[1])
                now += operation[1]

    def account(self, rank):
        """The numbers of truth.json of one rank, and the check that they add up."""
        times = self.ranks[rank]
        jobs = times.jobs
        background = sorted(
            (meeting.arrived[rank], meeting.last[rank], meeting.ends[rank])
            for meeting in times.background
        )
        gaps = times.gaps + [
            (before.end, after.begin, None, None) for before, after in zip(jobs, jobs[1:])
        ]
        between = [0, 0]
        sums = times.by_group.setdefault("dp", [0, 0]) if background else None
        ends = [ended for _, _, ended in background]  # they are one after the other
        for start, end, job, exchange in gaps:
            if exchange:
                start = self.count(rank, job, "cp", exchange, start, end)
            waiting = moving = 0
            for arrived, last, ended in background[bisect.bisect_right(ends, start) :]:
                if arrived >= end:
                    break
                waiting += max(0, min(end, last) - max(start, arrived))
                moving += max(0, min(end, ended) - max(start, last))
            if job:
                job.waiting += waiting
                job.moving += moving
                job.launch += end - start - waiting - moving
                if sums:
                    sums[0] += waiting
                    sums[1] += moving
            else:
                between[0] += waiting
                between[1] += moving
        for job in jobs:
            assert (
                job.own + job.waiting + job.moving + job.launch == job.end - job.begin
            ), "a job does not add up"
        sync_start, sync_end = jobs[-1].end, times.optimizer[0]
        sync_waiting = sync_moving = 0
        for arrived, last, ended in background + times.sync:
            sync_waiting += max(0, min(sync_end, last) - max(sync_start, arrived))
            sync_moving += max(0, min(sync_end, ended) - max(sync_start, last))
        result = {
            "own": sum(job.own for job in jobs),
            "waiting": sum(job.waiting for job in jobs),
            "moving": sum(job.moving for job in jobs),
            "launch": sum(job.launch for job in jobs),
            "jobs": sum(job.end - job.begin for job in jobs),
            "idle": sum(after.begin - before.end for before, after in zip(jobs, jobs[1:])),
            "between_waiting": between[0],
            "between_moving": between[1],
            "lead": jobs[0].begin - self.begin,
            "sync_waiting": sync_waiting,
            "sync_moving": sync_moving,
            "optimizer": times.optimizer[1] - times.optimizer[0],
            "tail": self.end - times.optimizer[1],
            "by_group": {
                kind: {"waiting": sums[0], "moving": sums[1]}
                for kind, sums in times.by_group.items()
            },
        }
        parts = ("lead", "jobs", "idle", "sync_waiting", "sync_moving", "optimizer", "tail")
        assert sum(result[part] for part in parts) == self.length, "a step does not add up"
        assert (
            result["own"] + result["waiting"] + result["moving"] + result["launch"]
            == result["jobs"]
        )
        for part in ("waiting", "moving"):
            by_group = sum(sums[part] for sums in result["by_group"].values())
            assert by_group == result[part], "groups do not add up"
        return result


def lower_median(values):
    return sorted(values)[(len(values) - 1) // 2]


class Run:
    """All steps, as they were and repaired."""

    def __init__(self, options, set_kernel=None):
        self.options = options
        self.layout = Layout(options)
        fault = fault_of(options)
        faults = {"slow_rank", "slow_stage"} if fault == "both" else {fault} - {"none"}
        self.fault = fault
        variants = {"repaired": set()}
        if fault == "both":
            variants["repaired_rank_only"] = {"slow_stage"}
            variants["repaired_stage_only"] = {"slow_rank"}
        loads = draw_loads(options, self.layout)
        self.steps, self.accounts = [], []
        self.repaired = {name: [] for name in variants}
        self.starts, start = [], 0
        for number in range(options.steps):
            work = Work(options, self.layout, loads, number, set_kernel)
            step = Step(
                options, self.layout, work, faults or ({"experts"} if set_kernel else faults)
            )
            self.steps.append(step)
            accounts = [step.account(rank) for rank in range(self.layout.world)]
            for account, awaited in zip(accounts, step.awaited()):
                account["awaited"] = awaited
            self.accounts.append(accounts)
            for name, left in variants.items():
                same = left == faults and not set_kernel
                if fault == "exposed_gathers":
                    ahead = argparse.Namespace(**dict(vars(options), fsdp_overlap=True))
                    work = Work(ahead, self.layout, loads, number, set_kernel)
                self.repaired[name].append(
                    step.length if same else Step(options, self.layout, work, left).length
                )
            self.starts.append(start)
            start += step.end + ns(options.step_gap_ms)
        hosts = options.hosts
        clocks = random.Random("%d clocks" % options.seed)
        limit = ns(options.clock_ms)
        self.clocks = [0] + [clocks.randint(-limit, limit) for _ in range(hosts - 1)]

    def host(self, rank):
        return rank // (self.layout.world // self.options.hosts)

    def truth(self):
        options, layout = self.options, self.layout
        own = [sum(step[rank]["own"] for step in self.accounts) for rank in range(layout.world)]
        lengths = [step.length for step in self.steps]
        fault = {"kind": self.fault}
        if options.slow_rank is not None:
            rank = options.slow_rank
            peers = [
                peer
                for peer in layout.stage_ranks(layout.position[rank], options.pp)
                if peer != rank
            ]
            fault["rank"] = rank
            fault["rank_stage"] = layout.position[rank]
            fault["rank_factor"] = options.slow_rank_factor
            fault["peers"] = peers
            fault["rank_factor_by_own"] = (
                own[rank] / lower_median([own[peer] for peer in peers]) if peers else None
            )
        if options.slow_stage is not None:
            stage = options.slow_stage
            fault["stages"] = slow_stages(options)
            fault["stage_ranks"] = layout.stage_ranks(stage, options.pp)
            fault["stage_factor"] = options.slow_stage_factor
            by_stage = collections.defaultdict(lambda: collections.defaultdict(int))
            for step in self.steps:
                for rank, times in enumerate(step.ranks):
                    for job in times.jobs:
                        by_stage[job.stage][rank] += job.own
            typical = {other: lower_median(by_rank.values()) for other, by_rank in by_stage.items()}
            others = [value for other, value in typical.items() if other not in fault["stages"]]
            fault["stage_factor_by_own"] = typical[stage] / lower_median(others)
        if self.fault == "experts":
            fault["sigma"] = options.uneven_experts
            fault["group_kind"] = layout.expert_kind
            fault["largest_own_difference"] = max(
                max(own[rank] for rank in group) / min(own[rank] for rank in group) - 1
                for group in set(layout.groups[layout.expert_kind].values())
            )
        if self.fault == "slow_group":
            kind, _, rank = options.slow_group.partition(":")
            fault["group_kind"] = kind
            fault["group_ranks"] = list(layout.groups[kind][int(rank)])
            fault["group_factor"] = options.slow_group_factor
        if self.fault == "slow_loader":
            fault["rank"] = options.slow_loader
            fault["rank_stage"] = layout.position[options.slow_loader]
            fault["loader_ns"] = ns(options.loader_ms)
        chosen = {
            name: value
            for name, value in sorted(vars(options).items())
            if options.cp > 1 or name not in ("cp_comm", "cp_written")
        }
        truth = {
            "options": chosen,
            "world_size": layout.world,
            "fault": fault,
            "groups": {
                kind: sorted(map(list, set(members.values())))
                for kind, members in layout.groups.items()
            },
            "hosts": [
                {
                    "name": host_name(host),
                    "ranks": [rank for rank in range(layout.world) if self.host(rank) == host],
                    "clock_ns": clock,
                }
                for host, clock in enumerate(self.clocks)
            ],
            "step_ns": lengths,
            "mean_step_ns": sum(lengths) / len(lengths),
        }
        for name, repaired in self.repaired.items():
            truth[name + "_step_ns"] = repaired
            truth["mean_" + name + "_step_ns"] = sum(repaired) / len(repaired)
        if options.truth_jobs:  # starts and ends are from the start of the step
            truth["job_columns"] = [
                "step",
                "rank",
                "job",
                "start",
                "end",
                "own",
                "waiting",
                "moving",
                "launch",
            ]
            truth["jobs"] = [
                [
                    number,
                    rank,
                    "%d%s%d" % (job.stage, job.letter, job.micro_batch),
                    job.begin - step.begin,
                    job.end - step.begin,
                    job.own,
                    job.waiting,
                    job.moving,
                    job.launch,
                ]
                for number, step in enumerate(self.steps)
                for rank, times in enumerate(step.ranks)
                for job in times.jobs
            ]
        truth["ranks"] = [
            {
                "rank": rank,
                "stage": layout.position[rank],
                "own": own[rank],
                "steps": [step[rank] for step in self.accounts],
            }
            for rank in range(layout.world)
        ]
        return truth


def host_name(host):
    return "node%02d" % host


# Writing ------------------------------------------------------------------------------------------


def us(time_ns):
    """Nanoseconds as the profiler's microseconds, exactly."""
    return "%d.%03d" % (time_ns // 1000, time_ns % 1000)


class TraceWriter:
    def __init__(self, run, rank):
        self.run, self.rank = run, rank
        options, layout = run.options, run.layout
        self.options = options
        self.pid = 4000 + rank
        self.device = rank % (layout.world // options.hosts) if options.hosts > 1 else rank
        self.shift = FIRST_CLOCK_US * 1000 + run.clocks[run.host(rank)]
        self.close = options.host == "close" or options.launch_gap_us > 0
        self.ids = 1000
        self.seq = collections.Counter()
        self.events = []
        self.name_groups()

    def name_groups(self):
        options, layout, rank = self.options, self.run.layout, self.rank
        names = GROUP_NAMES[options.names]
        world = list(range(layout.world))
        self.groups = [
            {
                "pg_name": "0",
                "pg_desc": "default_pg",
                "backend_config": "cuda:nccl",
                "pg_size": layout.world,
                "ranks": world,
            }
        ]
        self.arguments = {}
        number = 0
        for kind, members in layout.groups.items():
            everyone = sorted(set(members.values()))
            if options.group_numbers == "own":
                number += 1
                mine = number
            else:
                mine = number + 1 + everyone.index(members[rank])
                number += len(everyone)
            ranks = list(members[rank])
            text = names["dp_cp" if kind == "dp" and options.cp > 1 else kind]
            self.groups.append(
                {
                    "pg_name": str(mine),
                    "pg_desc": text,
                    "backend_config": "cuda:nccl",
                    "pg_size": len(ranks),
                    "ranks": ranks,
                }
            )
            self.arguments[kind] = (
                '"Group size": %d, "Process Group Name": "%d", "Process Group Description": "%s", '
                '"Process Group Ranks": "%s"' % (len(ranks), mine, text, ranks)
            )

    def write(self, folder):
        for number in range(self.options.steps):
            self.annotation(
                "ProfilerStep#%d" % number,
                self.run.starts[number] - BEFORE_STEP_NS,
                self.run.steps[number].end + 350000,
            )
        for number in range(self.options.steps):
            self.step(number)
        name = "rank%d.pt.trace.json" % self.rank
        head = {
            "schemaVersion": 1,
            "deviceProperties": [{"id": self.device, "name": "NVIDIA H100"}],
            "distributedInfo": {
                "backend": "nccl",
                "rank": self.rank,
                "world_size": self.run.layout.world,
                "pg_count": len(self.groups),
                "pg_config": self.groups,
            },
        }
        if self.options.hosts > 1:
            head["host_name"] = host_name(self.run.host(self.rank))
        text = (
            '%s, "traceEvents": [%s], "traceName": "%s", "displayTimeUnit": "ms", "baseTimeNanoseconds": %d}'
            % (json.dumps(head)[:-1], ", ".join(self.events), name, BASE_NS)
        )
        with open(os.path.join(folder, name + ".gz"), "wb") as file:
            with gzip.GzipFile("", "wb", 3, file, mtime=0) as packed:
                packed.write(text.encode())

    def annotation(self, name, start, length):
        self.events.append(
            '{"ph": "X", "cat": "user_annotation", "name": "%s", "pid": %d, "tid": %d, "ts": %s, "dur": %s, "args": {}}'
            % (name, self.pid, self.pid, us(start + self.shift), us(length))
        )

    def collective_arguments(self, kind, what):
        name, _, dtype = COLLECTIVES[what]
        text = (
            '"Collective name": "%s", "In msg nelems": %d, "Out msg nelems": %d, "dtype": "%s", %s'
            % (name, ELEMENTS, ELEMENTS, dtype, self.arguments[kind])
        )
        if self.options.seq:
            self.seq[kind] += 1
            text += ', "Seq": %d' % self.seq[kind]
        return text

    def collective(self, group, meeting, in_chain):
        stream = (
            COMPUTE_STREAM
            if in_chain and self.options.on_compute_stream
            else GROUP_STREAMS[group.kind]
        )
        start, end = meeting.arrived[self.rank], meeting.ends[self.rank]
        text = self.collective_arguments(group.kind, meeting.kind)
        return (start, end, COLLECTIVES[meeting.kind][1], stream, text, text)

    def message_arguments(self, what, kind, peer, elements):
        ends = (self.rank, peer) if what == "send" else (peer, self.rank)
        return (
            '"Collective name": "%s", "In msg nelems": %d, "Out msg nelems": %d, "dtype": "BFloat16", %s, '
            '"Src Rank": %d, "Dst Rank": %d'
            % ((what, elements, elements, self.arguments[kind]) + ends)
        )

    def message(self, what, times, stream):
        start, end, peer = times
        text = self.message_arguments(what, "pp", peer, ELEMENTS // 2)
        return (start, end, SEND_RECV, stream, text, "" if self.options.bare_messages else text)

    def exchange(self, ring, meeting):
        """The kernels of an exchange, in the order in which they are launched."""
        rank, stream = self.rank, GROUP_STREAMS["cp"]
        previous, following = ring.neighbours(rank)
        start, end = meeting.arrived[rank], meeting.ends[rank]
        if self.options.cp_written == "permute":
            sizes = [
                [ELEMENTS if member == peer else 0 for member in ring.ranks]
                for peer in (following, previous)
            ]
            text = self.collective_arguments("cp", "exchange")
            text += ', "In split size": "%s", "Out split size": "%s"' % tuple(sizes)
            return [(start, end, SEND_RECV, stream, text, text)]
        send = self.message_arguments("send", "cp", following, ELEMENTS)
        receive = self.message_arguments("recv", "cp", previous, ELEMENTS)
        if self.options.cp_written == "batched":
            return [(start, end, SEND_RECV, stream, (send, receive), "")]
        kernels = []
        for peer, text, own in ((following, send, stream), (previous, receive, RING_RECV_STREAM)):
            over = max(start, meeting.arrived[peer]) + meeting.moves[rank]
            kernels.append((start, over, SEND_RECV, own, text, text))
        return kernels if ring.ranks.index(rank) % 2 == 0 else kernels[::-1]

    def step(self, number):
        """Annotations with their launches, in the order of the host: (name, [kernel])."""
        times = self.run.steps[number].ranks[self.rank]
        received = self.receives(times)
        items = []
        for job in times.jobs:
            kind = "F" if job.letter == "F" else "B"
            if job.received:
                kernel = self.message("recv", *received[job])
                items.append(("PP:%dRECV_%s%d" % (job.stage, kind, job.micro_batch), [kernel]))
            kernels = []
            for kernel in job.kernels:
                if isinstance(kernel[0], Ring):
                    kernels += self.exchange(kernel[0], kernel[1])
                elif isinstance(kernel[0], Group):
                    kernels.append(self.collective(kernel[0], kernel[1], not kernel[2]))
                else:
                    kernels.append(kernel + (COMPUTE_STREAM, "", ""))
            items.append(("PP:%d%s%d" % (job.stage, job.letter, job.micro_batch), kernels))
            if job.sent:
                kernel = self.message("send", job.sent, SEND_STREAM)
                items.append(("PP:%dSEND_%s%d" % (job.stage, kind, job.micro_batch), [kernel]))
        for group, meeting in times.after:
            items.append(("", [self.collective(group, meeting, False)]))
        items.append(
            ("Optimizer.step#AdamW.step", [times.optimizer + (ADAM, COMPUTE_STREAM, "", "")])
        )
        self.launch(number, items)

    def receives(self, times):
        """Of each job: (start, end, peer) of the kernel that receives its message, and its stream.

        Messages of both neighbours can come at the same time: the later one takes a second stream.
        """
        nothing_else = dict(
            zip(times.jobs, [times.jobs[0].begin] + [job.end for job in times.jobs])
        )
        free, found = {RECV_STREAM: -(1 << 62), SECOND_RECV_STREAM: -(1 << 62)}, {}
        for job in sorted(
            (job for job in times.jobs if job.received), key=lambda job: job.received[:2]
        ):
            start, end, peer = job.received
            stream = RECV_STREAM if start >= free[RECV_STREAM] else SECOND_RECV_STREAM
            if self.options.recv_kernels == "posted":
                start = min(start, max(free[stream], nothing_else[job]))
            free[stream] = end
            found[job] = ((start, end, peer), stream)
        return found

    def launch(self, number, items):
        begin = self.run.starts[number]
        clock = begin - BEFORE_STEP_NS + 20000
        if self.options.slow_loader is not None:
            length = 10000
            if self.options.slow_loader == self.rank:
                length += ns(self.options.loader_ms)
            name = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__"
            self.annotation(name, clock - 15000, length)
            clock += length - 10000
        kernels = [(index, kernel) for index, (_, item) in enumerate(items) for kernel in item]
        earliest = []
        before = 0
        for index, _ in kernels:
            clock += PITCH_NS if index == before else 2 * PITCH_NS
            before = index
            earliest.append(clock)
        launches = [0] * len(kernels)
        after = len(items)
        latest = 1 << 62
        for i in range(len(kernels) - 1, -1, -1):
            index, kernel = kernels[i]
            latest -= PITCH_NS if index == after else 2 * PITCH_NS
            after = index
            latest = min(latest, begin + kernel[0] - 4500)
            launches[i] = latest if self.close else min(latest, earliest[i])
        assert launches[0] > begin - BEFORE_STEP_NS, "jobs are too short to be launched in time"
        position = 0
        for name, item in items:
            first = launches[position]
            for kernel in item:
                self.kernel(begin, launches[position], kernel)
                position += 1
            if name:
                self.annotation(name, first - 3000, launches[position - 1] - first + 7000)

    def kernel(self, begin, launch, kernel):
        start, end, name, stream, host_text, device_text = kernel
        self.ids += 1
        pid, number = self.pid, self.ids
        calls = [(launch - 500, 3000, host_text)] if host_text else []
        if isinstance(host_text, tuple):  # calls of a batch: they are over before it is launched
            calls = [
                (launch - 1300 * (len(host_text) - i), 1000, text)
                for i, text in enumerate(host_text)
            ]
        for at, length, text in calls:
            if isinstance(host_text, tuple):
                self.ids += 1
            self.events.append(
                '{"ph": "X", "cat": "cpu_op", "name": "record_param_comms", "pid": %d, "tid": %d, "ts": %s, "dur": %.1f, '
                '"args": {%s, "External id": %d}}'
                % (pid, pid, us(at + self.shift), length / 1000, text, self.ids)
            )
        self.events.append(
            '{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": %d, "tid": %d, "ts": %s, "dur": 2.0, '
            '"args": {"External id": %d, "cbid": 211, "correlation": %d}}'
            % (pid, pid, us(launch + self.shift), number, number)
        )
        device = self.device
        self.events.append(
            '{"ph": "X", "cat": "kernel", "name": "%s", "pid": %d, "tid": %d, "ts": %s, "dur": %s, "args": {%s'
            '"External id": %d, "device": %d, "context": 1, "stream": %d, "correlation": %d}}'
            % (
                name,
                device,
                stream,
                us(begin + start + self.shift),
                us(end - start),
                device_text + ", " if device_text else "",
                number,
                device,
                stream,
                number,
            )
        )


def readable(truth):
    """JSON with a line for each key, and for each element of the long lists."""
    lines = []
    for key, value in truth.items():
        if isinstance(value, list) and value and isinstance(value[0], (dict, list)):
            text = "[\n  %s\n ]" % ",\n  ".join(json.dumps(element) for element in value)
        else:
            text = json.dumps(value)
        lines.append(' "%s": %s' % (key, text))
    return "{\n%s\n}\n" % ",\n".join(lines)


def write_run(run, folder):
    os.makedirs(folder, exist_ok=True)
    for rank in range(run.layout.world):
        TraceWriter(run, rank).write(folder)
    with open(os.path.join(folder, "truth.json"), "w", encoding="utf-8") as file:
        file.write(readable(run.truth()))


# Known answers ------------------------------------------------------------------------------------


def options_for(*arguments, seed=0):
    parser = argparse.ArgumentParser()
    add_options(parser)
    options = parser.parse_args(arguments)
    options.seed = seed
    problem = problem_of(options)
    if problem:
        raise ValueError(problem)
    return options


class Check:
    """Runs of shared/data/hybrid, of which its README says the figures."""

    def __init__(self, data):
        self.data = data
        self.failed = self.skipped = 0

    def expect(self, what, found, known):
        right = found == known
        self.failed += not right
        print(
            "  %-4s %-58s %s"
            % ("ok" if right else "BAD", what, found if right else "%s, not %s" % (found, known))
        )

    def known(self, name, steps, waits, arguments, repaired=None, moving=None, set_kernel=None):
        print(name)
        run = Run(options_for(*arguments), set_kernel)
        self.expect("step, ms", [ms(step.length) for step in run.steps], steps)
        if repaired:
            self.expect(
                "repaired step, ms", [ms(step) for step in run.repaired["repaired"]], repaired
            )
        world = range(run.layout.world)
        found = [
            ms(sum(step[rank]["waiting"] for step in run.accounts) / len(run.accounts))
            for rank in world
        ]
        self.expect("waits inside jobs, ms a rank and step", found, waits)
        if moving is not None:
            found = sorted({ms(step[rank]["moving"]) for step in run.accounts for rank in world})
            self.expect("moving inside jobs, ms a rank and step", found, [moving])
        return run

    def kernels(self, name, run, tolerance=0):
        """Each kernel of the run against the recorded file."""
        folder = os.path.join(self.data, "hybrid", name)
        if not os.path.isdir(folder):
            self.skipped += 1
            print("  SKIPPED each kernel: no folder", folder)
            return
        different = count = 0
        for rank in range(run.layout.world):
            writer = TraceWriter(run, rank)
            for number in range(run.options.steps):
                writer.step(number)
            events = [json.loads(event, parse_float=nanoseconds) for event in writer.events]
            ours, theirs = kernels_of(events), kernels_of(
                read_trace(os.path.join(folder, "rank%d.pt.trace.json.gz" % rank))
            )
            different += abs(len(ours) - len(theirs))
            for one, other in zip(ours, theirs):
                count += 1
                same = one[0] == other[0] and one[3:] == other[3:]
                if (
                    not same
                    or abs(one[1] - other[1]) > tolerance
                    or abs(one[2] - other[2]) > tolerance
                ):
                    different += 1
        self.expect("kernels that differ from the file's %d" % count, different, 0)

    def run(self):
        run = self.known(
            "clean", [287.4] * 3, [0.0] * 8, ("--tp", "2", "--dp", "2"), [287.4] * 3, 9.6
        )
        self.kernels("clean", run)
        slow = ("--pp", "4", "--tp", "4", "--slow-rank", "6")
        waits = [60.0 if rank in (4, 5, 7) else 0.0 for rank in range(16)]
        run = self.known("slow_peer", [392.2] * 3, waits, slow, [348.4] * 3)
        self.kernels("slow_peer", run)
        run = self.known(
            "slow_peer_bare", [392.2] * 3, waits, slow + ("--on-compute-stream", "--bare-messages")
        )
        self.kernels("slow_peer_bare", run)
        fsdp = "--dp 4 --fsdp --names mesh --slow-rank 3 --slow-rank-factor 1.2".split()
        waits = [46.0, 46.0, 46.0, 0.0, 14.0, 14.0, 14.0, 0.0]
        run = self.known("fsdp", [355.3] * 3, waits, fsdp, [314.1] * 3)
        self.kernels("fsdp", run)
        self.uneven_experts()
        self.rings()
        self.orders()
        print("%d wrong, %d skipped" % (self.failed, self.skipped))
        return 1 if self.failed else SKIPPED if self.skipped else 0

    def uneven_experts(self):
        """The loads are drawn: they are read from the files, and everything else must follow."""
        folder = os.path.join(self.data, "hybrid", "moe")
        if not os.path.isdir(folder):
            self.skipped += 1
            print("moe\n  SKIPPED: no folder", folder)
            return
        lengths = {}
        for rank in range(8):
            kernels = kernels_of(read_trace(os.path.join(folder, "rank%d.pt.trace.json.gz" % rank)))
            own = [
                kernel[2] for kernel in kernels if kernel[0] == COMPUTE_STREAM and kernel[3] == GEMM
            ]
            order = order_of("1F1B", 2, 8, rank // 4)
            keys = [(step, job, layer) for step in range(3) for job in order for layer in range(3)]
            assert len(own) == len(keys)
            for key, value in zip(keys, own):
                lengths[key + (rank,)] = value

        def kernel(step, rank, job, layer):
            first = rank // 4 * 4
            even = sum(lengths[(step, job, layer, peer)] for peer in range(first, first + 4)) / 4
            return lengths[(step, job, layer, rank)], round(even)

        arguments = "--tp 4 --layers 3 --tp-comm none --experts tp --expert-exchanges 1 --names mesh".split()
        waits = [46.942, 46.411, 42.875, 38.779] * 2
        run = self.known(
            "moe",
            [350.17, 354.263, 363.772],
            waits,
            arguments,
            [298.981, 297.94, 309.249],
            None,
            kernel,
        )
        self.kernels("moe", run, 1000)

    def rings(self):
        """Worked out by hand.

        Without a fault a step is 9 forwards and backwards, 8 messages of 0.2 ms, 3 ms for gradients
        and 2 ms for the optimizer. A rank has 8 forwards of 2 layers and 8 backwards.
        """
        four = ("--cp", "4", "--cp-comm")
        # A layer has 3 exchanges of 0.2 ms: a forward is 10 + 1.2 ms, a backward 20 + 1.2 ms.
        self.known("ring", [298.2] * 3, [0.0] * 8, (*four, "ring"), [298.2] * 3, 19.2)
        # Parts of a forward are 1.25 ms, so 0.25 ms of an exchange are left, 3 times in a layer;
        # those of a backward are 2.5 ms, and nothing is left: 11.5 and 20 ms.
        arguments = (*four, "ring_overlap", "--cp-ms", "1.5")
        self.known("ring_overlap", [290.1] * 3, [0.0] * 8, arguments, [290.1] * 3, 12.0)
        # Ranks 0 to 3 are a ring; parts of a forward are 1 ms, but 2 ms on rank 1; exchanges take
        # 0.1 ms. In the first, ranks come after 1, 2, 1 and 1 ms: 0 and 2 wait for rank 1, and rank
        # 3 for nobody. To the second they come after 3.1, 4.1, 3.1 and 2.1 ms: now rank 3 waits
        # 1 ms, for ranks 0 and 2. To the third after 5.2, 6.2, 5.2 and 4.2 ms.
        arguments = "--layers 1 --layer-ms 4 --cp-ms 0.1 --steps 1 --slow-rank 1".split()
        arguments += ["--slow-rank-factor", "2", *four]
        self.first_forward(
            "ring with a slow rank",
            (*arguments, "ring"),
            [[1, 2.1], [2, 2.1], [1, 2.1], [1, 1.1]],
            [[3.1, 4.2], [4.1, 4.2], [3.1, 4.2], [2.1, 3.2]],
            [[5.2, 6.3], [6.2, 6.3], [5.2, 6.3], [4.2, 5.3]],
            [7.3, 8.3, 7.3, 6.3],
            [3.0, 0.0, 3.0, 2.0],
            [0.3] * 4,
        )
        # Exchanges begin with parts: the first is over after 0.1 ms. To the second ranks come after
        # 1, 2, 1 and 1 ms; ranks 0 and 2 have 0.1 ms of it left when their parts end. To the third
        # they come after 2.1, 4, 2.1 and 2 ms; ranks 0 and 2 end their parts at 3.1 ms, wait until
        # 4 ms, and move until 4.1 ms. Rank 3 waits never.
        self.first_forward(
            "ring_overlap with a slow rank",
            (*arguments, "ring_overlap"),
            [[0, 0.1]] * 4,
            [[1, 2.1], [2, 2.1], [1, 2.1], [1, 1.1]],
            [[2.1, 4.1], [4, 4.1], [2.1, 4.1], [2, 2.2]],
            [5.1, 8.0, 5.1, 4.0],
            [0.9, 0.0, 0.9, 0.0],
            [0.2, 0.0, 0.2, 0.0],
        )
        # Three ranks are all neighbours: the others wait 1 ms in both exchanges.
        self.first_forward(
            "ring of 3 with a slow rank",
            (*arguments[:-2], "3", "--layer-ms", "3", "--cp-comm", "ring"),
            [[1, 2.1], [2, 2.1], [1, 2.1]],
            [[3.1, 4.2], [4.1, 4.2], [3.1, 4.2]],
            [5.2, 6.2, 5.2],
            [2.0, 0.0, 2.0],
            [0.2] * 3,
        )
        self.pairs((*arguments, "ring", "--cp-written", "pairs"))
        for written in ("batched", "pairs", "permute"):
            for comm in ("ring", "ring_overlap"):
                more = (
                    "--dp 2 --fsdp --fsdp-overlap --kernels 2 --launch-gap-us 100 --bare-messages"
                )
                run = Run(options_for(*arguments, comm, "--cp-written", written, *more.split()))
                with tempfile.TemporaryDirectory() as folder:
                    write_run(run, folder)
                    found = Reread(folder).differences
                self.expect(
                    "%s written as %s: traces and truth differ" % (comm, written), found, []
                )

    def first_forward(self, name, arguments, *known):
        """Start and end of each exchange on each rank; jobs, waiting and moving, all in ms."""
        print(name)
        run = Run(options_for(*arguments))
        ranks = run.steps[0].groups[("cp", 0)].ranks
        jobs = [run.steps[0].ranks[rank].jobs[0] for rank in ranks]
        for index, exchange in enumerate(known[:-3]):
            meeting = run.steps[0].groups[("cp", 0)].meetings[index]
            found = [[ms(meeting.arrived[rank]), ms(meeting.ends[rank])] for rank in ranks]
            self.expect("exchange %d, start and end, ms" % (index + 1), found, exchange)
        found = (
            [ms(job.end - job.begin) for job in jobs],
            [ms(job.waiting) for job in jobs],
            [ms(job.moving) for job in jobs],
        )
        for what, one, other in zip(("jobs", "waiting", "moving"), found, known[-3:]):
            self.expect(what + ", ms", one, other)
        step = run.accounts[0]
        found = [sum(account[key] for account in step) for key in ("awaited", "waiting")]
        self.expect("all waiting is for somebody, ms", ms(found[0]), ms(found[1]))

    def pairs(self, arguments):
        """In the first exchange rank 1 comes after 2 ms, the others after 1 ms."""
        print("ring as pairs")
        run = Run(options_for(*arguments))
        for rank, known in enumerate(([1.1, 0.1], [0.1, 0.1], [0.1, 1.1], [0.1, 0.1])):
            writer = TraceWriter(run, rank)
            writer.step(0)
            found = {}
            for event in writer.events:
                args = json.loads(event, parse_float=nanoseconds)
                if args["cat"] == "kernel" and "Src Rank" in args["args"]:
                    if "CONTEXT" in args["args"]["Process Group Description"]:
                        found.setdefault(args["args"]["Collective name"], ms(args["dur"]))
            found = [found["send"], found["recv"]]
            self.expect("rank %d sends and receives for, ms" % rank, found, known)

    def orders(self):
        print("orders of schedules")
        files = {
            "1F1B": "1F1B_p4_m8_v1",
            "GPipe": "GPipe_p4_m8_v1",
            "Interleaved1F1B": "Interleaved1F1B_p4_m8_v2",
            "ZBH1": "ZB1P_p4_m8_v1",
        }
        for schedule, name in files.items():
            path = os.path.join(self.data, "schedules", name + ".csv")
            if not os.path.isfile(path):
                self.skipped += 1
                print("  SKIPPED %s: no file %s" % (schedule, path))
                continue
            with open(path, encoding="utf-8") as file:
                rows = [
                    [cell for cell in line.strip().split(",") if cell and "REDUCE" not in cell]
                    for line in file
                ]
            ours = [
                [
                    "%d%s%d" % (stage, letter, micro_batch)
                    for letter, stage, micro_batch in order_of(schedule, 4, 8, position)
                ]
                for position in range(4)
            ]
            self.expect(
                schedule + ": same order as " + name, ours == [row for row in rows if row], True
            )


def ms(time_ns):
    return round(time_ns / 1e6, 3)


def nanoseconds(text):
    whole, _, part = text.partition(".")
    return int(whole) * 1000 + int((part + "000")[:3])


def read_trace(path):
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return json.load(file, parse_float=nanoseconds)["traceEvents"]


def kernels_of(events):
    """(stream, start, length, name, collective, group, sender, receiver), in order of time."""
    rows = []
    for event in events:
        if event["cat"] == "kernel":
            arguments = event["args"]
            details = [
                str(arguments.get(key))
                for key in (
                    "Collective name",
                    "Process Group Ranks",
                    "Process Group Description",
                    "Src Rank",
                    "Dst Rank",
                    "dtype",
                )
            ]
            rows.append([event["tid"], event["ts"], event["dur"], event["name"]] + details)
    return sorted(rows)


# Reading back -------------------------------------------------------------------------------------


class Reread:
    """Computes what truth.json says from the traces of a folder, by a sweep over their kernels.

    Of truth.json it takes only the clocks of hosts, and whether collectives run in the background.
    Who are neighbours in rings it finds in the arguments of exchanges.
    """

    def __init__(self, folder):
        with open(os.path.join(folder, "truth.json"), encoding="utf-8") as file:
            self.truth = json.load(file)
        self.overlap = self.truth["options"]["fsdp_overlap"]
        self.sums_overlap = self.truth["options"]["grad_overlap"]
        clocks = {rank: host["clock_ns"] for host in self.truth["hosts"] for rank in host["ranks"]}
        self.ranks = []
        self.arrivals = collections.defaultdict(list)  # (group, number in the group) -> starts
        self.moved = []  # of exchanges: (group, end, whose arrivals it waits for)
        for rank in range(self.truth["world_size"]):
            path = os.path.join(folder, "rank%d.pt.trace.json.gz" % rank)
            self.ranks.append(self.kernels(read_trace(path), clocks[rank], rank))
        self.differences = []
        self.compare()
        self.compare_exchanges()

    def kernels(self, events, clock, rank):
        """By step: (start, end, job or None, kind, meetings).

        Kinds: own, chain, background, optimizer. Meetings: those of which the latest arrival
        counts; an exchange has one for each rank that it waits for.
        """
        annotations = [event for event in events if event["cat"] == "user_annotation"]
        steps = sorted(
            event["ts"] for event in annotations if event["name"].startswith("ProfilerStep#")
        )
        jobs = sorted(
            (event["ts"], event["ts"] + event["dur"], event["name"])
            for event in annotations
            if event["name"].startswith("PP:") and "_" not in event["name"]
        )
        begins = [job[0] for job in jobs]
        launches = {
            event["args"]["correlation"]: event["ts"]
            for event in events
            if event["cat"] == "cuda_runtime"
        }
        groups = {
            event["args"]["External id"]: event["args"]
            for event in events
            if event["cat"] == "cpu_op"
        }
        times = [0] + sorted(launches.values())
        posts = sorted(
            (event["ts"], event["ts"] + event["dur"], event["args"])
            for event in events
            if event["cat"] == "cpu_op" and event["args"]["Collective name"] in ("send", "recv")
        )
        begins_of_posts = [post[0] for post in posts]
        exchanges = {}  # (group, number) -> place in the result
        result = [[] for _ in steps]
        seen = collections.Counter()
        chained = set()
        for event in sorted(
            (event for event in events if event["cat"] == "kernel"), key=lambda event: event["ts"]
        ):
            number = event["args"]["correlation"]
            launch = launches[number]
            details = [groups[number]] if number in groups else []
            if not details and event["name"] == SEND_RECV:  # calls between two launches
                before = times[bisect.bisect_left(times, launch) - 1]
                first, last = (bisect.bisect_right(begins_of_posts, at) for at in (before, launch))
                details = [args for _, end, args in posts[first:last] if end <= launch]
                assert len(details) == 2, "a kernel without arguments has no two calls"
            details_of_any = details[0] if details else {}
            if details_of_any.get("Process Group Description") in PIPELINE_NAMES:
                continue
            step = bisect.bisect_right(steps, launch) - 1
            index = bisect.bisect_right(begins, launch) - 1
            job = index if index >= 0 and launch < jobs[index][1] else None
            start = event["ts"] - clock
            end = start + event["dur"]
            meetings, kind = (), "own" if job is not None else "optimizer"
            if details:
                group = tuple(
                    details[0][key] for key in ("Process Group Description", "Process Group Ranks")
                )
                neighbours = neighbours_in(details)
                counted = group
                if neighbours and len(details) == 1:  # of pairs each kind is counted
                    counted += (details[0]["Collective name"],)
                meeting = group + (seen[counted],)
                seen[counted] += 1
                kind = "chain"
                if neighbours:
                    meetings = tuple(meeting + (each,) for each in {rank, *neighbours})
                    self.arrivals[meeting + (rank,)].append(start)
                    self.moved.append((group, end, meetings))
                    if meeting in exchanges:  # the other one of the pair
                        of_step, place = exchanges[meeting]
                        other = of_step[place]
                        assert other[0] == start and other[2] == job, "a pair starts apart"
                        meetings = tuple({*other[4], *meetings})
                        of_step[place] = (start, max(other[1], end), job, kind, meetings)
                        continue
                    exchanges[meeting] = (result[step], len(result[step]))
                else:
                    meetings = (meeting,)
                    self.arrivals[meeting].append(start)
                if self.overlap and details[0]["Collective name"] in (
                    "_allgather_base",
                    "_reduce_scatter_base",
                ):
                    if "DATA" in group[0] or "dp" in group[0]:
                        first = (group, step) not in chained and not chained.add((group, step))
                        kind = "chain" if first else "background"
                if self.sums_overlap and ("DATA" in group[0] or "dp" in group[0]):
                    kind = "background"
            result[step].append((start, end, job, kind, meetings))
        return result

    def compare_exchanges(self):
        """Kernels of exchanges move equally long after the last of those they wait for has come."""
        lengths = collections.defaultdict(set)
        for group, end, meetings in self.moved:
            lengths[group].add(end - self.last_of(meetings))
        for group, moved in lengths.items():
            self.same("shortest exchange in %s %s" % group, min(moved), max(moved), "longest")

    def last_of(self, meetings):
        return max(start for meeting in meetings for start in self.arrivals[meeting])

    def compare(self):
        steps = range(len(self.truth["step_ns"]))
        for step in steps:
            begin = min(
                kernel[0] for rank in self.ranks for kernel in rank[step] if kernel[2] is not None
            )
            end = max(
                kernel[1]
                for rank in self.ranks
                for kernel in rank[step]
                if kernel[3] == "optimizer"
            )
            self.same("step %d" % step, end - begin, self.truth["step_ns"][step])
            for rank, of_rank in enumerate(self.truth["ranks"]):
                found = self.sweep(self.ranks[rank][step])
                for key, value in found.items():
                    self.same(
                        "rank %d step %d %s" % (rank, step, key), value, of_rank["steps"][step][key]
                    )

    def same(self, what, found, said, where="in truth.json"):
        if found != said:
            self.differences.append("%s: %d in the traces, %d %s" % (what, found, said, where))

    def sweep(self, kernels):
        jobs = {}
        for start, end, job, kind, _ in kernels:
            if job is not None and kind != "background":
                before = jobs.get(job, (start, end))
                jobs[job] = (min(before[0], start), max(before[1], end))
        changes = []
        for start, end in jobs.values():
            changes += [(start, 1, "job"), (end, -1, "job")]
        for start, end, job, kind, meetings in kernels:
            if job is None:
                continue
            if meetings:
                last = self.last_of(meetings)
                changes += [(start, 1, kind + " waits"), (last, -1, kind + " waits")]
                changes += [(last, 1, kind + " moves"), (end, -1, kind + " moves")]
            else:
                changes += [(start, 1, kind), (end, -1, kind)]
        changes.sort()
        first, last = min(job[0] for job in jobs.values()), max(job[1] for job in jobs.values())
        found = dict.fromkeys(
            ("own", "waiting", "moving", "launch", "idle", "between_waiting", "between_moving"), 0
        )
        active = collections.Counter()
        for (now, change, what), after in zip(changes, changes[1:]):
            active[what] += change
            length = min(after[0], last) - max(now, first)
            if length <= 0:
                continue
            state = "launch"
            for key, of_key in (
                ("own", "own"),
                ("chain moves", "moving"),
                ("chain waits", "waiting"),
                ("background moves", "moving"),
                ("background waits", "waiting"),
            ):
                if active[key]:
                    state = of_key
                    break
            if active["job"]:
                found[state] += length
            else:
                found["idle"] += length
                if state in ("waiting", "moving"):
                    found["between_" + state] += length
        return found


def neighbours_in(details):
    """The ranks to which the calls of a kernel send, and from which they receive; empty: none."""
    found = set()
    for call in details:
        if call["Collective name"] in ("send", "recv"):
            found.add(call["Dst Rank" if call["Collective name"] == "send" else "Src Rank"])
        for key in ("In split size", "Out split size"):
            sizes = json.loads(call.get(key, "[]"))
            ranks = json.loads(call["Process Group Ranks"])
            found.update(rank for rank, size in zip(ranks, sizes) if size)
    return found


def verify(folder):
    differences = Reread(folder).differences
    for line in differences[:20]:
        print(line)
    print(
        "%s: %s"
        % (
            folder,
            "%d numbers differ" % len(differences) if differences else "traces and truth agree",
        )
    )
    return 1 if differences else 0


# Random options -----------------------------------------------------------------------------------


SIZES = {
    "pp": (2, 2, 3, 4, 4, 4, 5, 6, 8),
    "tp": (1, 2, 2, 4, 4, 8),
    "dp": (1, 1, 2, 2, 3, 4),
    "cp": (1, 1, 1, 1, 2),
}
SIZES_WITH_RINGS = {"pp": (2, 3, 4), "tp": (1, 2), "dp": (1, 2), "cp": (3, 4)}


def draw_options(options, fault=None, rings=False):
    """Draws the whole run from the seed, with this fault or any."""
    source = random.Random("%d options" % options.seed)
    drawn = source.choice(DRAWN_FAULTS)
    while True:
        largest = draw_shape(options, source, rings)
        draw_fault(options, source, fault or drawn)
        if not problem_of(options):
            break
    draw_rings(options, largest, rings)


def draw_rings(options, largest, rings):
    """Draws nothing from the source of the other options, which stay as they are."""
    if options.cp == 1:
        return
    source = random.Random("%d cp" % options.seed)
    ways = ("ring", "ring_overlap") if rings else ("gather", "ring", "ring_overlap")
    options.cp_comm = source.choice(ways)
    options.cp_written = source.choice(("batched", "pairs", "permute"))
    if rings:
        if options.cp_comm == "ring_overlap":  # shorter or longer than the parts of a forward
            options.cp_ms = round(options.layer_ms / options.cp * source.uniform(0.3, 1.5), 3)
    elif has_rings(options) and 2 * world_size(options) <= largest and source.random() < 0.5:
        widen_rings(options)


def widen_rings(options):
    """Doubles the CP groups. A rank of a fault keeps its place in all groups."""
    before = options.cp
    options.cp *= 2

    def moved(rank):
        inner = options.tp * before
        return rank // inner * options.tp * options.cp + rank % inner

    for name in ("slow_rank", "slow_loader"):
        if getattr(options, name) is not None:
            setattr(options, name, moved(getattr(options, name)))
    if options.slow_group is not None:
        kind, _, rank = options.slow_group.partition(":")
        options.slow_group = "%s:%d" % (kind, moved(int(rank)))
    limit_work(options)


def limit_work(options):
    if world_size(options) > 16:
        options.layers, options.steps = min(options.layers, 2), 3


def draw_shape(options, source, rings):
    """Gives how many ranks a run may have."""
    chance = source.random
    largest = source.choice((8, 8, 16, 16, 16, 16, 32, 64))
    if rings:
        largest = 32
    while True:
        for name, sizes in (SIZES_WITH_RINGS if rings else SIZES).items():
            setattr(options, name, source.choice(sizes))
        if 4 <= world_size(options) <= largest and options.tp * options.cp * options.dp > 1:
            break
    options.schedule = source.choice(("1F1B", "1F1B", "GPipe", "Interleaved1F1B", "ZBH1"))
    counts = range(8, 17)
    if options.schedule == "Interleaved1F1B":
        counts = [count for count in counts if count % options.pp == 0]
    options.micro_batches = source.choice(counts)
    options.steps = source.choice((3, 3, 3, 4, 5))
    options.layers = source.choice((1, 2, 3) if chunks_of(options.schedule) == 1 else (1, 2))
    options.kernels = source.choice((1, 2, 3))
    limit_work(options)
    options.layer_ms = round(source.uniform(2, 10), 2)
    options.jitter = source.choice(
        (0.0, round(source.uniform(0.2, 2), 2), round(source.uniform(2, 5), 2))
    )
    options.jitter_shape = source.choice(("normal", "lognormal"))
    options.launch_gap_us = round(source.uniform(20, 300), 1) if chance() < 0.25 else 0.0
    options.tp_comm = source.choice(("all_reduce", "all_reduce", "sequence"))
    options.tp_ms = round(source.uniform(0.1, 0.8), 3)
    options.cp_ms = round(source.uniform(0.1, 0.5), 3)
    options.fsdp = options.dp * options.cp > 1 and chance() < 0.5
    options.fsdp_overlap = options.fsdp and chance() < 0.5
    options.fsdp_ms = round(source.uniform(0.5, 2), 3)
    options.grad_ms = round(source.uniform(1, 5), 3)
    options.optimizer_ms = round(source.uniform(1, 4), 3)
    options.message_ms = round(source.uniform(0.05, 0.5), 3)
    options.experts = "none"
    able = [kind for kind in ("tp", "dp") if getattr(options, kind) > 1]
    if able and chance() < 0.3:
        draw_experts(options, source, able)
    options.names = source.choice(tuple(GROUP_NAMES))
    options.group_numbers = source.choice(("own", "all"))
    options.seq = chance() < 0.5
    options.bare_messages = chance() < 0.3
    options.on_compute_stream = chance() < 0.25
    options.host = source.choice(("ahead", "ahead", "close"))
    options.recv_kernels = source.choice(("transfer", "transfer", "posted"))
    world = world_size(options)
    options.hosts = source.choice([count for count in (1, 1, 2, 4) if world % count == 0])
    options.clock_ms = (
        round(source.uniform(0.1, 5), 3) if options.hosts > 1 and chance() < 0.5 else 0.0
    )
    return largest


def draw_experts(options, source, able):
    options.experts = source.choice(able)
    options.tp_comm = "all_reduce" if options.tp_comm == "none" else options.tp_comm
    options.expert_exchanges = source.choice((1, 2))
    options.kernels = max(options.kernels, options.expert_exchanges)
    options.expert_share = round(source.uniform(0.3, 0.7), 2)
    options.ep_ms = round(source.uniform(0.1, 0.5), 3)
    options.ep_spread = source.choice((0.0, round(source.uniform(0.05, 0.3), 2)))
    if options.experts == "tp" and source.random() < 0.5:
        options.tp_comm = "none"


def draw_fault(options, source, fault):
    world, inner = world_size(options), options.tp * options.cp * options.dp
    for name in ("slow_rank", "slow_stage", "uneven_experts", "slow_group", "slow_loader"):
        setattr(options, name, None)
    options.slow_both_chunks = options.exposed_gathers = options.grad_overlap = False
    options.contention = None
    if fault in ("slow_rank", "both"):
        options.slow_rank = source.randrange(world)
        options.slow_rank_factor = round(source.uniform(1.05, 1.6), 3)
    if fault in ("slow_stage", "both"):
        options.slow_stage = source.randrange(options.pp * chunks_of(options.schedule))
        options.slow_both_chunks = chunks_of(options.schedule) > 1 and source.random() < 0.5
        options.slow_stage_factor = round(source.uniform(1.1, 1.5), 3)
    if fault == "experts":
        able = [kind for kind in ("tp", "dp") if getattr(options, kind) > 1]
        if able:
            draw_experts(options, source, able)
        else:
            options.experts = "none"
        options.uneven_experts = round(source.uniform(0.15, 0.5), 3)
    if fault == "slow_group":
        layout = Layout(options)
        used = {
            "tp": options.tp_comm != "none" or layout.expert_kind == "tp",
            "cp": True,
            "ep": True,
            "dp": options.fsdp,
        }
        able = [
            kind for kind in layout.groups if used.get(kind) and len(layout.groups[kind][0]) > 1
        ]
        options.slow_group = (
            "%s:%d" % (source.choice(able), source.randrange(world)) if able else "none:0"
        )
        options.slow_group_factor = round(source.uniform(2, 6), 2)
    if fault == "exposed_gathers":
        options.fsdp, options.fsdp_overlap, options.exposed_gathers = True, False, True
    if fault == "contention":  # seen beside backwards without a sum of gradients
        options.fsdp, options.fsdp_overlap, options.grad_overlap = False, False, True
        options.layers, options.steps = max(3, options.layers), 5
        halves = 1 if options.schedule == "ZBH1" else 2
        whole = halves * options.layers * options.layer_ms
        options.grad_ms = round(whole * source.uniform(0.7, 1.2), 3)
        options.contention = round(source.uniform(1.1, 1.5), 3)
    if fault == "slow_loader":
        options.slow_loader = source.randrange(inner)  # the first stage reads data
        job = options.layers * chunks_of(options.schedule) * options.layer_ms * 3
        options.loader_ms = round(job * source.uniform(1, options.micro_batches / 2), 3)


def main():
    text, _, more = __doc__.partition("\n\n")
    parser = argparse.ArgumentParser(
        description=text, epilog=more, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    data = os.path.join(
        os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "shared", "data"
    )
    parser.add_argument("--seed", type=int, default=0, help="of all random numbers (default: 0)")
    parser.add_argument("--out", metavar="DIR", help="writes the run to this folder")
    parser.add_argument(
        "--random", action="store_true", help="draws all options and the fault from the seed"
    )
    parser.add_argument(
        "--random-rings",
        action="store_true",
        help="draws them, too: rings of 3 or 4 ranks, TP and DP of at most 2, up to 32 ranks",
    )
    parser.add_argument(
        "--fault", choices=FAULTS, help="with --random and --random-rings: with this fault"
    )
    parser.add_argument(
        "--list-options",
        action="store_true",
        help="prints the options of the run, and writes nothing",
    )
    parser.add_argument(
        "--check",
        action="store_true",
        help="compares runs with known answers, and writes nothing; exit code 77: some are not there",
    )
    parser.add_argument(
        "--verify",
        metavar="DIR",
        help="compares the truth of a run with its traces, and writes nothing",
    )
    parser.add_argument(
        "--data", default=os.path.normpath(data), help="known answers (default: %(default)s)"
    )
    add_options(parser)
    given = parser.parse_args()
    if given.check:
        return Check(given.data).run()
    if given.verify:
        return verify(given.verify)
    is_drawn = given.random or given.random_rings
    if given.fault and not is_drawn:
        parser.error("--fault needs --random; without it, --slow-rank and others say the fault")
    options = options_for_run(given)
    if is_drawn:
        draw_options(options, given.fault, given.random_rings)
    problem = problem_of(options)
    if problem:
        parser.error(problem)
    if given.list_options:
        print(
            json.dumps(
                dict(vars(options), fault=fault_of(options), world_size=world_size(options)),
                indent=1,
            )
        )
        return 0
    if not given.out:
        parser.error("--out DIR says where the run goes")
    run = Run(options)
    write_run(run, given.out)
    print(summary(run))
    return 0


def options_for_run(given):
    """The options of the run alone, with the seed."""
    parser = argparse.ArgumentParser()
    add_options(parser)
    names = vars(parser.parse_args([]))
    return argparse.Namespace(seed=given.seed, **{name: getattr(given, name) for name in names})


def summary(run):
    options = run.options
    lengths = [step.length for step in run.steps]
    repaired = run.repaired["repaired"]
    return (
        "%d ranks, %s, PP %d TP %d CP %d%s DP %d%s, fault: %s, step %.3f ms, repaired %.3f ms"
        % (
            run.layout.world,
            options.schedule,
            options.pp,
            options.tp,
            options.cp,
            " (%s, %s)" % (options.cp_comm, options.cp_written) if has_rings(options) else "",
            options.dp,
            " FSDP" if options.fsdp else "",
            run.fault,
            sum(lengths) / len(lengths) / 1e6,
            sum(repaired) / len(repaired) / 1e6,
        )
    )


if __name__ == "__main__":
    sys.exit(main())
