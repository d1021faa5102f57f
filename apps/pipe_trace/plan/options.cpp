#include "apps/pipe_trace/plan/options.h"

#include <CLI/CLI.hpp>

#include "apps/cli/command_line.h"
#include "apps/cli/profile_format.h"
#include "chart/text/text_chart.h"

namespace pipetrace {
namespace {

const CLI::Validator kNotEmpty(
    [](const std::string& text) { return text.empty() ? "it is empty" : ""; }, "");

CLI::Validator range(int least, int most) { return CLI::Range(least, most).description(""); }

class PlanFlags {
 public:
  PlanFlags(CLI::App& app, PlanOptions& options) : app_(app), to_(options) {}

  void add() {
    addSchedule();
    addCosts();
    addMemory();
    addOutputs();
    addCheck();
  }

 private:
  template <typename T>
  CLI::Option* value(const char* group, const char* name, T& to, const char* type,
                     const std::string& what) {
    return app_.add_option(name, to, what)->type_name(type)->group(group);
  }

  void addSchedule() {
    constexpr const char* kGroup = "Schedule";
    file_ = value(kGroup, "--schedule-file", to_.scheduleFile, "FILE.csv",
                  "Plan from a file: one row a rank, cells like 0F3, 1B2; - is standard input")
                ->check(kNotEmpty);
    schedule_ = value(kGroup, "--schedule", to_.schedule, "NAME",
                      "Schedule to build, in any case, also by other projects' names; see --list")
                    ->check(kNotEmpty)
                    ->excludes(file_);
    const auto size = [&](const char* name, std::optional<int>& to, const char* type, int most,
                          const char* what) {
      return value(kGroup, name, to, type, what)->check(range(1, most));
    };
    size("--stages", to_.ranks, "P", 4096,
         "Pipeline ranks (stages of the pipeline); with --schedule-file: that it should have");
    size("--micro-batches", to_.microBatches, "M", 1'000'000,
         "Micro-batches of a step; with --schedule-file: that it should have");
    size("--chunks", to_.chunks, "V", 1024,
         "Virtual stages per rank (default: what the schedule usually has)")
        ->excludes(file_)
        ->needs(schedule_);
    value(kGroup, "--transfers", to_.transferCredits, "CREDITS",
          "Write the sends and receives into the plan; receives are posted up to so many "
          "messages early (0: right before they are needed)")
        ->check(range(0, 1'000'000));
    app_.add_flag("--list", to_.list, "List the schedules, with their other names, and end")
        ->group(kGroup)
        ->excludes(file_)
        ->excludes(schedule_);
  }

  void addCosts() {
    constexpr const char* kGroup =
        "Times (per virtual stage: one number for all of them, or one for each as 10,12,11,10)";
    CLI::Option* const costsFile =
        value(kGroup, "--costs", to_.costs.file, "FILE.json",
              "All costs from a file (docs/schedules.md); - is standard input")
            ->check(kNotEmpty);
    CLI::Option* const measured =
        value(kGroup, "--costs-from", to_.costs.measured, "INPUT",
              "Times from the logs or a profile of a run: medians of its jobs")
            ->allow_extra_args(false)
            ->excludes(costsFile);
    const auto flag = [&](const char* group, const char* name, auto& to, const char* type,
                          const char* what) {
      return value(group, name, to, type, what)->excludes(costsFile);
    };
    const auto time = [&](const char* name, std::string& to, const char* what) {
      flag(kGroup, name, to, "MS", what)->excludes(measured);
    };
    time("--forward-ms", to_.costs.forwardMs, "A forward (default: 1)");
    time("--backward-ms", to_.costs.backwardMs,
         "A whole backward (default: its halves, or twice the forward)");
    time("--backward-input-ms", to_.costs.backwardInputMs,
         "The input half of a backward, where a plan splits it (default: half of it)");
    time("--backward-weight-ms", to_.costs.backwardWeightMs, "The weight half (default: the rest)");
    time("--fused-ms", to_.costs.fusedMs,
         "A forward and a backward that run as one job (default: one after the other)");
    time("--transfer-ms", to_.costs.transferMs, "A message between two ranks (default: 0)");
    time("--lr-ms", to_.costs.lrMs, "lr, which opens each step (default: 0)");
    time("--optimizer-ms", to_.costs.optimizerMs,
         "The optimizer, which closes each step (default: 0)");
    CLI::Option* const message = flag(kGroup, "--message-mb", to_.costs.messageMb, "MB",
                                      "Length of a message, in 10^6 bytes; with --bandwidth-gbs");
    flag(kGroup, "--bandwidth-gbs", to_.costs.bandwidthGbs, "GB/S",
         "Links carry message after message, 10^9 bytes a second and direction")
        ->needs(message);
    memoryExcludes_ = costsFile;
  }

