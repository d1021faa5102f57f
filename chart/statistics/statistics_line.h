#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "trace/event.h"

namespace pipetrace {

/// Says what the lines of a table of statistics are.
enum class StatisticsBy : std::uint8_t { kKind, kStage, kRank, kBubbleClass };

/// Events with one key are summed up together. It holds kind, bubble class and stage.
constexpr std::uint64_t sumsKey(JobKind kind, BubbleClass bubbleClass, std::int32_t stage) {
  return static_cast<std::uint64_t>(kind) << 40U | static_cast<std::uint64_t>(bubbleClass) << 32U |
         static_cast<std::uint32_t>(stage);
}

/// The line in which events with such a key on a rank count: a kind, stage, rank or bubble class as
/// a number. Nothing where they count in none: bubbles have no stage, and jobs no class. Bubbles do
/// not count in the lines of ranks, either, so that these say how long the ranks did something.
std::optional<std::int32_t> lineOf(StatisticsBy by, std::uint64_t key, int rank);

/// Returns the name of a line: "backward input", "stage 3", "no stage", "rank 3", "peer wait".
std::string lineName(StatisticsBy by, std::int32_t line);

}  // namespace pipetrace
