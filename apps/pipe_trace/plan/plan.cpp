#include "apps/pipe_trace/plan/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/present/comparison_report.h"
#include "analysis/present/plan_report.h"
#include "analysis/run/clocks/wrong_clocks.h"
#include "analysis/run/costs/costs_file.h"
#include "analysis/run/costs/given_costs.h"
#include "analysis/run/run.h"
#include "analysis/run_summary.h"
#include "apps/cli/command_app.h"
#include "apps/cli/costs.h"
#include "apps/cli/print.h"
#include "apps/cli/profile_format.h"
#include "apps/pipe_trace/outputs/picture.h"
#include "apps/pipe_trace/plan/options.h"
#include "chart/colors/theme.h"
#include "chart/text/text_chart.h"
#include "ingest/output_files.h"
#include "parser/find_logs.h"
#include "schedule/build_schedule.h"
#include "schedule/check/check.h"
#include "schedule/compare/compare_plans.h"
#include "schedule/compare/split_costs.h"
#include "schedule/file/paddle_job_list.h"
#include "schedule/file/schedule_file.h"
#include "schedule/file/torch_csv.h"
#include "schedule/partition/best_partition.h"
#include "schedule/partition/partition_file.h"
#include "schedule/simulate/simulate.h"
#include "schedule/with_recompute.h"
#include "trace/error.h"
#include "trace/files/output_file.h"
#include "trace/files/output_set.h"
#include "trace/log/log_format.h"
#include "trace/log/rank_info_fields.h"
#include "trace/log/write_job_logs.h"
#include "trace/text/fit_to_print.h"
#include "trace/text/number_text.h"
#include "trace/timeline.h"

namespace pipetrace {
namespace {

namespace fs = std::filesystem;

constexpr int kUsualMostChunks = 4;

/// Where the texts of the command go: to its streams, or into an answer.
struct PlanTexts {
  PlanAnswer* answer = nullptr;

  void print(const std::string& text) const {
    if (answer != nullptr) {
      answer->text += text;
    } else {
      writeWholeFile("-", text);
    }
  }
  void remark(const std::string& text) const {
    if (answer != nullptr) {
      answer->remarks.push_back(text);
    } else {
      printError("pipe-trace plan: " + text);
    }
  }
};

/// How many virtual stages the costs are of, a rank; those that are no run's are of whole shares.
int chunksOfCosts(const GivenCosts& given, const std::optional<RunPlan>& run, int ranks,
                  const std::string& input) {
  if (!run) return 1;
  if (!run->ranksOfStage.empty()) {
    throw Error(input +
                ": ranks take turns at the micro-batches of a stage, so a rank has no share of the "
                "model to compare schedules with");
  }
  const int stages = static_cast<int>(given.forward.size());
  if (stages % ranks == 0) return stages / ranks;
  throw Error(fmt::format("{} is a run of {} stages, which {} ranks cannot share evenly", input,
                          stages, ranks));
}

/// The run that was measured, where the plans are of its size, or where its costs are those of one
/// replica.
std::optional<ComparedRun> comparedRun(const std::optional<RunPlan>& run,
                                       const RunForComparison& measured, const CompareInput& input,
                                       int chunks) {
  const std::optional<SlowestReplica>& slowest = measured.slowest;
  const bool isOfSize = run && run->exists() && run->step > 0 && run->ranks == input.ranks &&
                        run->microBatches == input.microBatches;
  if (!isOfSize && !slowest && measured.launch == 0) return std::nullopt;
  ComparedRun compared{.chunks = chunks, .launch = measured.launch};
  if (slowest) {
    compared.replica = slowest->replica;
    compared.replicas = slowest->replicas;
  }
  if (!isOfSize) return compared;
  compared.step = run->step;
  if (run->schedule.isExact) compared.schedule = run->schedule.names.front();
  return compared;
}

struct Question {
  CompareInput input;
  std::optional<ComparedRun> run;
};

Question questionOf(const PlanOptions& options) {
  std::optional<RunPlan> run;
  RunForComparison measured;
  const GivenCosts given = readCosts(options.costs, &run, &measured);
  if (!given.jobs.empty()) {
    throw Error(
        "jobs_ms gives times to single jobs of one plan, so plans cannot be compared with it");
  }
  if (run && given.backward.empty() && given.backwardInput.empty()) {
    throw Error(options.costs.measured.front() +
                " has no backward passes, so nobody knows how long a training's would take; "
                "--backward-ms says so");
  }
  const bool isShown = run && run->exists();
  CompareInput input;
  input.ranks = options.ranks.value_or(isShown ? run->ranks : 0);
  input.microBatches = options.microBatches.value_or(isShown ? run->microBatches : 0);
  if (input.ranks == 0 || input.microBatches == 0) {
    const std::string why = run ? ", as the run does not show them: " + run->problem : "";
    throw Error("--compare needs --ranks P and --micro-batches M, or --costs-from RUN" + why);
  }
  input.mostChunks = options.chunks.value_or(kUsualMostChunks);
  const std::string source = run ? options.costs.measured.front() : "";
  const int chunks = chunksOfCosts(given, run, input.ranks, source);
  input.shares = joinChunks(completeCosts(given, input.ranks * chunks), chunks);
  if (isShown && run->ranks == input.ranks) {
    input.shares.faults.links = given.links;
    input.slowRanks = measured.slowRanks;
  }
  input.hasMemory = given.hasMemory();
  input.memoryLimit = readLimit(options.limitGb, given);
  input.activationLimit = readActivationLimit(options.limitActivations, given);
  input.commStreams = options.messages.lines();
  input.threads = 0;
  return {input, comparedRun(run, measured, input, chunks)};
}

/// `pipe-trace plan --compare`: prints all schedules beside each other. Returns the exit code.
/// Throws Error for options that leave the size open, and for costs that cannot be read.
int runComparison(const PlanOptions& options, const PlanTexts& texts) {
  const auto [input, run] = questionOf(options);
  const ComparedPlans compared = comparePlans(input);
  const int width = std::min(options.width.value_or(lineColumns()), kWidestProse);
  texts.print(options.json ? comparisonJson(input, compared, run)
                           : fitToPrint(comparisonText(input, compared, width, run)));
  return 0;
}

/// The files and the text that `pipe-trace plan` gives: all appear, or none. Collect them with the
/// add functions, then commit.
class PlanOutputs {
 public:
  /// Pictures have the colours of `theme`, which must outlive this. Throws Error for an ending that
  /// is not supported, and for an output that is named twice.
  PlanOutputs(const std::vector<std::string>& outputs, const Theme& theme, PlanTexts texts);

