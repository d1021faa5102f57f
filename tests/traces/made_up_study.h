#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace pipetrace::test {

/// The size of a made-up job of the straggler study, which trains with 1F1B.
struct MadeUpStudy {
  int replicas = 1;
  int positions = 1;
  int microBatches = 1;
  std::vector<int> steps;  ///< those whose numbers end in 7 are much longer than the others
  int slowStage = -1;
  std::uint64_t seed = 1;
  int rankStride = 1;  ///< ranks are numbered 0, stride, 2·stride, …
};

/// Its timeline as the study's files have it: float microseconds, a lane per kind of work, messages
/// that lack one end, times below zero. It says nothing about causes, and durations vary at random.
std::string toJson(const MadeUpStudy& study);

}  // namespace pipetrace::test
