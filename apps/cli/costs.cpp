#include "apps/cli/costs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <optional>
#include <string_view>

#include "analysis/run/costs/blocks_file.h"
#include "analysis/run/costs/costs_file.h"
#include "analysis/run/costs/measured_costs.h"
#include "analysis/run/topology/rank_agreement.h"
#include "analysis/what_if/run_model.h"
#include "apps/cli/print.h"
#include "ingest/load_run.h"
#include "parser/load_timeline.h"
#include "parser/reader_registry.h"
#include "parser/trace_reader.h"
#include "schedule/compare/compare_plans.h"
#include "trace/error.h"
#include "trace/text/decimal_time.h"

namespace pipetrace {
namespace {

constexpr std::int64_t kGiga = 1'000'000'000;
constexpr std::int64_t kMega = 1'000'000;
// Sums over a large plan must not leave int64.
constexpr std::int64_t kLargest = kNsMax / 1'000'000;

struct Unit {
  std::int64_t size;
  const char* name;
};
constexpr Unit kMs{kNsPerMs, "times in milliseconds"};
constexpr Unit kGb{kGiga, "sizes in GB"};
constexpr Unit kMb{kMega, "sizes in MB"};
constexpr Unit kActivations{1'000'000, "numbers of activations"};

std::int64_t number(const char* option, std::string_view text, const Unit& unit) {
  const std::optional<std::int64_t> value = parseDecimalTime(text, unit.size);
  if (value && *value >= 0 && *value <= kLargest) return *value;
  if (value && *value > kLargest) {
    throw Error(fmt::format("{} {} is too large: at most {}", option, text, kLargest / unit.size));
  }
  throw Error(fmt::format("{} {}: {} are written like 10 or 0.25", option,
                          text.empty() ? "\"\"" : text, unit.name));
}

/// "10" or "10,12,11,10".
void read(GivenCosts::Values& to, const char* option, const std::string& text, const Unit& unit) {
  if (text.empty()) return;
  to.clear();
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    to.push_back(number(option, std::string_view(text).substr(begin, end - begin), unit));
    begin = end + 1;
  }
}

void readTime(Nanoseconds& to, const char* option, const std::string& text) {
  if (!text.empty()) to = number(option, text, kMs);
}

/// Throws Error when the inputs are of several runs.
void requireOneRun(const Timeline& timeline, const std::vector<LoadedFile>& files) {
  const std::string several = "the inputs of --costs-from are of several runs: ";
  for (const LoadedFile& file : files) {
    if (file.record != RecordKind::kJobLog || file.leftOut == 0) continue;
    throw Error(several + file.path +
                " has a rank that an earlier log has, too; give the logs of one run only");
  }
  Diagnostics disagreements;
  checkOneRun(timeline, disagreements);
  for (const Diagnostic& each : disagreements.list()) {
    throw Error(several + each.message + "; " + each.advice);
  }
}

/// Warns when a log holds several runs, of which only the last counts.
void noteOtherRuns(const Timeline& timeline, const std::vector<LoadedFile>& files,
                   Diagnostics& diagnostics) {
  const bool hasLog = std::any_of(files.begin(), files.end(), [](const LoadedFile& file) {
    return file.record == RecordKind::kJobLog;
  });
  int runs = 1;
  for (const auto& [rank, info] : timeline.ranks) runs = std::max(runs, info.runs);
  if (!hasLog || runs == 1) return;
  diagnostics.add({.message = fmt::format("--costs-from uses the last of the {} runs that the logs "
                                          "hold",
                                          runs),
                   .advice = "to use another, make a profile of it: pipe-trace INPUT --run N -o "
                             "run.json"});
}

/// Prints the warnings to stderr, even when reading fails.
Run loadMeasuredRun(const std::vector<std::string>& inputs) {
  Diagnostics diagnostics;
  std::vector<LoadedFile> files;
  Run run;
  try {
    run = loadRun({.inputs = inputs}, makeTraceReaders(), diagnostics, &files);
  } catch (...) {
    printDiagnostics(diagnostics, Severity::kWarning);
    throw;
  }
  requireOneRun(run.timeline(), files);
  noteOtherRuns(run.timeline(), files, diagnostics);
  printDiagnostics(diagnostics, Severity::kWarning);
  return run;
}

Costs costsOfReplica(const Run& run, const SlowestReplica& replica) {
  Costs costs = measuredCosts(run, run.usualSteps(), replica.ranks);
  for (StageCosts& stage : costs.stages) stage.reduction = 0;  // in the tail
  costs.scalarAllReduce = 0;
  costs.optimizer = replica.tail;
  return costs;
}

/// The model of a run, which may have a reason against it; none: the run has no work.
std::optional<RunModel> modelOf(const Run& run) {
  try {
    return RunModel::of(run);
  } catch (const Error&) {
    return std::nullopt;  // costs may be measured of less than a model needs
  }
}

Costs costsForComparison(const Run& run, const RunModel& model, RunForComparison& to) {
  to.slowest = model.slowestReplica();
  to.launch = model.usualLaunch();
  if (!to.slowest) return measuredCosts(run);
  Costs costs = costsOfReplica(run, *to.slowest);
  const bool isOfModel =
      model.reason().empty() && model.plan().numStages == static_cast<int>(costs.stages.size());
  if (!isOfModel) return costs;
  to.slowRanks = model.slowRanks();
  model.takeSlownessFrom(costs);
  return costs;
}

/// Gives a value for each stage, even where all are the same: a run of four stages says nothing
/// about a fifth.
GivenCosts measured(const Run& run, std::optional<RunPlan>* plan, RunForComparison* comparison) {
  const std::optional<RunModel> model = modelOf(run);
  const Costs ofRun = comparison != nullptr && model ? costsForComparison(run, *model, *comparison)
                                                     : measuredCosts(run);
  if (plan != nullptr) *plan = planOfRun(run);
  GivenCosts costs = givenCosts(ofRun);
  costs.forward.resize(ofRun.stages.size(), costs.forward.front());
  costs.activation.clear();  // not in a log
  const bool hasOneReplica = run.topology().replicas().size() < 2;
  const bool hasLinks = model && model->reason().empty();
  if (hasLinks && (comparison != nullptr || hasOneReplica)) costs.links = model->unusualLinks();
  const auto isZero = [](std::int64_t value) { return value == 0; };
  const bool isWhole =
      std::all_of(costs.backwardInput.begin(), costs.backwardInput.end(), isZero) &&
      std::all_of(costs.backwardWeight.begin(), costs.backwardWeight.end(), isZero);
  if (isWhole) {  // the run did not split its backward passes
    costs.backwardInput.clear();
    costs.backwardWeight.clear();
    // A forward-only run says nothing about backward passes.
    if (std::all_of(costs.backward.begin(), costs.backward.end(), isZero)) costs.backward.clear();
  }
  return costs;
}

/// All bytes of a file, or of standard input for "-". Throws Error.
std::string readText(const std::string& path, const char* what) {
  if (path == "-") return {std::istreambuf_iterator<char>(std::cin), {}};
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) {
    throw Error(fmt::format("cannot read the {} {}: it is a folder", what, path));
  }
  std::ifstream in(path, std::ios::binary);
  std::string text;
  if (in) text.assign(std::istreambuf_iterator<char>(in), {});
  if (!in || in.bad()) {
    throw Error(
        fmt::format("cannot read the {} {}: {}", what, path, std::strerror(errno ? errno : EIO)));
  }
  return text;
}

}  // namespace

