#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "schedule/build_schedule.h"
#include "schedule/builders/schedules.h"

namespace pipetrace {

/// Which plan to make, of a schedule or from a file, and what to change in it. An empty
/// field was not given. Each has a row in kScheduleOptions.
struct ScheduleOptions {
  std::string schedule;
  std::string scheduleFile;   ///< a plan as CSV, in place of schedule, ranks and microBatches
  std::optional<int> ranks;   ///< of one pipeline; with a file: that it should have
  std::optional<int> chunks;  ///< virtual stages per rank; 0 as none: what the schedule usually has
  std::optional<int> microBatches;  ///< of a step of one replica
  std::optional<int> replicas;      ///< equal pipelines (data parallelism)
  std::string stageRanks;   ///< of each stage, as toText(Placement::ranksOfStage); empty: one
  std::string stageDepths;  ///< as StageMap::depths, with commas; empty: as usual
  bool forwardOnly = false;
  std::optional<int> credits;            ///< none: those of the plan
  std::optional<int> buckets;            ///< of a stage's gradients, where it is on several ranks
  std::optional<int> lastBackwardParts;  ///< jobs into which a stage's last backward is cut

  /// The schedule; the usual one where none is named.
  std::string_view scheduleName() const;
  /// The size of a plan that is built; one rank and one micro-batch where it is not given.
  PlanSize size() const;
  /// Throws Error where the schedule is unknown, or its size is not given.
  void requireSize() const;
  /// The plan of the schedule, as it is built.
  Plan build(const AutoInput& input = {}) const;
  /// Takes the forward part of a plan, sets its credits and makes replicas of it, where that was
  /// asked for. The plan may have problems.
  void change(Plan& plan) const;
  /// Cuts its last backwards into parts and reduces gradients in buckets, where that was asked for.
  /// Trainings do it by themselves, once they know the blocks of each stage.
  void cutGradients(Plan& plan) const;
};

/// How a command line shows an option.
struct OptionFace {
  const char* names = nullptr;  ///< "--ranks,--stages"; null: it does not have the option
  const char* value = nullptr;  ///< the kind of value in the help; null: as the parser says it
  /// Null: it lists the words. helpOf() puts names of schedules in place of @stage-ranks and
  /// @depths.
  const char* help = nullptr;
  int least = 1;  ///< of a number, as the next
  int most = 1024;
  bool mayBeEmpty = false;  ///< a text that may be given as ""
  std::array<const char*, 3> excludes = {};
  const char* needs = nullptr;
  std::vector<std::string> (*words)() = nullptr;  ///< values to offer
  const char* usual = nullptr;                    ///< the value where none is given
  /// Among the options that say which plan it is; 0: after those of the partition.
  int place = 0;
};

/// An option of a plan.
struct ScheduleOption {
  std::variant<std::string ScheduleOptions::*, std::optional<int> ScheduleOptions::*,
               bool ScheduleOptions::*>
      field;
  OptionFace planned;  ///< in `pipe-trace plan` and `pipe-run rehearse`
  OptionFace trained;  ///< in trainings, and with '_' for '-' in their configuration files
};

/// The schedules that have a backward.
std::vector<std::string> trainableSchedules();

/// All options of a plan, in the order of the help. From here they come to the command lines of
/// `pipe-trace plan`, `pipe-run rehearse` and the samples, to completions and manual pages, and to
/// configuration files.
inline constexpr auto kScheduleOptions = std::to_array<ScheduleOption>({
    {.field = &ScheduleOptions::scheduleFile,
     .planned = {.names = "--schedule-file",
                 .value = "FILE.csv",
                 .help = "Plan from a file: one row a rank, cells like 0F3, 1B2; - is standard "
                         "input"},
     .trained = {.names = "--schedule-file",
                 .help = "a plan as CSV, a row per rank, instead of a schedule's name",
                 .mayBeEmpty = true,
                 .excludes = {"--schedule"},
                 .place = 2}},
    {.field = &ScheduleOptions::schedule,
     .planned = {.names = "--schedule",
                 .value = "NAME",
                 .help = "Schedule to build, in any case, also by other projects' names; see "
                         "pipe-trace plan --list",
                 .excludes = {"--schedule-file"},
                 .words = scheduleNames},
     .trained = {.names = "--schedule",
                 .words = trainableSchedules,
                 .usual = schedules::kDefault,
                 .place = 1}},
    {.field = &ScheduleOptions::ranks,
     .planned = {.names = "--ranks,--stages",
                 .value = "P",
                 .help = "Pipeline ranks; with --schedule-file: that it should have",
                 .most = 4096},
     .trained = {.names = "--stages",
                 .help = "pipeline stages, one per rank",
                 .excludes = {"--schedule-file"},
                 .usual = "4",
                 .place = 3}},
    {.field = &ScheduleOptions::microBatches,
     .planned = {.names = "--micro-batches",
                 .value = "M",
                 .help = "Micro-batches of a step; with --schedule-file: that it should have",
                 .most = 1'000'000},
     .trained = {.names = "--micro-batches",
                 .help = "micro-batches per step",
                 .most = 1 << 20,
                 .excludes = {"--schedule-file"},
                 .usual = "8"}},
    {.field = &ScheduleOptions::chunks,
     .planned = {.names = "--chunks",
                 .value = "V",
                 .help = "Virtual stages per rank (default: what the schedule usually has)",
                 .excludes = {"--schedule-file"},
                 .needs = "--schedule"},
     .trained = {.names = "--chunks",
                 .help = "parts of the model per stage, for interleaved schedules (0: the usual "
                         "number)",
                 .least = 0,
                 .excludes = {"--schedule-file"},
                 .usual = "0",
                 .place = 6}},
    {.field = &ScheduleOptions::stageRanks,
     .planned = {.names = "--stage-ranks",
                 .value = "MAP",
                 .help = "The ranks of each stage, as 0,1/2, in place of --ranks; they take turns "
                         "at the micro-batches (@stage-ranks)",
                 .excludes = {"--schedule-file", "--ranks", "--chunks"},
                 .needs = "--schedule"},
     .trained = {.names = "--stage-ranks",
                 .value = "MAP",
                 .help = "the ranks of each stage, which take turns at the micro-batches, in place "
                         "of --stages: 0,1/2 has stage 0 on ranks 0 and 1 (@stage-ranks)",
                 .excludes = {"--schedule-file", "--stages"},
                 .place = 4}},
    {.field = &ScheduleOptions::stageDepths,
     .planned = {.names = "--stage-depths",
                 .value = "LIST",
                 .help = "With how many forwards the ranks of each stage warm up, as 2,1 "
                         "(@depths; default: the ranks of the stages after it, divided by its own)",
                 .excludes = {"--schedule-file", "--chunks"},
                 .needs = "--schedule"},
     .trained = {.names = "--stage-depths",
                 .value = "LIST",
                 .help = "with how many forwards the ranks of each stage warm up, as 2,1 "
                         "(@depths); default: the ranks of the stages after it, divided by its own",
                 .excludes = {"--schedule-file"},
                 .place = 5}},
    {.field = &ScheduleOptions::forwardOnly,
     .planned = {.names = "--forward-only",
                 .help = "Only the plan's forwards, in their order, as an evaluation runs them"},
     .trained = {}},  // trainings have a flag of that name, which evaluates
    {.field = &ScheduleOptions::credits,
     .planned = {.names = "--credits",
                 .value = "N",
                 .help = "Forward messages that a rank may have sent to another without their use "
                         "being over; then it waits (default: the plan's own; 0: any number)",
                 .least = 0,
                 .most = 1'000'000},
     .trained = {}},
    {.field = &ScheduleOptions::replicas,
     .planned = {.names = "--dp",
                 .value = "N",
                 .help = "Replicas of the pipeline, for data parallelism: N times as many ranks; "
                         "--ranks and --micro-batches are those of one"},
     .trained = {.names = "--dp",
                 .help = "replicas of the pipeline, each with data of its own; --stages and "
                         "--micro-batches are those of one",
                 .usual = "1"}},
    {.field = &ScheduleOptions::buckets,
     .planned = {.names = "--buckets",
                 .value = "N",
                 .help = "Parts into which the gradients of a stage on several ranks are cut, each "
                         "with a reduction of its own (default: 1)"},
     .trained = {.names = "--buckets",
                 .help = "parts into which the gradients of a stage on several ranks are cut; one "
                         "is added up while others travel",
                 .usual = "1"}},
    {.field = &ScheduleOptions::lastBackwardParts,
     .planned = {.names = "--last-backward-parts",
                 .value = "N",
                 .help = "Jobs into which the last backward of each stage is cut, so that the "
                         "gradients of one part are reduced under the next (default: 1)"},
     .trained = {.names = "--last-backward-parts",
                 .help = "jobs into which the last backward of each stage is cut, at most one a "
                         "block; the gradients of one are added up under the next",
                 .usual = "1"}},
});

// Two rows may not set one field.
static_assert([] {
  for (std::size_t i = 0; i < kScheduleOptions.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (kScheduleOptions[i].field == kScheduleOptions[j].field) return false;
    }
  }
  return true;
}());

/// The help of a face that has the option.
std::string helpOf(const OptionFace& face);

/// The keys of configuration files that mean the option: "stages", "ranks". None where trainings do
/// not have it.
std::vector<std::string> keysOf(const ScheduleOption& option);

/// Whether its value is a file.
bool takesFile(const ScheduleOption& option);

/// Sets the option's field. Throws Error for a text that is none of its values: "it is no number
/// from 1 on", "it is empty". Numbers have no upper limit here.
void setFromText(ScheduleOptions& options, const ScheduleOption& option, std::string_view text);

/// Gives fields that were not given the values that trainings usually have.
void takeUsual(ScheduleOptions& options);

/// Throws Error for what is neither true nor false: "True", "0".
bool truthIn(std::string_view text);

}  // namespace pipetrace