  /// Whether an output is a folder for job logs.
  static bool isFolder(const std::string& output);

  /// `timeline` must have its bubbles; `caption` stands under the title of a picture. Job logs and
  /// profiles show it `asLogged`, in the clocks of its hosts. Throws Error for a folder that holds
  /// the logs of a real run.
  void addRun(const Timeline& timeline, const Timeline& asLogged, const std::string& caption);
  /// `path` may be - for standard output.
  void addText(const std::string& path, const std::string& text);
  /// A line "wrote NAME" for each file that was added.
  const std::string& lines() const { return lines_; }
  /// Logs of an earlier plan that this one does not replace are removed.
  void commit() { files_.commit(); }

 private:
  struct Target {
    std::string path;
    std::optional<ProfileFormat> format;  ///< none: a folder for job logs
  };

  void addLogs(const std::string& folder, const Timeline& timeline);

  const Theme& theme_;
  PlanTexts texts_;
  std::vector<Target> targets_;
  OutputSet files_;
  std::string lines_;
};

/// Whether a log is of a plan, which may be replaced; a log of a run may not. Its first line says
/// it.
bool isOfAPlan(const fs::path& log) {
  std::ifstream in(log, std::ios::binary);
  std::string line;
  std::getline(in, line);
  return line.find(log_format::kMeta) != std::string::npos &&
         line.find(fmt::format("{} = simulated", rank_info_keys::kClock)) != std::string::npos;
}

PlanOutputs::PlanOutputs(const std::vector<std::string>& outputs, const Theme& theme,
                         PlanTexts texts)
    : theme_(theme), texts_(texts) {
  OutputNames names;
  for (const std::string& path : outputs) {
    const auto format = isFolder(path) ? std::nullopt : profileFormatOfFile(path);
    if (!isFolder(path) && !format) {
      throw Error(fmt::format(
          "cannot write {}: a plan is written as {} or DIR/ (job logs); --csv writes the schedule",
          path.empty() ? "\"\"" : path, profileFormatList()));
    }
    names.add(path);
    targets_.push_back({path, format});
  }
}

bool PlanOutputs::isFolder(const std::string& output) {
  std::error_code error;
  return output.ends_with('/') || fs::is_directory(output, error);
}

void PlanOutputs::addRun(const Timeline& timeline, const Timeline& asLogged,
                         const std::string& caption) {
  if (texts_.answer != nullptr && texts_.answer->isPicture) {
    texts_.print(pictureOf(timeline, {.caption = caption}, theme_));
  }
  for (const auto& [path, format] : targets_) {
    if (!format) {
      addLogs(path, asLogged);
      lines_ += fmt::format("wrote {}: logs of {} ranks\n", path, timeline.ranks.size());
    } else if (format == ProfileFormat::kSvg) {
      addText(path, pictureOf(timeline, {.caption = caption}, theme_));
    } else {
      const ProfileSummary written = writeProfile(asLogged, *format, {}, files_.add(path));
      lines_ += fmt::format("wrote {}: {}\n", path, summaryText(written));
    }
  }
}

void PlanOutputs::addText(const std::string& path, const std::string& text) {
  if (path == "-" && texts_.answer != nullptr) {
    texts_.print(text);
  } else {
    files_.add(path, text);
  }
  if (path != "-") lines_ += fmt::format("wrote {}\n", path);
}

void PlanOutputs::addLogs(const std::string& folder, const Timeline& timeline) {
  files_.makeFolder(folder);
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::optional<int> rank = rankOfLogName(entry.path().filename());
    if (!rank) continue;
    if (!isOfAPlan(entry.path())) {
      throw Error(fmt::format("{} holds the logs of a run ({}); choose another folder for the plan",
                              folder, entry.path().filename().string()));
    }
    // A log that a larger plan left would be read as part of this one.
    if (!timeline.ranks.contains(*rank)) files_.remove(entry.path());
  }
  for (const auto& [rank, info] : timeline.ranks) {
    files_.add(jobLogPath(folder, rank), jobLogText(timeline, rank));
  }
}

// Far above any plan that is of use; its jobs take some GB.
constexpr std::int64_t kMostActions = 50'000'000;

void requireSchedule(const PlanOptions& options) {
  if (options.schedule.empty()) {
    std::string advice =
        "give --schedule NAME, --schedule-file FILE.csv, --costs-from RUN, --compare or --list";
    std::error_code error;
    if (std::filesystem::exists("plan", error)) {
      advice += "; to read the file or folder called plan, write ./plan";
    }
    throw Error("no schedule to plan; " + advice);
  }
  options.requireSize();
}

Plan built(const PlanOptions& options, const GivenCosts& costs, std::int64_t limit) {
  requireSchedule(options);
  const PlanSize size = options.size();
  const ScheduleInfo& info = scheduleInfo(options.schedule);
  const std::int64_t jobsOfAPass = info.isForwardOnly ? 1 : info.splitsBackward ? 3 : 2;
  const auto isPositive = [](std::int64_t time) { return time > 0; };
  const bool recomputes = std::any_of(costs.recompute.begin(), costs.recompute.end(), isPositive);
  const std::int64_t actions = (jobsOfAPass + (recomputes ? 1 : 0)) * size.ranks *
                               size.microBatches * std::max(1, size.chunks);
  if (actions * options.steps > kMostActions) {
    throw Error(
        fmt::format("{} ranks, {} micro-batches, {} chunks and {} steps make over {} "
                    "million jobs; take fewer",
                    size.ranks, size.microBatches, std::max(1, size.chunks), options.steps,
                    kMostActions / 1'000'000));
  }
  AutoInput input{.memoryLimit = limit};
  if (info.dependsOnCosts) {
    input.costs =
        withRecomputeInBackwards(completeCosts(costs, size.ranks * std::max(1, size.chunks)));
  }
  return options.build(input);
}

std::string chunksText(const ScheduleInfo& info) {
  if (info.leastChunks == info.mostChunks) return std::to_string(info.leastChunks);
  if (info.mostChunks == std::numeric_limits<int>::max()) {
    return fmt::format("{} or more, usually {}", info.leastChunks, info.usualChunks);
  }
  return fmt::format("{} to {}, usually {}", info.leastChunks, info.mostChunks, info.usualChunks);
}

/// The plan that the options ask for, unchecked: built, or read from the schedule file. With
/// --check a file may have cells that cannot be read. The schedule `auto` keeps below `limit` bytes
/// (0: no limit). Throws Error for options that leave the plan open.
ReadablePlan planOf(const PlanOptions& options, const GivenCosts& costs, std::int64_t limit) {
  if (options.scheduleFile.empty()) return {built(options, costs, limit), {}};
  if (options.check) return readReadableFile(options.scheduleFile);
  return {readScheduleFile(options.scheduleFile), {}};
}

/// Throws Error for --chunks without a schedule to build.
void requireChunksOfSchedule(const PlanOptions& options) {
  if (options.chunks && options.schedule.empty() && !options.compare) {
    throw Error("--chunks goes with --schedule or --compare");
  }
}

/// Fills in what `run`, the run of --costs-from, says and the options leave open: ranks,
/// micro-batches, chunks, and where no schedule and no file is named the schedule. Throws Error
/// where the run follows no schedule.
void takeFromRun(PlanOptions& options, const RunPlan& run) {
  if (!options.scheduleFile.empty()) return;
  const std::string& input = options.costs.measured.front();
  const bool takesSchedule = options.schedule.empty();
  if (takesSchedule) {
    const auto refuse = [&](const std::string& why) {
      throw Error(input + " does not say what to plan: " + why + "; give --schedule NAME");
    };
    if (!run.exists()) refuse(run.problem);
    if (run.schedule.names.empty()) refuse("its jobs are in the order of no schedule");
    if (!run.schedule.isExact) {
      refuse("the order of its jobs is only " + toText(run.schedule) +
             (run.problem.empty() ? "" : ", as " + run.problem));
    }
    options.schedule = run.schedule.names.front();
    if (!run.ranksOfStage.empty()) options.stageRanks = toText(run.ranksOfStage);
    if (run.schedule.depths) options.stageDepths = toText(*run.schedule.depths);
  }
  if (!run.exists()) return;
  if (options.stageRanks.empty() && !options.ranks) options.ranks = run.ranks;
  if (!options.microBatches) options.microBatches = run.microBatches;
  const bool hasChunks = options.stageRanks.empty() && options.stageDepths.empty() &&
                         run.ranksOfStage.empty() && run.stages % run.ranks == 0;
  const ScheduleInfo& info = scheduleInfo(options.schedule);
  const int chunks = run.stages / run.ranks;
  const bool canHave = chunks >= info.leastChunks && chunks <= info.mostChunks;
  if (hasChunks && !options.chunks && canHave) options.chunks = chunks;
}

/// All schedules, for people: name, other names, number of chunks, description.
std::string scheduleList() {
  std::string text;
  for (const ScheduleInfo& info : knownSchedules()) {
    text += fmt::format("{:<22} {}\n", info.name, info.summary);
    text += fmt::format("{:<22} chunks per rank: {}", "", chunksText(info));
    if (info.splitsBackward) text += "; splits the backward";
    if (info.isAsynchronous) text += "; asynchronous";
    if (info.isForwardOnly) text += "; forwards only";
    text += "\n";
    if (!info.aliases.empty()) text += fmt::format("{:<22} also called: {}\n", "", info.aliases);
  }
  return text;
}

/// Throws Error for a plan whose partition cannot be searched: that of the schedule auto, which is
/// made for the costs of its stages.
void requireSearchable(const PlanOptions& options) {
  try {
    pipetrace::requireSearchable(options.schedule);
  } catch (const Error& error) {
    throw Error(
        fmt::format("--blocks: {}, and then auto with the costs of --costs-out", error.what()));
  }
}

/// The best partition of `blocks` for the plan. Throws Error where none fits into `limit` bytes,
/// with what is missing, and as bestPartition() does. `limitGb` is the option as it was typed.
BestPartition partitionWithin(const Plan& plan, const BlockTable& blocks, std::int64_t limit,
                              const std::string& limitGb) {
  BestPartition found = bestPartition(CheckedPlan(plan), blocks, {.memoryLimit = limit});
  if (found.best.excess == 0) return found;
  const auto& peaks = found.best.peakMemory;
  const auto fullest = std::max_element(peaks.begin(), peaks.end());
  throw Error(fmt::format("no partition {} --limit {}: the best takes {} on rank {}, {} too much",
                          found.isProven ? "fits into" : "was found that fits into", limitGb,
                          bytesText(*fullest), fullest - peaks.begin(),
                          bytesText(found.best.excess)));
}

/// The costs of its stages, without memory where that of the blocks is not known.
GivenCosts givenCostsOf(const BlockTable& blocks, const Plan& plan,
                        const BlockPartition& partition) {
  GivenCosts given = givenCosts(costsOf(blocks, plan, partition));
  if (blocks.hasMemory()) return given;
  for (GivenCosts::Values* const memory : {&given.activation, &given.freedByInput,
                                           &given.recomputed, &given.working, &given.weights}) {
    memory->clear();
  }
  return given;
}

// PaddlePaddle's converter takes a step that begins at 0 for none.
constexpr Nanoseconds kBegin = 1'000'000;

/// The plan to simulate, and the limits that it is checked against.
struct PlanInput {
  ReadablePlan source;  // not checked yet
  GivenCosts given;
  Costs costs;
  CheckOptions checks;
  std::optional<BestPartition> partition;  // of --blocks
};

int buffersOf(const std::string& text) {
  if (text.empty() || text == "unbounded") return kUnboundedBuffers;
  if (text == "blocking") return kBlocking;
  int messages = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, messages);
  if (error == std::errc() && rest == end && messages >= 1) return messages;
  throw Error("--buffers " + text +
              ": buffers are unbounded, blocking, or a number of messages, at least 1");
}