static std::string nameOf(const std::string& path) { return path == "-" ? "standard input" : path; }

BlockTable readBlocks(const std::string& path) {
  return readBlocksFile(readText(path, "blocks file"), nameOf(path));
}

GivenCosts readCosts(const CostOptions& options, std::optional<RunPlan>* run,
                     RunForComparison* comparison) {
  if (!options.file.empty()) {
    return readCostsFile(readText(options.file, "costs file"), nameOf(options.file));
  }
  GivenCosts costs;
  if (options.run != nullptr) {
    costs = measured(*options.run, run, comparison);
  } else if (!options.measured.empty()) {
    costs = measured(loadMeasuredRun(options.measured), run, comparison);
  }
  read(costs.forward, "--forward-ms", options.forwardMs, kMs);
  read(costs.backward, "--backward-ms", options.backwardMs, kMs);
  read(costs.backwardInput, "--backward-input-ms", options.backwardInputMs, kMs);
  read(costs.backwardWeight, "--backward-weight-ms", options.backwardWeightMs, kMs);
  read(costs.forwardBackward, "--fused-ms", options.fusedMs, kMs);
  read(costs.recompute, "--recompute-ms", options.recomputeMs, kMs);
  read(costs.reduction, "--reduce-ms", options.reduceMs, kMs);
  readTime(costs.transfer, "--transfer-ms", options.transferMs);
  readTime(costs.lr, "--lr-ms", options.lrMs);
  readTime(costs.optimizer, "--optimizer-ms", options.optimizerMs);
  readTime(costs.scalarAllReduce, "--agree-ms", options.agreeMs);
  read(costs.activation, "--activation-gb", options.activationGb, kGb);
  read(costs.freedByInput, "--freed-by-input-gb", options.freedByInputGb, kGb);
  read(costs.recomputed, "--recomputed-gb", options.recomputedGb, kGb);
  read(costs.working, "--working-gb", options.workingGb, kGb);
  read(costs.weights, "--weights-gb", options.weightsGb, kGb);
  read(costs.message, "--message-mb", options.messageMb, kMb);
  if (options.bandwidthGbs) {
    costs.bandwidth = *options.bandwidthGbs * kGiga;
    if (!std::isfinite(costs.bandwidth) || costs.bandwidth <= 0) {
      throw Error(
          fmt::format("--bandwidth-gbs {}: a bandwidth is finite and above 0; leave it out "
                      "for messages that take no time on their links",
                      *options.bandwidthGbs));
    }
  }
  return costs;
}

