#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "parser/device_time/host_jobs.h"
#include "parser/device_time/launches.h"
#include "parser/foreign/kineto/categories.h"

namespace pipetrace {

/// The spans of training steps, as `ProfilerStep#7` gives them.
class StepSpans {
 public:
  StepSpans(const ForeignTrace& trace, const KinetoWords& words);

  bool empty() const { return spans_.empty(); }

  /// The number of the step at that time, or kNotGiven.
  std::int32_t at(Nanoseconds time) const;

 private:
  struct Span {
    Nanoseconds begin = 0;
    Nanoseconds end = 0;
    std::int32_t step = 0;
  };
  std::vector<Span> spans_;  // by begin
};

/// The contents of one thread of the host that matter beyond its events.
struct HostThread {
  /// A launch inside an operator of autograd's engine.
  struct InOperator {
    std::size_t launch = 0;  ///< index in `launches`
    Nanoseconds operatorBegin = 0;
    std::optional<std::int64_t> sequence;
  };
  /// An operator of a forward pass, by the number that its backward has as well.
  struct Forward {
    Nanoseconds begin = 0;
    std::int64_t sequence = 0;
  };

  bool isAutograd = false;  ///< autograd's engine runs operators on it
  std::vector<std::pair<std::int64_t, std::int32_t>> steps;  ///< external id, step
  std::vector<std::size_t> named;  ///< events whose names may say something
  std::vector<Launch> launches;
  std::vector<InOperator> inOperators;
  std::vector<Forward> forwards;
};

/// Puts the events of a thread in order (by begin, the longest first), gives them their steps and
/// collects the rest. `isAsked`: every event's name may say something. `withLaunches`: the trace
/// has work on devices. Threads may be read at the same time.
HostThread readHostThread(ForeignTrace::Lane& lane, std::uint32_t number, const KinetoWords& words,
                          const StepSpans& steps, bool isAsked, bool withLaunches);

/// All launches of the threads. Launches by autograd get the job of the forward operator that they
/// are the backward of. The trace's `fwdbwd` arrows say which; else the sequence number does, if
/// only one job has a forward operator with it. Empties the threads' launches.
std::vector<Launch> launchesOf(std::vector<HostThread>& threads,
                               std::span<ForeignTrace::Lane* const> lanes,
                               const ForeignTrace& trace, const HostJobs& jobs);

}  // namespace pipetrace
