"""Who this rank is among those that train, as the groups of torch.distributed say."""

import sys

from .session import Facts, rank_and_world_size

# Names of groups: those of a DeviceMesh are `mesh_` and the name of a dimension.
_TENSOR = frozenset(("tp", "tensor", "tensor_parallel", "cp", "context", "context_parallel"))
_DATA = frozenset(
    "dp data data_parallel ddp fsdp hsdp dp_replicate dp_shard replicate shard".split()
)


def of_torch(schedule, stages):
    """Facts of a schedule of torch.distributed.pipelining and of this rank's stages of it."""
    first = stages[0]
    tensor, data = _places(first.group_size)
    facts = Facts(
        schedule=_name(schedule),
        num_stages=first.num_stages,
        num_chunks=len(stages),
        num_micro_batches=schedule._n_microbatches,
        data_parallel_index=data,
        tensor_parallel_index=tensor,
    )
    facts.rank, facts.world_size = rank_and_world_size()
    set_device(facts, first.device)
    return facts


def _name(schedule):
    """The class; none for the runtime, which runs whatever file it is given."""
    name = type(schedule).__name__
    return None if name.startswith("_Pipeline") or name.startswith("Pipeline") else name


def set_device(facts, device):
    """The device of the jobs, and on a GPU the stream that is current now."""
    if device.type != "cuda":
        return
    cuda = sys.modules["torch"].cuda
    index = device.index if device.index is not None else cuda.current_device()
    facts.device_name = cuda.get_device_name(index)
    facts.cuda_device = index
    facts.cuda_stream = cuda.current_stream(index).cuda_stream


def _places(pipeline_ranks):
    """The tensor-parallel and the data-parallel index of this rank; None where groups that are
    known do not account for all ranks."""
    dist = sys.modules["torch.distributed"]
    world = dist.get_world_size()
    if world == pipeline_ranks:
        return None, None
    tensor, data = _groups(dist, _TENSOR), _groups(dist, _DATA)
    if pipeline_ranks * _size(tensor) * _size(data) != world:
        return None, None
    return _index(tensor, dist), _index(data, dist)


def _groups(dist, names):
    """The rank's groups of these names, as lists of ranks: the largest first, and none that is part
    of one before it."""
    found = []
    for group in list(dist.distributed_c10d._world.pg_map):
        name = getattr(group, "group_desc", "") or ""
        name = name[len("mesh_") :] if name.startswith("mesh_") else name
        if name in names:
            found.append(dist.get_process_group_ranks(group))
    found.sort(key=len, reverse=True)
    kept = []
    for ranks in found:
        if not any(set(ranks) <= set(other) for other in kept):
            kept.append(ranks)
    return kept


def _size(groups):
    size = 1
    for ranks in groups:
        size *= len(ranks)
    return size


def _index(groups, dist):
    index = 0
    for ranks in groups:
        index = index * len(ranks) + ranks.index(dist.get_rank())
    return index


def group_of_weights(stage):
    """How a stage's gradients are added up, and over which ranks: `("reduce_scatter", "0 4")`.

    None where its weights are this rank's alone, or a backward adds them up itself.
    """
    known = getattr(stage, "_pipetrace_group", None)
    if known is None:
        known = stage._pipetrace_group = _find_group(stage)
    return known or None


def _find_group(stage):
    """False where there is none."""
    fsdp = sys.modules.get("torch.distributed.fsdp")
    kind = getattr(fsdp, "FSDPModule", None)
    if kind is None or not isinstance(stage.submod, kind):
        return False
    is_replicated = any(c.__name__ == "ReplicateModule" for c in type(stage.submod).__mro__)
    for module in stage.submod.modules():
        state = module._get_fsdp_state() if isinstance(module, kind) else None
        weights = getattr(state, "_fsdp_param_group", None)
        if weights is not None:
            group = weights.mesh_info.mesh.get_group()
            ranks = sys.modules["torch.distributed"].get_process_group_ranks(group)
            members = " ".join(map(str, sorted(ranks)))
            return ("all_reduce" if is_replicated else "reduce_scatter"), members
    return False
