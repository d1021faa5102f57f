#pragma once

#include <compare>
#include <map>
#include <string>

#include "trace/event.h"

namespace pipetrace::test {

/// The jobs of a recording in parser/testing/torch_gloo/, as tools/torch_pipeline_truth.py lists
/// them from their sleeps.
struct TorchTruth {
  struct Job {
    int rank = 0;
    std::int32_t step = 0;  ///< counted from 0
    std::int32_t stage = 0;
    std::int32_t microBatch = 0;
    JobKind kind = JobKind::kOther;
    auto operator<=>(const Job&) const = default;
  };
  struct Times {
    Nanoseconds sleepBegin = 0;
    Nanoseconds sleepEnd = 0;
    Nanoseconds begin = 0;  ///< of its first operator
    Nanoseconds end = 0;    ///< of its last one
  };

  std::map<Job, Times> jobs;
  double ratioOfSleeps = 0;
  double ratioOfOperators = 0;

  std::int32_t steps() const;
  /// How many messages the stages send: one forward and one backward for each micro-batch, between
  /// stages that follow each other on two ranks.
  std::size_t messages() const;
  int rankOf(std::int32_t stage) const;
};

/// The folder of a recording.
std::string torchRecording(const std::string& name);

TorchTruth readTorchTruth(const std::string& name);

}  // namespace pipetrace::test
