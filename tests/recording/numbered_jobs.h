#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <string_view>

#include "profiler/job.h"
#include "trace/timeline.h"

namespace pipetrace {

inline constexpr int kMostLanes = 8;
inline const std::array<const char*, kMostLanes> kNames = {"compute",  "send", "recv", "copy",
                                                           "prefetch", "data", "save", "log"};
inline const std::array<const char*, 4> kActions = {"0F0", "1F2", "3B1", "(0F7;7B3)OVERLAP_F_B"};

/// Every field of a job follows from its number, so that a wrong one shows.
inline Job jobOf(int lane, std::int64_t n) {
  return {.kind = lane == 0   ? (n % 2 == 0 ? JobKind::kForward : JobKind::kBackward)
                  : lane == 1 ? JobKind::kSendForward
                              : JobKind::kRecvForward,
          .microBatch = static_cast<std::int32_t>(n % 97),
          .step = static_cast<std::int32_t>(n / 1000),
          .stage = static_cast<std::int32_t>(n % 13),
          .chunk = static_cast<std::int32_t>(n % 3),
          .peer = lane == 0 ? kNotGiven : static_cast<std::int32_t>(n % 5),
          .bytes = lane == 0 ? kNotGiven : n * 16,
          .id = n,
          .action = lane == 0 ? kActions[static_cast<std::size_t>(n % 4)] : nullptr};
}

/// Whether an event of that lane is the job of its number.
inline void expectJob(const Timeline& timeline, int lane, const Event& event) {
  const Job expected = jobOf(lane, event.job);
  ASSERT_EQ(event.kind, expected.kind) << event.job;
  ASSERT_EQ(event.microBatch, expected.microBatch) << event.job;
  ASSERT_EQ(event.step, expected.step) << event.job;
  ASSERT_EQ(event.stage, expected.stage) << event.job;
  ASSERT_EQ(event.chunk, expected.chunk) << event.job;
  ASSERT_EQ(event.peer, expected.peer) << event.job;
  ASSERT_LE(event.begin, event.end) << event.job;
  for (const Argument& argument : timeline.argumentsOf(event)) {
    const std::string_view key = timeline.strings[argument.key];
    if (key == "bytes") {
      ASSERT_EQ(argument.integer, expected.bytes);
    } else if (key == "action") {
      ASSERT_EQ(timeline.strings[argument.text], expected.action);
    }
  }
}

}  // namespace pipetrace
