#pragma once

#include <string_view>

#include "trace/rank_info.h"

namespace pipetrace {

/// Says what ranks of a group share, by the name that programs give such groups. PyTorch's meshes
/// are called `mesh_` and the dimension's name (torch/distributed/device_mesh.py), those of
/// torchtitan 0.3 stand in torchtitan/distributed/parallel_dims.py, and Megatron-LM's groups in
/// megatron/core/parallel_state.py. Programs of one's own say `pp`. Names that say nothing, such as
/// `default_pg`, `undefined` and `mesh_dim_0`, are kUnknown.
GroupAxis axisOfGroupName(std::string_view name);

/// Whether the ranks of a group have the same weights, or shards of them: replicas, also together
/// with ranks that share a sequence (torchtitan's `mesh_dp_shard_cp`, Megatron-LM's
/// `DATA_PARALLEL_GROUP_WITH_CP`), and those of experts.
bool trainsSameWeights(std::string_view name);

}  // namespace pipetrace
