#pragma once

#include <string_view>

#include "trace/rank_info.h"

namespace pipetrace {

/// What ranks of a group share, by the name that a program gives such groups: PyTorch's meshes
/// (`mesh_` and the dimension's name, torch/distributed/device_mesh.py; torchtitan 0.3's in
/// torchtitan/distributed/parallel_dims.py) and Megatron-LM's groups
/// (megatron/core/parallel_state.py). Names that say nothing, such as `default_pg`, `undefined` and
/// `mesh_dim_0`, are kUnknown.
GroupAxis axisOfGroupName(std::string_view name);

}  // namespace pipetrace
