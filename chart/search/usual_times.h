#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <unordered_map>

#include "trace/event.h"
#include "trace/timeline.h"

namespace pipetrace {

/// The own times of jobs that are not their durations: of ranks that meet inside jobs.
using JobOwnTimes = std::unordered_map<const Event*, Nanoseconds>;

/// How long compute jobs of a stage and kind usually take by themselves: the median, of an even
/// count the lower one. Of long runs it is that of samples. Immutable: several threads may use it.
class UsualTimes {
 public:
  /// `own`: null where own times are the durations. The timeline must outlive it.
  explicit UsualTimes(const Timeline& timeline, std::shared_ptr<const JobOwnTimes> own = nullptr);

  /// How many times as long its own time is as usual; nothing for events that are no compute jobs.
  std::optional<double> factorOf(const Event& event) const;

 private:
  static std::uint64_t keyOf(const Event& event);
  Nanoseconds ownTimeOf(const Event& event) const;

  std::shared_ptr<const JobOwnTimes> own_;
  std::map<std::uint64_t, Nanoseconds> medians_;
};

}  // namespace pipetrace
