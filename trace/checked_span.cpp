#include "trace/checked_span.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>

#include "trace/error.h"

namespace pipetrace {
namespace {

constexpr Nanoseconds kDay = 86'400 * kNsPerSecond;
/// The furthest from zero, either way, so that the difference of two times fits.
constexpr Nanoseconds kFurthest = (Nanoseconds{1} << 62) - 1;
/// The limit for all ranks together. A few such sums, or a small multiple of one, fit Nanoseconds.
constexpr Nanoseconds kMostOfRanks = Nanoseconds{1} << 61;

/// Which ranks are at the ends of the span; empty where these are only counters.
std::string ranksAtEnds(const Timeline& timeline, Timeline::Span span) {
  std::optional<int> first;
  std::optional<int> last;
  for (const Track& track : timeline.tracks) {
    for (const Event& event : track.events) {
      if (event.begin == span.begin) first = track.rank;
      if (event.end == span.end) last = track.rank;
    }
  }
  if (!first || !last) return "";
  return *first == *last ? ", both of rank " + std::to_string(*first)
                         : ", of ranks " + std::to_string(*first) + " and " + std::to_string(*last);
}

}  // namespace

Timeline::Span subtractableSpan(const Timeline& timeline, int threads) {
  const Timeline::Span span = timeline.span(threads);
  if (span.begin < -kFurthest || span.end > kFurthest) {
    const bool isLate = span.end > kFurthest;
    throw Error("a time of this run (" +
                std::to_string((isLate ? span.end : span.begin) / kNsPerSecond) +
                " s) is more than 146 years from the zero of its clock: it is damaged, or in "
                "another unit; leave that log out");
  }
  return span;
}

Timeline::Span checkedSpan(const Timeline& timeline, int threads) {
  const Timeline::Span span = subtractableSpan(timeline, threads);
  const Nanoseconds length = span.end - span.begin;
  if (length > kLongestRun) {
    throw Error("the events of this run lie more than a year apart (at " +
                std::to_string(span.begin / kNsPerSecond) + " s and " +
                std::to_string(span.end / kNsPerSecond) + " s" + ranksAtEnds(timeline, span) +
                "): an event has no time, or the clock of one of its logs is wrong; leave that "
                "log out");
  }
  std::set<int> ranks;
  for (const Track& track : timeline.tracks) ranks.insert(track.rank);
  const auto count = std::max<Nanoseconds>(1, static_cast<Nanoseconds>(ranks.size()));
  if (length > kMostOfRanks / count) {
    throw Error("the events of this run's " + std::to_string(count) + " ranks lie up to " +
                std::to_string(length / kDay) +
                " days apart, which is too much to add up: if a clock is wrong, leave that log "
                "out; else read the logs of fewer ranks");
  }
  return span;
}

}  // namespace pipetrace
