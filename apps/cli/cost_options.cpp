#include "apps/cli/cost_options.h"

#include "apps/cli/shared_options.h"

namespace pipetrace {
namespace {

constexpr SharedOption kBackwardInputMs{
    "--backward-input-ms", "MS",
    "The input half of a backward, where a plan splits it (default: half of it)"};
constexpr SharedOption kBackwardWeightMs{"--backward-weight-ms", "MS",
                                         "The weight half (default: the rest)"};
constexpr SharedOption kFusedMs{
    "--fused-ms", "MS",
    "A forward and a backward that run as one job (default: one after the other)"};

constexpr SharedOption kReduceMs{
    "--reduce-ms", "MS",
    "Adding up the gradients of a stage that stands on several ranks, while these go on "
    "(default: 0)"};

constexpr SharedOption kAgreeMs{
    "--agree-ms", "MS",
    "Adding up numbers of all ranks before the optimizer's step, such as the norm by which "
    "gradients are clipped (default: 0)"};

CLI::Option* addMeasured(CLI::App& app, CostOptions& to) {
  return addShared(app, shared::kCostsFrom, to.measured)
      ->allow_extra_args(false)
      ->group(kTimesGroup);
}

CLI::Option* addTime(CLI::App& app, const SharedOption& option, std::string& to,
                     CLI::Option* measured, const char* more = "") {
  return addShared(app, option, to, more)->group(kTimesGroup)->excludes(measured);
}

}  // namespace

void addTimeOptions(CLI::App& app, CostOptions& to) {
  CLI::Option* const measured = addMeasured(app, to);
  addTime(app, shared::kForwardMs, to.forwardMs, measured);
  addTime(app, shared::kBackwardMs, to.backwardMs, measured);
  addTime(app, shared::kTransferMs, to.transferMs, measured);
  addTime(app, shared::kLrMs, to.lrMs, measured);
  addTime(app, shared::kOptimizerMs, to.optimizerMs, measured);
}

CLI::Option* addPlanTimeOptions(CLI::App& app, CostOptions& to) {
  CLI::Option* const file =
      app.add_option("--costs", to.file,
                     "All costs from a file (docs/schedules.md); - is standard input")
          ->type_name("FILE.json")
          ->check([](const std::string& text) { return text.empty() ? "it is empty" : ""; }, "")
          ->group(kTimesGroup);
  CLI::Option* const measured = addMeasured(app, to)->excludes(file);
  const auto time = [&](const SharedOption& option, std::string& value, const char* more = "") {
    addTime(app, option, value, measured, more)->excludes(file);
  };
  time(shared::kForwardMs, to.forwardMs, " (default: 1)");
  time(shared::kBackwardMs, to.backwardMs, " (default: its halves, or twice the forward)");
  time(kBackwardInputMs, to.backwardInputMs);
  time(kBackwardWeightMs, to.backwardWeightMs);
  time(kFusedMs, to.fusedMs);
  time(shared::kRecomputeMs, to.recomputeMs,
       " (default: 0; a forward's, where a schedule file has recomputes)");
  time(kReduceMs, to.reduceMs);
  time(shared::kTransferMs, to.transferMs);
  time(shared::kLrMs, to.lrMs);
  time(shared::kOptimizerMs, to.optimizerMs);
  time(kAgreeMs, to.agreeMs);
  CLI::Option* const message =
      app.add_option("--message-mb", to.messageMb,
                     "Length of a message, in 10^6 bytes; with --bandwidth-gbs")
          ->type_name("MB")
          ->group(kTimesGroup)
          ->excludes(file);
  app.add_option("--bandwidth-gbs", to.bandwidthGbs,
                 "Links carry message after message, 10^9 bytes a second and direction")
      ->type_name("GB/S")
      ->group(kTimesGroup)
      ->excludes(file)
      ->needs(message);
  return file;
}

}  // namespace pipetrace
