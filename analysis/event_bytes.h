#pragma once

#include <cstdint>
#include <optional>

#include "trace/log/log_format.h"
#include "trace/timeline.h"

namespace pipetrace {

/// How many bytes a message or a collective moves, where the trace says it.
inline std::optional<std::int64_t> bytesOf(const Timeline& timeline, const Event& event) {
  const auto key = timeline.strings.find(log_format::kBytes);
  if (!key) return std::nullopt;
  for (const Argument& argument : timeline.argumentsOf(event)) {
    if (argument.key == *key && argument.type == ArgumentType::kInteger) return argument.integer;
  }
  return std::nullopt;
}

}  // namespace pipetrace
