#include "apps/pipe_trace/plan/comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>

#include "analysis/present/comparison_report.h"
#include "apps/cli/costs.h"
#include "apps/cli/print.h"
#include "apps/cli/terminal.h"
#include "schedule/compare/compare_plans.h"
#include "schedule/compare/split_costs.h"
#include "trace/error.h"
#include "trace/files/output_file.h"

namespace pipetrace {
namespace {

constexpr int kUsualMostChunks = 4;

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

}  // namespace

int runComparison(const PlanOptions& options) {
  const auto [input, run] = questionOf(options);
  const ComparedPlans compared = comparePlans(input);
  const int width = std::min(options.width.value_or(lineColumns()), kWidestProse);
  if (options.json) {
    writeWholeFile("-", comparisonJson(input, compared, run));
  } else {
    printText(comparisonText(input, compared, width, run));
  }
  return 0;
}

}  // namespace pipetrace
