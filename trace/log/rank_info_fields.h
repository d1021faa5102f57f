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
  kMeta,     ///< `Profiler Meta:`; profiles: the object of the rank
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

/// The keys of fields, besides log_format::kRank.
namespace rank_info_keys {

// Keys of `Profiler Meta:`.
inline constexpr std::string_view kWorldSize = "world_size";
inline constexpr std::string_view kHost = "host";
inline constexpr std::string_view kDevice = "device";
inline constexpr std::string_view kNumStages = "num_stages";
inline constexpr std::string_view kNumChunks = "num_chunks";
inline constexpr std::string_view kNumMicroBatches = "num_micro_batches";
inline constexpr std::string_view kRanksOfStage = "ranks_of_stage";
inline constexpr std::string_view kBlocks = "blocks";
inline constexpr std::string_view kRecomputedBlocks = "recomputed_blocks";
inline constexpr std::string_view kSchedule = "schedule";
inline constexpr std::string_view kDataParallelIndex = "data_parallel_index";
inline constexpr std::string_view kTensorParallelIndex = "tensor_parallel_index";
inline constexpr std::string_view kClock = "clock";
inline constexpr std::string_view kLines = "lines";
inline constexpr std::string_view kFlopsPerStep = "flops_per_step";
inline constexpr std::string_view kTokensPerStep = "tokens_per_step";

// Keys of `Profiler End:`.
inline constexpr std::string_view kWritten = "written";
inline constexpr std::string_view kDropped = "dropped";
inline constexpr std::string_view kErrors = "errors";
inline constexpr std::string_view kMisuses = "misuses";
inline constexpr std::string_view kFailedWrites = "failed_writes";
inline constexpr std::string_view kLateStarts = "late_starts";
inline constexpr std::string_view kOwnCost = "own_cost_ns";
inline constexpr std::string_view kLogThreadCost = "log_thread_ns";

// Keys that profiles have and logs lack.
inline constexpr std::string_view kClockReadings = "clock_readings";
inline constexpr std::string_view kPipelineRanks = "pipeline_ranks";
inline constexpr std::string_view kPartBegins = "part_begins_ns";
inline constexpr std::string_view kEventsWithoutTime = "events_without_time";
inline constexpr std::string_view kOverruns = "overruns";
inline constexpr std::string_view kOverrunTime = "overrun_ns";
inline constexpr std::string_view kClockApart = "clock_apart_ns";
inline constexpr std::string_view kJobsFound = "jobs_found";
inline constexpr std::string_view kJobsByOrder = "jobs_by_order";
inline constexpr std::string_view kJobsInPairs = "jobs_in_pairs";
inline constexpr std::string_view kRunsUnplaced = "runs_unplaced";
inline constexpr std::string_view kUnplacedTime = "unplaced_ns";
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
  visit(RankField<kMeta, keys::kWorldSize, kIfGiven>(), &RankInfo::worldSize);
  visit(RankField<kMeta, keys::kHost, kIfGiven>(), &RankInfo::host);
  visit(RankField<kMeta, keys::kDevice, kIfGiven>(), &RankInfo::device);
  visit(RankField<kMeta, keys::kNumStages, kIfGiven>(), &RankInfo::numStages);
  visit(RankField<kMeta, keys::kNumChunks, kIfGiven>(), &RankInfo::numChunks);
  visit(RankField<kMeta, keys::kNumMicroBatches, kIfGiven>(), &RankInfo::numMicroBatches);
  visit(RankField<kMeta, keys::kRanksOfStage, kIfGiven>(), &RankInfo::ranksOfStage);
  visit(RankField<kProfile, keys::kPipelineRanks, kIfGiven>(), &RankInfo::pipelineRanks);
  visit(RankField<kMeta, keys::kBlocks, kIfGiven>(), &RankInfo::blocks);
  visit(RankField<kMeta, keys::kRecomputedBlocks, kIfGiven>(), &RankInfo::recomputedBlocks);
  visit(RankField<kFound, keys::kNone, kIfGiven>(), &RankInfo::firstStep);
  visit(RankField<kMeta, keys::kSchedule, kIfGiven>(), &RankInfo::schedule);
  visit(RankField<kMeta, keys::kDataParallelIndex, kIfGiven>(), &RankInfo::dataParallelIndex);
  visit(RankField<kMeta, keys::kTensorParallelIndex, kIfGiven>(), &RankInfo::tensorParallelIndex);
  visit(RankField<kMeta, keys::kClock, kIfGiven>(), &RankInfo::clock);
  visit(RankField<kMeta, keys::kLines, kIfGiven>(), &RankInfo::lines);
  visit(RankField<kMeta, keys::kFlopsPerStep, kIfGiven>(), &RankInfo::flopsPerStep);
  visit(RankField<kMeta, keys::kTokensPerStep, kIfGiven>(), &RankInfo::tokensPerStep);
  visit(RankField<kClock, keys::kClockReadings, kIfGiven>(), &RankInfo::clockReadings);
  visit(RankField<kProfile, keys::kPartBegins, kIfGiven>(), &RankInfo::partBegins);
  visit(RankField<kFound, keys::kNone, kIfGiven>(), &RankInfo::groups);
  visit(RankField<kProfile, keys::kEventsWithoutTime, kIfGiven>(), &RankInfo::eventsWithoutTime);
  visit(RankField<kProfile, keys::kOverruns, kIfGiven>(), &RankInfo::overruns);
  visit(RankField<kProfile, keys::kOverrunTime, kIfGiven>(), &RankInfo::overrunTime);
  visit(RankField<kProfile, keys::kClockApart, kIfGiven>(), &RankInfo::clockApart);
  visit(RankField<kProfile, keys::kJobsFound, kIfGiven>(), &RankInfo::jobsFound);
  visit(RankField<kProfile, keys::kJobsByOrder, kIfGiven>(), &RankInfo::jobsByOrder);
  visit(RankField<kProfile, keys::kJobsInPairs, kIfGiven>(), &RankInfo::jobsInPairs);
  visit(RankField<kProfile, keys::kRunsUnplaced, kIfGiven>(), &RankInfo::runsUnplaced);
  visit(RankField<kProfile, keys::kUnplacedTime, kIfGiven>(), &RankInfo::unplacedTime);
  visit(RankField<kFound, keys::kNone, kIfGiven>(), &RankInfo::runs);
  visit(RankField<kFound, keys::kNone, kIfGiven>(), &RankInfo::isRecording);
  visit(RankField<kProfile, keys::kSelected, kIfGiven>(), &RankInfo::isSelected);
  visit(RankField<kHasEnd, keys::kSeen, kAlways>(), &RankInfo::hasEnd);
  visit(RankField<kEnd, keys::kWritten, kAlways>(), &RankInfo::written);
  visit(RankField<kEnd, keys::kDropped, kAlways>(), &RankInfo::dropped);
  visit(RankField<kEnd, keys::kErrors, kAlways>(), &RankInfo::errors);
  visit(RankField<kEnd, keys::kMisuses, kIfGiven>(), &RankInfo::misuses);
  visit(RankField<kEnd, keys::kFailedWrites, kIfGiven>(), &RankInfo::failedWrites);
  visit(RankField<kEnd, keys::kLateStarts, kAlways>(), &RankInfo::lateStarts);
  visit(RankField<kEnd, keys::kOwnCost, kAlways>(), &RankInfo::ownCost);
  visit(RankField<kEnd, keys::kLogThreadCost, kIfGiven>(), &RankInfo::logThreadCost);
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
