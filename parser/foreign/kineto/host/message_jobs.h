#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "parser/foreign/kineto/host/host_work.h"

namespace pipetrace {

/// A compute job on a thread of the host.
struct HostOnlyJob {
  Event event;      ///< with the times of its annotation
  HostSpan scope;   ///< the annotation, or the schedule's own around it
  HostSpan span;    ///< what counts of the annotation
  std::size_t job;  ///< its index among all jobs of the thread
};

/// Finds the job of each message of a thread; see placeHostOnly().
class MessageJobs {
 public:
  /// Both must outlive it. `jobs` are in order; the two of a fused pair follow each other.
  MessageJobs(const std::vector<HostOnlyJob>& jobs, const HostWork& work);

  /// The kind and the numbers of a message.
  struct Meaning {
    JobKind kind = JobKind::kOther;
    std::int32_t stage = kNotGiven;
    std::int32_t microBatch = kNotGiven;
    std::optional<std::size_t> job;  ///< index in `jobs`
  };
  /// By message of the thread. Nothing for one that belongs to no job and that no annotation
  /// describes. Messages of the set-up are such, as when torch's first step connects the ranks.
  /// They are known as receives of the first stage's forwards, and as the few of jobs that do not
  /// receive.
  std::vector<std::optional<Meaning>> ofAll() const;

 private:
  using Key = std::tuple<bool, std::int32_t, std::int32_t>;  // is forward, stage, micro-batch

  std::optional<Meaning> of(const HostWork::Message& message) const;
  std::optional<std::size_t> describedBy(const HostWork::Note& note,
                                         const HostWork::Message& message) const;
  std::optional<std::size_t> around(const HostWork::Message& message) const;
  std::optional<std::size_t> nextTo(const HostWork::Message& message) const;

  const std::vector<HostOnlyJob>& jobs_;
  const HostWork& work_;
  std::map<Key, std::vector<std::size_t>> byKey_;  // in order
};

}  // namespace pipetrace
