#include "runtime/testing/line_ranks.h"

#include <map>
#include <memory>
#include <mutex>

#include "runtime/executor.h"
#include "runtime/program/plan_words.h"
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

/// The backends of a run.
class LinesOfRun {
 public:
  LinesOfRun(const Plan& plan, Lines kind) : plan_(plan), kind_(kind), ofRanks_(plan.numRanks()) {}

  LineTransportOptions optionsOf(int rank) {
    LineTransportOptions options{.microBatches = plan_.microBatchesOfReplica(),
                                 .replicas = plan_.replicas,
                                 .rowsFrom = plan_.lastRankOf(plan_.replicaOf(rank))};
    if (kind_ == Lines::kOfRanks) {
      options.backend = ofRanks_.connect(rank);
    } else {
      options.backendOf = [this](const LaneOfRun& lane, int rankOnLine) {
        const std::lock_guard lock(mutex_);
        return ofLanes_.try_emplace(lane, 2).first->second.connect(rankOnLine);
      };
    }
    return options;
  }

  std::int64_t moved() {
    const std::lock_guard lock(mutex_);
    std::int64_t sum = ofRanks_.moved();
    for (const auto& [lane, hub] : ofLanes_) sum += hub.moved();
    return sum;
  }

 private:
  const Plan& plan_;
  const Lines kind_;
  const LineHub ofRanks_;
  std::mutex mutex_;
  std::map<LaneOfRun, LineHub> ofLanes_;
};

}  // namespace

std::vector<std::string> runOnLines(const CheckedPlan& plan,
                                    const std::function<void(const LineRank& rank)>& body,
                                    Lines kind) {
  const int ranks = plan->numRanks();
  LinesOfRun lines(*plan, kind);
  InProcessHub hosts(ranks);
  std::vector<std::unique_ptr<Transport>> inner;
  std::vector<std::unique_ptr<Transport>> outer;
  std::vector<Transport*> pointers;
  for (int rank = 0; rank < ranks; ++rank) {
    inner.push_back(hosts.connect(rank));
    outer.push_back(std::make_unique<LineTransport>(*inner.back(), lines.optionsOf(rank)));
    pointers.push_back(outer.back().get());
  }
  ControlOptions control;
  control.words = wordsOf(plan, ExecutorOptions{}.ahead);
  control.exitDelay = 60 * kNsPerSecond;  // this process is to live on
  const auto channels = controlInProcess(control, pointers);
  return runRanks(ranks, [&](int rank) {
    const auto i = static_cast<std::size_t>(rank);
    body({.transport = *outer[i], .control = channels[i].get(), .moved = [&lines] {
            return lines.moved();
          }});
  });
}

std::vector<std::string> runOnLinesOverGloo(const CheckedPlan& plan,
                                            const std::function<void(const LineRank& rank)>& body,
                                            Lines kind) {
  LinesOfRun lines(*plan, kind);
  return runConnected(Wiring::kGloo, plan->numRanks(), [&](Transport& host) {
    LineTransport transport(host, lines.optionsOf(host.rank()));
    body({.transport = transport, .moved = [&lines] { return lines.moved(); }});
  });
}

}  // namespace pipetrace::testing
