#pragma once

#include <cstdint>
#include <string_view>

namespace pipetrace {

/// The ranks that take part in a collective.
enum class Members : std::uint8_t {
  kAlone,     ///< ranks that are not in the run's pipelines, such as tensor-parallel ones
  kReplicas,  ///< those of one position, over all replicas
  kPipeline,  ///< those of one pipeline
  kAll,
};

/// Collectives of one name. The names are those of Megatron-LM's timers, as the straggler study has
/// them.
struct CollectiveRule {
  std::string_view name;
  Members members = Members::kReplicas;
  int order = 1;  ///< after a step's compute jobs, `default` jobs being 0; negative: before them
};

/// Any other collective is taken for one over the replicas.
inline CollectiveRule collectiveRuleOf(std::string_view name) {
  static constexpr CollectiveRule kRules[] = {
      {"params-all-gather", Members::kReplicas, -1},
      {"layernorm-grads-all-reduce", Members::kAlone, 1},
      {"embedding-grads-all-reduce", Members::kPipeline, 2},
      {"grads-reduce-scatter", Members::kReplicas, 3},
      {"optimizer-clip-main-grad", Members::kAll, 4},
  };
  for (const CollectiveRule& rule : kRules) {
    if (rule.name == name) return rule;
  }
  return {.name = name};
}

}  // namespace pipetrace
