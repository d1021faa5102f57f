#include "apps/pipe_trace/plan/options.h"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "apps/cli/checks.h"
#include "apps/cli/command_app.h"
#include "apps/cli/profile_format.h"
#include "apps/cli/schedule_options.h"
#include "apps/cli/shared_options.h"
#include "chart/text/text_chart.h"

namespace pipetrace {
namespace {

constexpr const char* kMemoryGroup = "Memory (10^9 bytes; without it activations are counted)";

class PlanFlags {
 public:
  PlanFlags(CommandApp& app, PlanOptions& options) : app_(app), to_(options) {}

  void add() {
    addSchedule();
    costsFile_ = addPlanTimeOptions(app_, to_.costs);
    addFaultOptions(app_, to_.faults);
    addMemory();
    addPartition();
    addOutputs();
    addCheck();
    addComparison();
  }

 private:
  template <typename T>
  CLI::Option* value(const char* group, const char* name, T& to, const char* type,
                     const std::string& what) {
    return app_.add_option(name, to, what)->type_name(type)->group(group);
  }

  void addSchedule() {
    constexpr const char* kGroup = "Schedule";
    constexpr int kMostRanks = 4096;
    addScheduleOptions(app_, to_, kMostRanks, kGroup);
    addMessageOptions(app_, to_.messages, kGroup);
    app_.add_flag("--list", to_.list, "List the schedules, with their other names, and end")
        ->group(kGroup)
        ->excludes("--schedule-file")
        ->excludes("--schedule");
    // Both --schedule and --compare go with it; requireChunksOfSchedule() looks.
    app_.get_option("--chunks")->remove_needs(app_.get_option("--schedule"));
  }

  void addMemory() {
    constexpr const char* kGroup = kMemoryGroup;
    const auto memory = [&](const char* name, std::string& to, const char* what) {
      return value(kGroup, name, to, "GB", what)->excludes(costsFile_);
    };
    CLI::Option* const activation =
        memory("--activation-gb", to_.costs.activationGb,
               "What a forward of a virtual stage takes until its backward is done");
    memory("--freed-by-input-gb", to_.costs.freedByInputGb,
           "The part of it that the input half gives back already (default: 0)")
        ->needs(activation);
    memory("--recomputed-gb", to_.costs.recomputedGb,
           "The part of it that a forward gives back at its end where it is recomputed (default: "
           "0)")
        ->needs(activation);
    memory("--working-gb", to_.costs.workingGb,
           "What a backward has beside that while it runs (default: 0)")
        ->needs(activation);
    memory("--weights-gb", to_.costs.weightsGb,
           "One version of a virtual stage's weights, with all that goes with it (default: 0)")
        ->needs(activation);
    value(kGroup, "--limit", to_.limitGb, "GB",
          "Most that a rank may hold: auto and --blocks plan within it, other plans are checked "
          "against it");
  }

  void addPartition() {
    constexpr const char* kGroup = "Partition";
    blocks_ = value(kGroup, "--blocks", to_.blocks, "FILE.json",
                    "Costs of a model's blocks (docs/schedules.md): finds which blocks each stage "
                    "has, and how many run again, so that the step is shortest within --limit; - "
                    "is standard input")
                  ->check(notEmpty());
    for (CLI::Option* const option : app_.get_options()) {
      const std::string group = option->get_group();
      const bool givesCosts =
          group == kTimesGroup || (group == kMemoryGroup && option->get_name() != "--limit");
      if (givesCosts) blocks_->excludes(option);
    }
    app_.writes(value(kGroup, "--partition-out", to_.partitionOut, "FILE.json",
                      "Write the partition as a file that trainings read; - is standard output")
                    ->check(notEmpty())
                    ->needs(blocks_));
  }