void requireOneResult(const PlanOptions& options) {
  std::string claims;
  int count = 0;
  const auto claim = [&](bool given, const char* option) {
    if (!given) return;
    claims += (count++ == 0 ? "" : " and ") + std::string(option);
  };
  claim(options.list, "--list");
  claim(options.json, "--json");
  claim(options.check && !options.json, "--check");
  claim(options.compare && !options.json, "--compare");
  claim(options.jobList, "--job-list");
  claim(options.csv == "-", "--csv -");
  claim(options.costsOut == "-", "--costs-out -");
  claim(options.partitionOut == "-", "--partition-out -");
  if (count > 1) throw Error(claims + " all want standard output; write one of them to a file");
  const int inputs = static_cast<int>(options.scheduleFile == "-") +
                     static_cast<int>(options.costs.file == "-") +
                     static_cast<int>(options.blocks == "-") +
                     static_cast<int>(std::count(options.costs.measured.begin(),
                                                 options.costs.measured.end(), "-"));
  if (inputs > 1) throw Error("standard input can be read once only; name a file");
}

void requireKnownReader(const std::string& program) {
  if (program.empty() || program == "torch") return;
  throw Error("--for " + program +
              ": it is torch; without --for the file is one that --schedule-file reads");
}

/// With the lines of its messages.
std::string titleOf(const Plan& plan, const PlanOptions& options) {
  const std::string lines = options.messages.linesText();
  return planTitle(plan) + (lines.empty() ? "" : ", " + lines);
}

