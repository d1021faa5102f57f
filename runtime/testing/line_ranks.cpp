#include "runtime/testing/line_ranks.h"

#include <memory>

#include "runtime/executor.h"
#include "runtime/plan_words.h"
#include "runtime/testing/run_ranks.h"
#include "runtime/transport/in_process.h"
#include "runtime/transport/line_transport.h"
#include "schedule/simulate/order_messages.h"

namespace pipetrace::testing {

CheckedPlan inLine(const CheckedPlan& plan) {
  Costs costs = Costs::equal(plan->numStages, {.forward = 100,
                                               .backward = 200,
                                               .backwardInput = 100,
                                               .backwardWeight = 100,
                                               .recompute = 100});
  costs.transfer = 1;
  return CheckedPlan(withMessagesInTime(plan, costs));
}

namespace {

LineTransportOptions optionsOf(const Plan& plan, const LineHub& lines, int rank) {
  return {.backend = lines.connect(rank),
          .microBatches = plan.numMicroBatches,
          .rowsFrom = plan.rankOfStage.back()};
}

}  // namespace

std::vector<std::string> runOnLines(const CheckedPlan& plan,
                                    const std::function<void(const LineRank& rank)>& body) {
  const int ranks = plan->numRanks();
  const LineHub lines(ranks);
  InProcessHub hosts(ranks);
  std::vector<std::unique_ptr<Transport>> inner;
  std::vector<std::unique_ptr<Transport>> outer;
  std::vector<Transport*> pointers;
  for (int rank = 0; rank < ranks; ++rank) {
    inner.push_back(hosts.connect(rank));
    outer.push_back(std::make_unique<LineTransport>(*inner.back(), optionsOf(*plan, lines, rank)));
    pointers.push_back(outer.back().get());
  }
  ControlOptions control;
  control.words = wordsOf(plan, ExecutorOptions{}.ahead);
  control.exitDelay = 60 * kNsPerSecond;  // this process is to live on
  const auto channels = controlInProcess(control, pointers);
  return runRanks(ranks, [&](int rank) {
    const auto i = static_cast<std::size_t>(rank);
    body({.transport = *outer[i], .control = channels[i].get(), .hub = lines});
  });
}

std::vector<std::string> runOnLinesOverGloo(const CheckedPlan& plan,
                                            const std::function<void(const LineRank& rank)>& body) {
  const LineHub lines(plan->numRanks());
  return runConnected(Wiring::kGloo, plan->numRanks(), [&](Transport& host) {
    LineTransport transport(host, optionsOf(*plan, lines, host.rank()));
    body({.transport = transport, .hub = lines});
  });
}

}  // namespace pipetrace::testing
