#pragma once

#include <string_view>

namespace pipetrace {

/// Whether a kernel of that name is one of NCCL or RCCL: it moves data between ranks.
inline bool isCommunicationKernel(std::string_view name) {
  return name.starts_with("nccl") || name.starts_with("rccl");
}

/// Whether a kernel of that name is one by which ranks exchange data without NCCL: DeepEP's, those
/// of userbuffers (Transformer Engine, Megatron-LM's --tp-comm-overlap), of symmetric memory in
/// PyTorch, and NVSHMEM's. It waits for other ranks, and nothing says for how long.
inline bool isOtherCommunicationKernel(std::string_view name) {
  constexpr std::string_view kParts[] = {
      "deep_ep::",           "userbuffers",         "symm_mem", "multimem_all_",
      "one_shot_all_reduce", "two_shot_all_reduce", "nvshmem",  "multimem_one_shot",
  };
  for (const std::string_view part : kParts) {
    if (name.find(part) != std::string_view::npos) return true;
  }
  return false;
}

}  // namespace pipetrace