std::string chartText(const Simulation& simulation, const PlanOptions& options,
                      const PlanReport& report) {
  const TextChartOptions chart{.width = options.width.value_or(lineColumns()),
                               .colors = showsColors()};
  // A chart needs an axis.
  const std::string drawn =
      simulation.length > 0 ? textChart(simulation.timeline, chart) : "all of it takes no time\n";
  return fitToPrint(titleOf(report.plan, options)) + "\n" + drawn + "\n" +
         fitToPrint(planText(report, std::min(chart.width, kWidestProse)));
}

std::string jobLists(const Plan& plan, const PaddleJobListOptions& options) {
  std::string text;
  for (int rank = 0; rank < plan.numRanks(); ++rank) {
    text += fmt::format("rank {}: {}\n", rank, toText(paddleJobList(plan, rank, options)));
  }
  return text;
}

/// Fills in what a run says that the options leave open.
PlanInput readInput(PlanOptions& options) {
  PlanInput input;
  const bool searches = !options.blocks.empty();
  BlockTable blocks;
  if (searches) blocks = readBlocks(options.blocks);
  std::optional<RunPlan> run;
  input.given = readCosts(options.costs, &run);
  if (run) takeFromRun(options, *run);
  const std::int64_t limit =
      searches ? readLimit(options.limitGb, blocks) : readLimit(options.limitGb, input.given);
  if (searches) requireSearchable(options);
  input.source = planOf(options, input.given, limit);
  Plan& plan = input.source.plan;
  options.change(plan);
  options.cutGradients(plan);
  if (searches) {
    input.partition = partitionWithin(plan, blocks, limit, options.limitGb);
    input.given = givenCostsOf(blocks, plan, input.partition->best.partition);
    plan = withRecompute(plan, input.partition->best.partition);
  }
  warnOfUnusedReductions(options.costs, plan);
  input.costs = completeCostsAndPlan(input.given, plan);
  input.checks.commStreams = options.messages.lines();
  // Without --transfers a plan that cannot run is checked as it is.
  if (!options.check || !options.messages.transfers.empty() || pipetrace::check(plan).empty()) {
    plan = options.messages.change(std::move(plan), input.costs);
  }
  input.checks.buffers = buffersOf(options.buffers);
  input.checks.memoryLimit = limit;
  input.checks.mostVersions = options.mostVersions;
  input.checks.mostDistance = options.mostDistance;
  input.checks.ranks = options.ranks.value_or(0);
  input.checks.microBatches = options.microBatches.value_or(0);
  return input;
}

