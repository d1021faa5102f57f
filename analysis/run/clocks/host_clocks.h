#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "trace/diagnostic.h"
#include "trace/timeline.h"

namespace pipetrace {

/// The ranks that share a clock.
struct ClockHost {
  std::string name;        ///< empty: the logs do not say it; then it has one rank
  std::vector<int> ranks;  ///< ascending
  Timeline::Span span;     ///< of all its ranks' times, by its own clock

  /// "host1", or "rank 3".
  std::string text() const;
};

/// The hosts of the ranks that have events, in the order of their lowest ranks. So the first is the
/// one whose clock the others are converted to.
std::vector<ClockHost> clockHostsOf(const Timeline& timeline, int threads = 1);
/// The same with a clock for each rank, whatever the logs say of hosts.
std::vector<ClockHost> clockRanksOf(const Timeline& timeline, int threads = 1);

/// Something that cannot have ended on one host before it began on another: a message, a
/// collective, or data between two jobs (jobCrossings()).
struct Crossing {
  std::size_t from = 0;          ///< index of the host on which it began
  std::size_t to = 0;            ///< index of the other host
  Nanoseconds sent = 0;          ///< by the clock of `from`
  Nanoseconds received = 0;      ///< by the clock of `to`
  int sender = 0;                ///< rank
  int receiver = 0;              ///< rank
  const Event* event = nullptr;  ///< the send, or the collective

  /// "F3 of step 1 from rank 0 to rank 2".
  std::string text() const;
};

/// Everything that ties the clocks of two hosts together. A message of matchedMessages() is sent
/// when its send begins, and received when its receive ends. A receive without bytes (`bytes = …`)
/// of a send that has them did not get the message, and ties nothing. No rank ends a collective
/// before the last one begins it. The n-th collectives of one kind on all ranks of one communicator
/// (`communicator = …`) are one, if all ranks have as many.
std::vector<Crossing> crossingsOf(const Timeline& timeline, const std::vector<ClockHost>& hosts,
                                  int threads = 1);
/// The same one after the other, without the memory of all of them.
void visitCrossings(const Timeline& timeline, const std::vector<ClockHost>& hosts, int threads,
                    const std::function<void(const Crossing&)>& visit);

}  // namespace pipetrace
