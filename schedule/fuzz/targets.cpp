#include "schedule/fuzz/targets.h"

#include <cstdio>
#include <cstdlib>

#include "schedule/add_transfers.h"
#include "schedule/check/check.h"
#include "schedule/file/schedule_file.h"
#include "schedule/forward_part.h"
#include "schedule/simulate/dry_run.h"
#include "schedule/simulate/simulate.h"
#include "trace/error.h"

namespace pipetrace::fuzz {
namespace {

void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "does not hold: %s\n", what);
  std::abort();
}

bool hasTransfers(const Plan& plan) {
  for (const auto& actions : plan.ranks) {
    for (const Action& action : actions) {
      if (isTransfer(action.kind)) return true;
    }
  }
  return false;
}

void writeAndReadAgain(const Plan& plan) {
  const std::string text = toCsv(plan);
  const Plan again = readPlan(text, plan.name);
  require(again.ranks == plan.ranks, "a written plan has the same actions");
  require(again.placement == plan.placement, "a written plan has the same places");
  require(again.replicas == plan.replicas, "a written plan has the same replicas");
  require(again.updates == plan.updates, "a written plan has the same updates");
  require(again.credits == plan.credits, "a written plan has the same credits");
  require(toCsv(again) == text, "a plan is written as it was");
}

void run(const CheckedPlan& plan, const Costs& costs) {
  const DryRun dry = dryRun(plan, costs);
  const Simulation simulation = simulate(plan, costs, {.steps = 1, .counters = true});
  require(dry.length == simulation.length, "a dry run is as long as the simulation");
  require(simulation.criticalPath.length() == simulation.length,
          "the critical path is as long as the step");
}

Costs costsFor(const Plan& plan) {
  Costs costs = Costs::equal(plan.numStages, {3, 7, 4, 3});
  costs.stages.front().message = 5;
  costs.transfer = 2;
  costs.optimizer = 1;
  return costs;
}

/// Without its credits, and with a single one. Returns whether it can run without.
bool runWithOtherCredits(Plan plan) {
  plan.credits = 0;
  const bool isValid = check(plan).empty();
  plan.credits = 1;
  const bool runs = check(plan).empty();
  require(isValid || !runs, "what cannot run cannot run with fewer credits");
  if (runs) run(CheckedPlan(plan), costsFor(plan));
  return isValid;
}

}  // namespace

void readAsScheduleFile(const std::string& bytes) {
  Plan plan;
  try {
    plan = readPlan(bytes, "fuzz");
  } catch (const Error&) {
    return;
  }
  writeAndReadAgain(plan);
  const bool isValid = check(plan).empty();
  for (const int buffers : {kBlocking, 1, 2}) {
    const bool runs = check(plan, {.buffers = buffers}).empty();
    require(isValid || !runs, "what cannot run cannot run with fewer buffers");
  }
  check(plan, {.mostLive = 1, .mostVersions = 1, .mostDistance = 0});
  const bool isValidWithoutCredits = runWithOtherCredits(plan);
  require(isValidWithoutCredits || !isValid, "what cannot run cannot run with credits");
  if (!isValid) return;
  const CheckedPlan checked(plan);
  Costs costs = costsFor(plan);
  run(checked, costs);
  costs.bandwidth = 1e9;
  run(checked, costs);
  if (hasTransfers(plan)) return;
  const Plan full = addTransfers(checked);
  require(check(full).empty(), "a plan stays valid when its transfers are added");
  run(CheckedPlan(full), costs);
  writeAndReadAgain(full);
  const Plan part = forwardPart(plan);
  Plan unhindered = part;
  unhindered.credits = 0;
  require(check(unhindered).empty(), "the forward part of a plan can run");
  writeAndReadAgain(part);
}

}  // namespace pipetrace::fuzz