int runCheck(const PlanInput& input, const PlanOptions& options, const PlanTexts& texts) {
  const Plan& plan = input.source.plan;
  const std::vector<Problem> problems = check(input.source, input.checks);
  if (options.json) {
    texts.print(planJson({.plan = plan,
                          .costs = &input.costs,
                          .problems = problems,
                          .faults = options.faults.all(),
                          .commStreams = options.messages.commStreams}));
  } else {
    std::string text;
    for (const Problem& problem : problems) {
      if (problem.line > 0) text += fmt::format("line {}:{}: ", problem.line, problem.column);
      text += toText(problem) + "\n";
    }
    if (problems.empty()) text = titleOf(plan, options) + ": nothing is wrong\n";
    texts.print(fitToPrint(text));
  }
  return problems.empty() ? 0 : kExitFindings;
}

/// Throws Error for a plan of another size: a file that has lost its last ranks is a plan, too.
void requireAskedSize(const CheckedPlan& plan, const CheckOptions& checks) {
  const std::vector<Problem> problems = checkSize(plan, checks);
  if (problems.empty()) return;
  throw Error("the plan " + plan->name +
              " has another size than the one asked for: " + toText(problems.front()));
}

/// Reports the limits that the plan exceeds. It is drawn all the same.
std::vector<Problem> limitFindings(const CheckedPlan& plan, const CheckOptions& checks,
                                   const PlanTexts& texts) {
  std::vector<Problem> problems = checkLimits(plan, checks);
  for (const Problem& problem : problems) texts.remark(toText(problem));
  return problems;
}