  void addMemory() {
    constexpr const char* kGroup = "Memory (10^9 bytes; without it activations are counted)";
    const auto memory = [&](const char* name, std::string& to, const char* what) {
      return value(kGroup, name, to, "GB", what)->excludes(memoryExcludes_);
    };
    CLI::Option* const activation =
        memory("--activation-gb", to_.costs.activationGb,
               "What a forward of a virtual stage takes until its backward is done");
    memory("--freed-by-input-gb", to_.costs.freedByInputGb,
           "Of it, what the input half gives back already (default: 0)")
        ->needs(activation);
    memory("--weights-gb", to_.costs.weightsGb,
           "One version of a virtual stage's weights, with all that goes with it (default: 0)")
        ->needs(activation);
    value(kGroup, "--limit", to_.limitGb, "GB",
          "What a rank may hold at most: auto plans within it, others are held against it");
  }

  void addOutputs() {
    constexpr const char* kGroup = "Output";
    output_ =
        value(kGroup, "-o,--output", to_.outputs, "OUT",
              "Simulated run to write: " + profileFormatList() +
                  ", or DIR/ (workerlog.<rank>, which pipe-trace and pipe-view read); may be given "
                  "several times")
            ->allow_extra_args(false);
    value(
        kGroup, "--steps", to_.steps, "N",
        "Steps to simulate (default: 1); every plan drains at the end of a step, also one that is "
        "asynchronous: more micro-batches make its run longer")
        ->check(range(1, 100'000));
    csv_ = value(kGroup, "--csv", to_.csv, "FILE",
                 "Write the plan itself as a schedule file, a row a rank; - is standard output")
               ->check(kNotEmpty);
    costsOut_ = value(kGroup, "--costs-out", to_.costsOut, "FILE.json",
                      "Write the costs as a costs file, to go on from")
                    ->check(kNotEmpty);
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
    value(kGroup, "--width", to_.width, "C",
          "Columns of the chart in characters (default: those of the terminal, else COLUMNS, else "
          "100)")
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
            ->excludes(costsOut_);
    value(kGroup, "--buffers", to_.buffers, "HOW",
          "Messages that wait for their receive between two ranks: unbounded (default), blocking "
          "(a send ends when its receive has begun), or how many")
        ->needs(check);
    value(kGroup, "--most-versions", to_.mostVersions, "N",
          "Versions of its weights that a stage of an asynchronous plan may keep")
        ->check(range(1, 1'000'000));
    value(kGroup, "--most-distance", to_.mostDistance, "N",
          "Updates by which a gradient of it may be out of date")
        ->check(range(0, 1'000'000));
  }

  CLI::App& app_;
  PlanOptions& to_;
  CLI::Option* file_ = nullptr;
  CLI::Option* schedule_ = nullptr;
  CLI::Option* memoryExcludes_ = nullptr;
  CLI::Option* output_ = nullptr;
  CLI::Option* csv_ = nullptr;
  CLI::Option* costsOut_ = nullptr;
  CLI::Option* json_ = nullptr;
  CLI::Option* jobList_ = nullptr;
};

}  // namespace

void addPlanOptions(CLI::App& app, PlanOptions& options) {
  app.description(
      "Plans a step: builds a schedule or reads one, simulates it, and prints it as a chart in\n"
      "characters (F3 the forward of micro-batch 3, - idle time) with its figures.\n"
      "Without any times a forward takes 1 ms, a backward 2 ms, each half of one 1 ms, messages\n"
      "none, which gives the pictures of the papers.\n\n"
      "  pipe-trace plan --schedule NAME --stages P --micro-batches M [OPTIONS]\n"
      "  pipe-trace plan --schedule-file FILE.csv [OPTIONS]\n"
      "  pipe-trace plan --list\n");
  app.footer(
      "Exit codes: 0 done; 1 done, with --check and something wrong with the plan; 2 could not,\n"
      "also, without --check, for a plan that cannot run.\n"
      "Examples:\n"
      "  pipe-trace plan --schedule 1F1B --stages 4 --micro-batches 8\n"
      "  pipe-trace plan --schedule ZB-H1 --stages 8 --micro-batches 24 --forward-ms 18.5 \\\n"
      "      --backward-input-ms 18.1 --backward-weight-ms 9.3 --transfer-ms 0.6 -o plan.svg\n"
      "  pipe-trace plan --schedule auto --stages 4 --micro-batches 8 --activation-gb 1 --limit 4\n"
      "  pipe-trace plan --schedule-file mine.csv --check --buffers blocking\n"
      "  pipe-trace plan --schedule 1F1B --stages 4 --micro-batches 8 --costs-from logs/ -o plan/");
  setUp(app);
  PlanFlags(app, options).add();
}

}  // namespace pipetrace
