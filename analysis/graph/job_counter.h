#pragma once

#include <cstdint>
#include <map>
#include <tuple>

#include "trace/event.h"

namespace pipetrace {

/// Counts the jobs without a micro-batch of one rank: the n-th of its step, stage and kind.
class JobCounter {
 public:
  std::int32_t next(const Event& event) { return counts_[{event.step, event.stage, event.kind}]++; }

 private:
  std::map<std::tuple<std::int32_t, std::int32_t, JobKind>, std::int32_t> counts_;
};

}  // namespace pipetrace