/// A plan for torch runs on NCCL, too.
void warnOfDeadlockInLine(const CheckedPlan& plan, const PlanTexts& texts) {
  const std::vector<Problem> stuck = checkLimits(plan, {.commStreams = CommStreams::kRank});
  if (stuck.empty()) return;
  texts.remark(
      "warning: where NCCL runs the messages of a rank one after the other, this plan deadlocks; "
      "with --transfers in-time it does not (" +
      toText(stuck.front()) + ")");
}

/// No host may log times before 0.
Nanoseconds beginFor(const std::vector<MadeUpHost>& hosts) {
  Nanoseconds begin = kBegin;
  for (const MadeUpHost& host : hosts) begin = std::max(begin, kBegin - host.skew.offset);
  return begin;
}

Simulation simulated(const CheckedPlan& plan, const Costs& costs, int steps, Nanoseconds begin,
                     CommStreams commStreams) {
  Simulation simulation = simulate(
      plan, costs, {.steps = steps, .begin = begin, .counters = true, .commStreams = commStreams});
  // Times in a report count from the start of the plan.
  for (CriticalPath::Link& link : simulation.criticalPath.links) {
    link.begin -= begin;
    link.end -= begin;
  }
  return simulation;
}

/// Throws Error where a file to write is of a run whose costs are read.
void requireOutsideRuns(const PlanOptions& options) {
  std::vector<std::string> files;
  for (const std::string& output : options.outputs) {
    if (!PlanOutputs::isFolder(output)) files.push_back(output);
  }
  for (const std::string& output : {options.csv, options.costsOut, options.partitionOut}) {
    if (!output.empty()) files.push_back(output);
  }
  checkOutputFiles(files, {.inputs = options.costs.measured});
}