Costs completeCostsAndPlan(GivenCosts& given, Plan& plan) {
  const bool hasOwn = plan.hasRecomputes();
  if (hasOwn && given.recompute.empty()) {
    given.recompute = given.forward.empty() ? GivenCosts::Values{kNsPerMs} : given.forward;
  }
  Costs costs = completeCosts(given, plan.numStages);
  std::erase_if(costs.faults.links,
                [&](const auto& link) { return !exchangeMessages(plan, link.rank, link.peer); });
  plan = withCostedWork(std::move(plan), costs, "--agree-ms");
  return costs;
}

void warnOfUnusedReductions(const CostOptions& options, const Plan& plan) {
  const bool areUsed = plan.replicas > 1 || plan.placement.hasSeveralRanks();
  if (options.reduceMs.empty() || areUsed) return;
  Diagnostics diagnostics;
  diagnostics.add(
      {.message = "--reduce-ms changes nothing: no stage of the plan is on several ranks",
       .advice = "--dp N or --stage-ranks 0,1/2 puts stages on several"});
  printDiagnostics(diagnostics, Severity::kWarning);
}

static std::int64_t limitIn(const std::string& limitGb, bool hasMemory, const char* advice) {
  if (limitGb.empty()) return 0;
  const std::int64_t limit = number("--limit", limitGb, kGb);
  if (limit == 0) throw Error("--limit 0: nothing fits into no memory");
  if (hasMemory) return limit;
  throw Error(std::string("--limit needs to know what activations take: ") + advice);
}

std::int64_t readLimit(const std::string& limitGb, const GivenCosts& costs) {
  return limitIn(limitGb, costs.hasMemory(),
                 "give --activation-gb, or a costs file with activation_bytes (with "
                 "--activation-gb 1 the limit counts activations)");
}

std::int64_t readActivationLimit(const std::string& limit, const GivenCosts& costs) {
  if (limit.empty()) return 0;
  if (costs.hasMemory()) {
    throw Error(
        "--limit-activations counts activations, but the costs have their memory in bytes; give "
        "--limit GB");
  }
  const std::int64_t millionths = number("--limit-activations", limit, kActivations);
  if (millionths == 0) throw Error("--limit-activations 0: no plan holds less than one");
  return millionths;
}

std::int64_t readLimit(const std::string& limitGb, const BlockTable& blocks) {
  return limitIn(limitGb, blocks.hasMemory(), "give the activation_bytes of all blocks");
}

}  // namespace pipetrace
