#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>

#include "schedule/build_schedule.h"

namespace pipetrace {

class CommandApp;

/// Which plan to make: one of a schedule, or one from a file.
struct ScheduleOptions {
  std::string schedule;
  std::string scheduleFile;
  std::optional<int> ranks;  ///< to build; with a file: that it should have
  std::optional<int> microBatches;
  std::string stageRanks;     ///< of each stage, as toText(Placement::ranksOfStage); empty: one
  std::string stageDepths;    ///< as StageMap::depths, with commas; empty: as usual
  std::optional<int> chunks;  ///< virtual stages per rank; none: what the schedule usually has

  // addPlanChanges() declares these.
  bool forwardOnly = false;
  std::optional<int> credits;  ///< none: those of the plan
  std::optional<int> replicas;
  std::optional<int> buckets;
  std::optional<int> lastBackwardParts;

  /// The plan of the schedule, as it is built.
  Plan build(const AutoInput& input) const;
  /// The size of a plan that is built.
  PlanSize size() const;
  /// Throws Error where the schedule is unknown, or its size is not given.
  void requireSize() const;
  /// Takes the forward part of a plan, sets its credits, makes replicas of it, cuts its last
  /// backwards into parts, and reduces gradients in buckets, where that was asked for. The plan may
  /// have problems.
  void change(Plan& plan) const;
};

/// The options that addScheduleOptions() declares and others may exclude.
struct ScheduleFlags {
  CLI::Option* file = nullptr;
  CLI::Option* schedule = nullptr;
  CLI::Option* chunks = nullptr;
};

/// Declares --schedule, --schedule-file, --ranks (1 to `mostRanks`), --micro-batches and --chunks
/// in a group of the help. Says that the name of a schedule alone is meant as --schedule NAME. `to`
/// must outlive `app`.
ScheduleFlags addScheduleOptions(CommandApp& app, ScheduleOptions& to, int mostRanks,
                                 const char* group);

/// Declares --forward-only, --credits, --dp, --buckets and --last-backward-parts, for a plan of a
/// schedule and for one from a file. `to` must outlive `app`.
void addPlanChanges(CommandApp& app, ScheduleOptions& to, const char* group);

}  // namespace pipetrace
