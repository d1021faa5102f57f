#include "parser/foreign/names/group_names.h"

#include <algorithm>

namespace pipetrace {
namespace {

struct GroupName {
  std::string_view name;
  GroupAxis axis;
};

constexpr GroupName kGroupNames[] = {
    {"pp", GroupAxis::kPipeline},
    {"tp", GroupAxis::kTensor},
    {"cp", GroupAxis::kContext},
    {"ep", GroupAxis::kExpert},
    {"dp", GroupAxis::kData},
    {"mesh_pp", GroupAxis::kPipeline},
    {"mesh_pipe", GroupAxis::kPipeline},
    {"mesh_pipeline", GroupAxis::kPipeline},
    {"mesh_stage", GroupAxis::kPipeline},
    {"mesh_tp", GroupAxis::kTensor},
    {"mesh_tensor", GroupAxis::kTensor},
    {"mesh_cp", GroupAxis::kContext},
    {"mesh_ep", GroupAxis::kExpert},
    {"mesh_dp", GroupAxis::kData},
    {"mesh_dp_replicate", GroupAxis::kData},
    {"mesh_dp_shard", GroupAxis::kData},
    {"mesh_fsdp", GroupAxis::kData},
    {"PIPELINE_MODEL_PARALLEL_GROUP", GroupAxis::kPipeline},
    {"TENSOR_MODEL_PARALLEL_GROUP", GroupAxis::kTensor},
    {"CONTEXT_PARALLEL_GROUP", GroupAxis::kContext},
    {"EXPERT_MODEL_PARALLEL_GROUP", GroupAxis::kExpert},
    {"DATA_PARALLEL_GROUP", GroupAxis::kData},
};

constexpr std::string_view kMesh = "mesh_";
constexpr std::string_view kUnnamedDimension = "mesh_dim_";

bool isMegatronGroup(std::string_view name) {
  return name.find("_GROUP") != std::string_view::npos;  // with a suffix, such as _GLOO, too
}

}  // namespace

GroupAxis axisOfGroupName(std::string_view name) {
  const auto* const row = std::find_if(std::begin(kGroupNames), std::end(kGroupNames),
                                       [&](const GroupName& each) { return each.name == name; });
  if (row != std::end(kGroupNames)) return row->axis;
  if (name.starts_with(kUnnamedDimension)) return GroupAxis::kUnknown;
  return name.starts_with(kMesh) || isMegatronGroup(name) ? GroupAxis::kOther : GroupAxis::kUnknown;
}

bool trainsSameWeights(std::string_view name) {
  if (axisOfGroupName(name) == GroupAxis::kData) return true;
  constexpr std::string_view kReplicas[] = {"mesh_dp_", "mesh_fsdp", "mesh_hsdp", "mesh_efsdp"};
  if (std::any_of(std::begin(kReplicas), std::end(kReplicas),
                  [&](std::string_view each) { return name.starts_with(each); })) {
    return true;
  }
  return name.find("DATA_PARALLEL_GROUP") != std::string_view::npos &&
         name.find("TENSOR_AND") == std::string_view::npos;
}

}  // namespace pipetrace
