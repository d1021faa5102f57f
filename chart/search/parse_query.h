#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trace/nanoseconds.h"
#include "trace/timeline.h"

namespace pipetrace {

/// Numbers from `first` to `last`, both included.
struct NumberSpan {
  std::int64_t first = 0;
  std::int64_t last = std::numeric_limits<std::int64_t>::max();

  bool contains(std::int64_t number) const { return first <= number && number <= last; }
};

/// A list of numbers; an empty one allows all.
using NumberSpans = std::vector<NumberSpan>;

inline bool allows(const NumberSpans& spans, std::int64_t number) {
  return spans.empty() || std::any_of(spans.begin(), spans.end(), [number](const NumberSpan& span) {
           return span.contains(number);
         });
}

/// Factors from `first` to `last`, both included.
struct FactorSpan {
  double first = 0;
  double last = std::numeric_limits<double>::infinity();

  bool contains(double factor) const { return first <= factor && factor <= last; }
};

/// The parts of a query. A job or a bubble matches if all parts that are given allow it.
struct SearchQuery {
  std::vector<std::string> words;  ///< lower case; each is in the name or in the kind
  std::vector<std::string> names;  ///< lower case; each is in the name
  std::vector<std::string> lanes;  ///< lower case; one of them is in the lane's name
  std::uint32_t kinds = 0;         ///< bit n: JobKind n; 0 allows all
  std::uint32_t classes = 0;       ///< bit n: BubbleClass n; 0 allows all, jobs too
  std::uint32_t phases = 0;        ///< bit n: Phase n; 0 allows all
  NumberSpans ranks;
  NumberSpans steps;
  NumberSpans microBatches;
  NumberSpans stages;
  NumberSpans chunks;
  NumberSpans peers;
  NumberSpans jobs;                       ///< ids
  std::optional<Nanoseconds> longerThan;  ///< at least that long
  std::optional<Nanoseconds> shorterThan;
  /// How many times as long its own time is as the usual one of its stage and kind (UsualTimes).
  std::optional<FactorSpan> own;
  std::optional<Nanoseconds> at;  ///< it lasts at that time after the start of the run
};

/// Reads a query: words and parts like `step:3..5`, with blanks between them. All must hold.
///
/// - `forward`, `"my kernel"`: the name or the kind has this text in it; so has `2F5`, the forward
///   pass of micro-batch 5 on stage 2
/// - `kind:forward`, `class:imbalance`, `phase:evaluate` (or training, predict), `lane:send`,
///   `name:nccl`
/// - `step:12`, `step:3..5`, `rank:0,2,8..`; numbers of mb, stage, chunk, peer, id as well
/// - `own:1.1x..`, `own:1.1x..2x`: compute jobs whose own time is that many times the usual one of
///   their stage and kind
/// - `longer:2ms`, `shorter:50us`, `at:401.5ms` (after the start of the run)
///
/// Letters may be upper or lower case. Throws Error, which names the bad part and lists what can be
/// written. An empty query allows everything.
SearchQuery parseQuery(std::string_view text);

/// Returns a duration with its unit, as in "2ms" or "1.5 s"; nothing for other texts.
std::optional<Nanoseconds> parseDuration(std::string_view text);

/// A query that finds exactly this event of the run: "rank:3 step:12 kind:forward mb:2". It is as
/// short as the run allows. A bubble is found by its class and a time at which it lasts, whether
/// the timeline has it or not. Takes time linear in the events of the rank. The timeline must be
/// sorted. Events that are the same in all that a query knows are found together.
std::string exactQuery(const Timeline& timeline, int rank, std::string_view lane,
                       const Event& event);

}  // namespace pipetrace