int runPlan(PlanOptions options, PlanTexts texts) {
  requireOneResult(options);
  requireKnownReader(options.csvFor);
  if (options.list) {
    texts.print(fitToPrint(scheduleList()));
    return 0;
  }
  requireChunksOfSchedule(options);
  if (options.compare) return runComparison(options, texts);
  PlanOutputs outputs(options.outputs, themeOf(options.theme, options.isDark), texts);
  requireOutsideRuns(options);
  PlanInput input = readInput(options);
  input.checks.costs = &input.costs;
  if (options.check) {
    withFaults(options.faults, input.source.plan, options.steps, input.costs);
    return runCheck(input, options, texts);
  }
  const CheckedPlan plan(std::move(input.source.plan));
  requireAskedSize(plan, input.checks);

  const Costs costs = withFaults(options.faults, *plan, options.steps, input.costs);
  const std::vector<MadeUpHost> hosts = madeUpHosts(options.faults, plan->numRanks());
  Simulation simulation =
      simulated(plan, costs, options.steps, beginFor(hosts), input.checks.commStreams);
  PlanFigures figures = planFigures(*plan, simulation);
  // The formulas are those of whole plans which nothing holds back.
  const bool isAsKnown = !options.forwardOnly && options.credits.value_or(0) == 0 &&
                         options.messages.commStreams.empty();
  if (!options.schedule.empty() && options.stageRanks.empty() && options.stageDepths.empty() &&
      isAsKnown) {
    figures.closedForm = closedFormOf(options.schedule, options.size(), costs);
  }
  const PlanReport report{.plan = *plan,
                          .costs = &input.costs,
                          .figures = &figures,
                          .steps = options.steps,
                          .hasMemory = input.given.hasMemory(),
                          .problems = limitFindings(plan, input.checks, texts),
                          .faults = options.faults.all(),
                          .commStreams = options.messages.commStreams,
                          .partition = input.partition ? &*input.partition : nullptr};
  if (!report.hasMemory) {
    std::erase_if(simulation.timeline.counters,
                  [](const CounterSeries& series) { return series.name == kMemoryCounter; });
  }
  simulation.timeline = Run(std::move(simulation.timeline)).ready(BubbleChoice::kFound).timeline;
  if (hosts.empty()) {
    outputs.addRun(simulation.timeline, simulation.timeline, planLine(figures));
  } else {
    outputs.addRun(simulation.timeline,
                   loggedByHosts(simulation.timeline, hosts, !options.faults.withoutExchange),
                   planLine(figures));
  }
  if (!options.csv.empty()) {
    outputs.addText(options.csv, options.csvFor.empty() ? toCsv(*plan) : toTorchCsv(plan));
    if (!options.csvFor.empty()) warnOfDeadlockInLine(plan, texts);
  }
  if (!options.costsOut.empty()) {
    outputs.addText(options.costsOut, toCostsFile(givenCosts(input.costs)));
  }
  if (!options.partitionOut.empty()) {
    outputs.addText(options.partitionOut, partitionFile(input.partition->best.partition));
  }
  const bool isPicture = texts.answer != nullptr && texts.answer->isPicture;
  const bool printsChart = !options.hasOtherResult() && options.costsOut != "-" && !isPicture;
  if (options.json) {
    outputs.addText("-", planJson(report));
  } else if (options.jobList) {
    outputs.addText("-", jobLists(*plan, options.jobs));
  } else if (printsChart) {
    const std::string& lines = outputs.lines();
    outputs.addText("-", chartText(simulation, options, report) +
                             (lines.empty() ? "" : "\n" + fitToPrint(lines)));
  }
  outputs.commit();
  if (!printsChart && texts.answer == nullptr) printError(outputs.lines());
  return 0;
}

}  // namespace

void describePlan(CommandApp& app) {
  static PlanOptions options;
  addPlanOptions(app, options);
}

int planCommand(int argc, char** argv) {
  PlanOptions options;
  CommandApp app("pipe-trace plan");
  addPlanOptions(app, options);
  if (const auto code = parseCommandLine(app, argc, argv)) return *code;
  return runPlan(std::move(options), {});
}

PlanAnswer planAnswer(std::vector<std::string> words, const LoadedRun* run, PlanForm form) {
  PlanOptions options;
  CommandApp app("pipe-trace plan");
  addPlanOptions(app, options);
  if (run != nullptr) {
    for (const std::string& input : run->load.inputs) words.push_back("--costs-from=" + input);
    options.costs.run = &run->run;
  }
  parseWords(app, std::move(words));
  PlanAnswer answer{.isPicture = form == PlanForm::kPicture};
  runPlan(std::move(options), {&answer});
  return answer;
}

}  // namespace pipetrace