  void addOutputs() {
    constexpr const char* kGroup = "Output";
    output_ =
        value(kGroup, "-o,--output", to_.outputs, "OUT",
              "Simulated run to write: " + profileFormatList() +
                  ", or DIR/ (workerlog.<rank>, which pipe-trace and pipe-view read); may be given "
                  "several times")
            ->allow_extra_args(false);
    app_.writes(output_);
    addThemeOptions(app_, output_, to_.theme, to_.isDark);
    addShared(app_, shared::kStepCount, to_.steps,
              " (default: 1); every plan drains at the end of a step, also one that is "
              "asynchronous: more micro-batches make its run longer")
        ->group(kGroup)
        ->check(range(1, 100'000));
    csv_ = value(kGroup, "--csv", to_.csv, "FILE",
                 "Write the plan itself as a schedule file, a row a rank; - is standard output")
               ->check(notEmpty());
    app_.writes(csv_);
    value(kGroup, "--for", to_.csvFor, "torch",
          "Write it as that program loads it: torch.distributed.pipelining, with --transfers")
        ->needs(csv_);
    costsOut_ = value(kGroup, "--costs-out", to_.costsOut, "FILE.json",
                      "Write the costs as a costs file, to go on from")
                    ->check(notEmpty());
    app_.writes(costsOut_);
    json_ = app_.add_flag("--json", to_.json, "Print all figures as JSON instead of the chart")
                ->group(kGroup);
    jobList_ = app_.add_flag("--job-list", to_.jobList,
                             "Print the job list that PaddlePaddle's executor runs on each rank")
                   ->group(kGroup)
                   ->excludes(json_);
    const auto parts = [&](const char* name, int& to, const char* what) {
      value(kGroup, name, to, "N", what)->check(range(1, 1024))->needs(jobList_);
    };
    parts("--backward-parts", to_.jobs.backwardParts,
          "Job list: jobs that a backward is split into where it overlaps the forward after it");
    parts("--forward-parts", to_.jobs.forwardParts, "Job list: jobs of that forward");
    app_.add_flag("--transfer-jobs", to_.jobs.transfers,
                  "Job list: recv_forward and send_backward are jobs, as in PaddlePaddle 3")
        ->group(kGroup)
        ->needs(jobList_);
    addShared(app_, shared::kWidth, to_.width)
        ->group(kGroup)
        ->check(range(kMinTextChartWidth, kMaxTextChartWidth));
  }

  void addCheck() {
    constexpr const char* kGroup = "Check";
    CLI::Option* const check =
        app_.add_flag("--check", to_.check,
                      "Print all that is wrong with the plan, a line each, instead of drawing it; "
                      "exit with 1 if there is anything")
            ->group(kGroup)
            ->excludes(jobList_)
            ->excludes(output_)
            ->excludes(csv_)
            ->excludes(costsOut_)
            ->excludes(blocks_);
    CLI::Option* const buffers =
        value(
            kGroup, "--buffers", to_.buffers, "HOW",
            "Messages that wait for their receive between two ranks: unbounded (default), blocking "
            "(a send ends when its receive has begun), or how many; not with --comm-streams")
            ->needs(check)
            ->excludes("--comm-streams");
    app_.offer(buffers, {"unbounded", "blocking"});
    value(kGroup, "--most-versions", to_.mostVersions, "N",
          "Versions of its weights that a stage of an asynchronous plan may keep")
        ->check(range(1, 1'000'000));
    value(kGroup, "--most-distance", to_.mostDistance, "N",
          "Updates by which a gradient of it may be out of date")
        ->check(range(0, 1'000'000));
  }

  /// Costs, sizes and --json are all that it takes.
  void addComparison() {
    constexpr const char* kGroup = "Comparison";
    CLI::Option* const compare =
        app_.add_flag("--compare", to_.compare,
                      "Every schedule with 1 to 4 chunks a rank (--chunks V: 1 to V), the shortest "
                      "step first. Costs are those of a rank's whole share of the model, which "
                      "are split over its chunks")
            ->group(kGroup);
    const std::vector<std::string> together = {"--help",   "--ranks",        "--micro-batches",
                                               "--chunks", "--comm-streams", "--json",
                                               "--width",  "--compare"};
    CLI::Option* const activations =
        value(
            kGroup, "--limit-activations", to_.limitActivations, "N",
            "Most activations that a rank may hold, with --compare: of its whole share; that of a "
            "chunk is as much less")
            ->needs(compare);
    for (CLI::Option* const option : app_.get_options()) {
      const std::string group = option->get_group();
      if (group == kMemoryGroup) activations->excludes(option);
      if (group == kTimesGroup || group == kMemoryGroup || option == activations) continue;
      if (std::find(together.begin(), together.end(), option->get_name()) == together.end()) {
        compare->excludes(option);
      }
    }
  }

  CommandApp& app_;
  PlanOptions& to_;
  CLI::Option* costsFile_ = nullptr;
  CLI::Option* blocks_ = nullptr;
  CLI::Option* output_ = nullptr;
  CLI::Option* csv_ = nullptr;
  CLI::Option* costsOut_ = nullptr;
  CLI::Option* json_ = nullptr;
  CLI::Option* jobList_ = nullptr;
};

}  // namespace

void addPlanOptions(CommandApp& app, PlanOptions& options) {
  app.description(
      "Plans a step: builds a schedule or reads one, simulates it, and prints it as a chart in\n"
      "characters (F3 the forward of micro-batch 3, - idle time) with its figures.\n"
      "Without any times a forward takes 1 ms, a backward 2 ms, each half of it 1 ms, a message "
      "no\n"
      "time. This gives the pictures of the papers.\n\n"
      "  pipe-trace plan --schedule NAME --ranks P --micro-batches M [OPTIONS]\n"
      "  pipe-trace plan --schedule-file FILE.csv [OPTIONS]\n"
      "  pipe-trace plan --costs-from RUN [OPTIONS]\n"
      "  pipe-trace plan --compare --ranks P --micro-batches M [OPTIONS]\n"
      "  pipe-trace plan --list\n");
  app.describeEnd(
      {{"0", "done"},
       {"1", "done, with --check and something wrong with the plan"},
       {"2", "could not, also, without --check, for a plan that cannot run"}},
      {"pipe-trace plan --schedule 1F1B --ranks 4 --micro-batches 8",
       "pipe-trace plan --schedule ZB-H1 --ranks 8 --micro-batches 24 --forward-ms 18.5 \\\n"
       "      --backward-input-ms 18.1 --backward-weight-ms 9.3 --transfer-ms 0.6 -o plan.svg",
       "pipe-trace plan --schedule auto --ranks 4 --micro-batches 8 --activation-gb 1 --limit 4",
       "pipe-trace plan --blocks blocks.json --schedule 1F1B --ranks 4 --micro-batches 8 --limit 2",
       "pipe-trace plan --compare --ranks 8 --micro-batches 32 --limit-activations 8",
       "pipe-trace plan --schedule-file mine.csv --check --buffers blocking",
       "pipe-trace plan --schedule ZBV --ranks 4 --micro-batches 8 --transfers in-time \\\n"
       "      --csv zbv.csv --for torch",
       "pipe-trace plan --schedule ForwardOnly --ranks 4 --micro-batches 8 --credits 1",
       "pipe-trace plan --schedule 1F1B --ranks 4 --micro-batches 8 --costs-from logs/ -o plan/"});
  PlanFlags(app, options).add();
  adviseOnFormats(app);
}

}  // namespace pipetrace
