#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "trace/log/log_format.h"
#include "trace/rank_info.h"

namespace pipetrace {

/// The place of a field of RankInfo in job logs and profiles.
enum class RankFieldPlace : std::uint8_t {
  kRank,     ///< `Profiler Meta:`; profiles: the object of the rank
  kMeta,     ///< the same
  kClock,    ///< one `Profiler Clock:` line each; profiles: a list in the object of the rank
  kProfile,  ///< logs do not keep it; profiles: the object of the rank
  kHasEnd,   ///< logs: there is a `Profiler End:` line; profiles: `end` in the object of the rank
  kEnd,      ///< `Profiler End:`; profiles: `end` in the object of the rank
  kFound,    ///< files do not keep it: a reader finds it out
};

enum class RankFieldWritten : std::uint8_t {
  kAlways,
  kIfGiven,  ///< left out where it is 0, false, empty or unknown
};

/// A field of RankInfo: its key, and where it is kept.
template <RankFieldPlace kIn, const std::string_view& kName, RankFieldWritten kWhen>
struct RankField {
  static constexpr RankFieldPlace kPlace = kIn;
  static constexpr const std::string_view& kKey = kName;
  static constexpr bool kIsAlwaysWritten = kWhen == RankFieldWritten::kAlways;
};

namespace rank_info_keys {

// Keys that profiles have and logs lack.
inline constexpr std::string_view kClockReadings = "clock_readings";
inline constexpr std::string_view kPartBegins = "part_begins_ns";
inline constexpr std::string_view kSelected = "selected";
inline constexpr std::string_view kSeen = "seen";
inline constexpr std::string_view kNone;  ///< the key of fields that no file keeps

}  // namespace rank_info_keys

/// The one list of RankInfo's fields, for all that write, read or compare them: calls
/// `visit(RankField<...>(), &RankInfo::field)` for each, in the order in which files have them.
template <typename Visitor>
constexpr void visitRankFields(const Visitor& visit) {
  namespace lf = log_format;
  namespace keys = rank_info_keys;
  using enum RankFieldPlace;
  using enum RankFieldWritten;
  visit(RankField<kRank, lf::kRank, kAlways>(), &RankInfo::rank);
  visit(RankField<kMeta, lf::kWorldSize, kIfGiven>(), &RankInfo::worldSize);
  visit(RankField<kMeta, lf::kHost, kIfGiven>(), &RankInfo::host);
  visit(RankField<kMeta, lf::kDevice, kIfGiven>(), &RankInfo::device);
  visit(RankField<kMeta, lf::kNumStages, kIfGiven>(), &RankInfo::numStages);
  visit(RankField<kMeta, lf::kNumChunks, kIfGiven>(), &RankInfo::numChunks);
  visit(RankField<kMeta, lf::kNumMicroBatches, kIfGiven>(), &RankInfo::numMicroBatches);
  visit(RankField<kMeta, lf::kRanksOfStage, kIfGiven>(), &RankInfo::ranksOfStage);
  visit(RankField<kMeta, lf::kBlocks, kIfGiven>(), &RankInfo::blocks);
  visit(RankField<kMeta, lf::kRecomputedBlocks, kIfGiven>(), &RankInfo::recomputedBlocks);
  visit(RankField<kFound, keys::kNone, kIfGiven>(), &RankInfo::firstStep);
  visit(RankField<kMeta, lf::kSchedule, kIfGiven>(), &RankInfo::schedule);
  visit(RankField<kMeta, lf::kDataParallelIndex, kIfGiven>(), &RankInfo::dataParallelIndex);
  visit(RankField<kMeta, lf::kTensorParallelIndex, kIfGiven>(), &RankInfo::tensorParallelIndex);
  visit(RankField<kMeta, lf::kClockKey, kIfGiven>(), &RankInfo::clock);
  visit(RankField<kMeta, lf::kLines, kIfGiven>(), &RankInfo::lines);
  visit(RankField<kMeta, lf::kFlopsPerStep, kIfGiven>(), &RankInfo::flopsPerStep);
  visit(RankField<kMeta, lf::kTokensPerStep, kIfGiven>(), &RankInfo::tokensPerStep);
  visit(RankField<kClock, keys::kClockReadings, kIfGiven>(), &RankInfo::clockReadings);
  visit(RankField<kProfile, keys::kPartBegins, kIfGiven>(), &RankInfo::partBegins);
  visit(RankField<kFound, keys::kNone, kIfGiven>(), &RankInfo::runs);
  visit(RankField<kFound, keys::kNone, kIfGiven>(), &RankInfo::isRecording);
  visit(RankField<kProfile, keys::kSelected, kIfGiven>(), &RankInfo::isSelected);
  visit(RankField<kHasEnd, keys::kSeen, kAlways>(), &RankInfo::hasEnd);
  visit(RankField<kEnd, lf::kWritten, kAlways>(), &RankInfo::written);
  visit(RankField<kEnd, lf::kDropped, kAlways>(), &RankInfo::dropped);
  visit(RankField<kEnd, lf::kErrors, kAlways>(), &RankInfo::errors);
  visit(RankField<kEnd, lf::kMisuses, kIfGiven>(), &RankInfo::misuses);
  visit(RankField<kEnd, lf::kFailedWrites, kIfGiven>(), &RankInfo::failedWrites);
  visit(RankField<kEnd, lf::kLateStarts, kAlways>(), &RankInfo::lateStarts);
  visit(RankField<kEnd, lf::kOwnCost, kAlways>(), &RankInfo::ownCost);
  visit(RankField<kEnd, lf::kLogThreadCost, kIfGiven>(), &RankInfo::logThreadCost);
}

/// Visits the fields of one place only.
template <RankFieldPlace kPlace, typename Visitor>
constexpr void visitRankFieldsIn(const Visitor& visit) {
  visitRankFields([&]<typename Field>(Field field, [[maybe_unused]] auto member) {
    if constexpr (Field::kPlace == kPlace) visit(field, member);
  });
}

/// Whether a field of RankInfo is neither 0, false, empty nor unknown.
template <typename Value>
bool isGiven(const Value& value) {
  return value != Value();
}
inline bool isGiven(const std::vector<ClockReading>& readings) { return !readings.empty(); }

}  // namespace pipetrace
