#pragma once

#include <string>

#include "runtime/checkpoint/optimizer_state.h"

namespace pipetrace {

// The keys of a block's tensors (BlockState).
inline const std::string kParameterPrefix = "parameters.";
inline const std::string kBufferPrefix = "buffers.";
inline const std::string kOptimizerPrefix = "optimizer.";

inline std::string optimizerKey(const std::string& parameter, const std::string& field) {
  return kOptimizerPrefix + parameter + "." + field;
}

/// The optimizer's state of a parameter, by field. Fields have no dots, so that parameter "a"
/// has nothing of parameter "a.b".
inline NamedTensors fieldsOf(const NamedTensors& byKey, const std::string& parameter) {
  NamedTensors fields;
  const std::string prefix = optimizerKey(parameter, "");
  for (const auto& [key, tensor] : byKey) {
    if (!key.starts_with(prefix)) continue;
    std::string field = key.substr(prefix.size());
    if (field.find('.') == std::string::npos) fields.emplace_back(std::move(field), tensor);
  }
  return fields;
}

}  // namespace pipetrace
