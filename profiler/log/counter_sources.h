#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "profiler/ring/counter_ring.h"
#include "trace/nanoseconds.h"

namespace pipetrace {

/// Counters whose values the log thread asks for at regular times. Thread-safe.
class CounterSources {
 public:
  static constexpr Nanoseconds kInterval = 100 * kNsPerMs;

  /// `value` is called by the log thread every kInterval as long as this object lives. A call
  /// that throws makes no sample.
  void add(std::string name, std::string unit, std::function<double()> value);

  /// Log thread: pushes a sample of each counter into `ring` if it is due; `now` is
  /// CLOCK_MONOTONIC. There are ten a second on average, unless a call is late by more than
  /// kInterval; samples missed then are not made up for. The names and units that the samples point
  /// to live as long as this object. Without `isWanted` no function is called, and due samples are
  /// left out.
  void sample(CounterRing& ring, Nanoseconds now, bool isWanted = true);

  /// Calls that threw.
  std::int64_t failures() const;

  /// How long sample() need not be called for; kNsMax: there is no counter.
  Nanoseconds untilNext(Nanoseconds now) const;

 private:
  struct Source {
    std::string name;
    std::string unit;
    std::function<double()> value;
  };

  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<Source>> sources_;
  Nanoseconds next_ = kNsMin;
  std::int64_t failures_ = 0;
};

}  // namespace pipetrace
