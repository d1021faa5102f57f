#pragma once

#include <string>
#include <vector>

#include "analysis/run/clocks/host_clocks.h"

namespace pipetrace {

/// The clock of a host, as the order of messages gives it.
struct FittedClock {
  bool isKnown = false;  ///< messages tie it, in both directions and over any hosts, to the first
  /// First host's clock - this one's at the begin and at the end of ClockHost::span, and on the
  /// straight line in between. In ns.
  double begin = 0;
  double end = 0;
  double bound = 0;  ///< how far the line may be off, anywhere in the span
};

/// The result of fitClocks().
struct CausalFit {
  std::vector<FittedClock> clocks;  ///< by host; the first is the reference, and known
  std::string contradiction;        ///< why no lines fit the messages; empty: they do
};

/// How far messages may contradict each other before their clocks are refused: inaccuracy of the
/// readings of one clock, which is no straight line to the last nanosecond.
inline constexpr Nanoseconds kClockTolerance = 10 * kNsPerUs;

/// Finds a line (offset and drift) for each host such that nothing ends on one host before it began
/// on another.
///
/// Between two hosts, each crossing is a bound of the offset at its time: a lower one in one
/// direction, an upper one in the other. The lines between all of them are the strip; its middle is
/// taken, and half of its width at its worst is the bound. This is the convex hull method of Duda,
/// Harrus, Haddad and Bernard, "Estimating Global Time in Distributed Systems", 1987. A host gets
/// its line over those hosts over which the sum of the bounds is least. Where other messages are
/// then out of order, as on a ring of hosts, the lines are moved until none is.
CausalFit fitClocks(const std::vector<ClockHost>& hosts, const std::vector<Crossing>& crossings);

}  // namespace pipetrace
