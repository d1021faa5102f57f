#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "chart/search/parse_query.h"
#include "chart/search/usual_times.h"
#include "trace/timeline.h"

namespace pipetrace {

/// The time at which the first event begins. Tracks must be sorted. Queries count times from
/// it, as the axis of a chart does.
Nanoseconds beginOf(const Timeline& timeline);

/// Tells which events a query allows. Refers to the timeline, which must be sorted and stay as it
/// is. Keeps what it knows of names, so each thread needs its own.
class JobMatcher {
 public:
  /// `usual`: of the timeline, for queries with `own`; without it they make it themselves.
  JobMatcher(const Timeline& timeline, SearchQuery query,
             std::shared_ptr<const UsualTimes> usual = nullptr);

  /// Whether an event of this lane can match.
  bool allowsLane(int rank, std::string_view lane) const;
  /// Whether an event of such a lane matches.
  bool matches(const Event& event);
  /// The instant at which a match lasts, where the query gives one.
  std::optional<Nanoseconds> instant() const { return instant_; }

 private:
  /// A word such as "2F5".
  struct Action {
    JobKind kind = JobKind::kOther;
    std::int64_t stage = kNotGiven;
    std::int64_t microBatch = kNotGiven;
  };
  static std::optional<Action> actionOf(std::string_view word);

  bool allowsNumbers(const Event& event) const;
  bool allowsTimes(const Event& event) const;
  bool allowsTexts(const Event& event);
  std::uint64_t textsIn(std::string_view lowerName) const;
  std::uint64_t textsInName(const Event& event);
  std::uint64_t textsInMadeUpName(const Event& event);

  const Timeline& timeline_;
  SearchQuery query_;
  std::shared_ptr<const UsualTimes> usual_;
  std::optional<Nanoseconds> instant_;
  // Bit n: the n-th of the words, then of the names.
  std::vector<std::string> texts_;
  std::uint64_t all_ = 0;
  std::array<std::uint64_t, kJobKindCount> inKind_{};
  std::vector<std::optional<Action>> actions_;
  /// The texts in a name, once they are known.
  using KnownTexts = std::optional<std::uint64_t>;
  std::vector<KnownTexts> inName_;                               // by StringId
  std::array<std::vector<KnownTexts>, kJobKindCount> inMadeUp_;  // by micro-batch + 1, or class
};

}  // namespace pipetrace
