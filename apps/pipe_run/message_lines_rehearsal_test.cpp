// Rehearsals with messages on lines. The times of messages are planned, so those of the logs are
// those of the simulation, however busy this machine is.
#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "analysis/causes/held_lines.h"
#include "analysis/testing/run_of_timeline.h"
#include "apps/pipe_run/testing/rehearsed.h"
#include "runtime/transport/forwarding_transport.h"
#include "schedule/add_transfers.h"
#include "schedule/build_schedule.h"
#include "schedule/forward_part.h"
#include "schedule/simulate/order_messages.h"
#include "schedule/simulate/simulate.h"
#include "trace/error.h"

namespace pipetrace {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// Short jobs: the logged times of messages do not depend on when a thread wakes up.
Costs shortCosts(const Plan& plan) {
  constexpr Nanoseconds kJob = 200 * kNsPerUs;
  Costs costs = Costs::equal(plan.numStages, {.forward = kJob,
                                              .backward = 2 * kJob,
                                              .backwardInput = kJob,
                                              .backwardWeight = kJob,
                                              .forwardBackward = 3 * kJob});
  costs.transfer = kJob / 10;
  return costs;
}

/// Begin and end of each end of each message, by rank and what it is.
using LoggedEnd = std::tuple<int, JobKind, int, int, int, int>;
std::map<LoggedEnd, std::pair<Nanoseconds, Nanoseconds>> messageTimes(const Timeline& run) {
  std::map<LoggedEnd, std::pair<Nanoseconds, Nanoseconds>> times;
  for (const Track& track : run.tracks) {
    for (const Event& event : track.events) {
      if (!isTransfer(event.kind)) continue;
      times[{track.rank, event.kind, event.step, event.stage, event.microBatch, event.peer}] = {
          event.begin, event.end};
    }
  }
  return times;
}

std::vector<std::string> messageLanes(const Timeline& run, int rank) {
  std::vector<std::string> lanes;
  for (const Track& track : run.tracks) {
    if (track.rank == rank && track.lane != kComputeLane) lanes.push_back(track.lane);
  }
  std::sort(lanes.begin(), lanes.end());
  return lanes;
}

/// Returns the rehearsal.
Timeline expectSimulatedTimes(const CheckedPlan& plan, const Costs& costs,
                              CommStreams commStreams) {
  SCOPED_TRACE(plan->name);
  constexpr int kSteps = 2;
  const Timeline run = testing::rehearsed(
      {.plan = plan, .costs = costs, .commStreams = commStreams, .steps = kSteps});
  const Simulation simulation =
      simulate(plan, costs, {.steps = kSteps, .commStreams = commStreams});
  const auto measured = messageTimes(run);
  const auto planned = messageTimes(simulation.timeline);
  EXPECT_FALSE(planned.empty());
  EXPECT_EQ(measured.size(), planned.size());
  if (measured.size() != planned.size()) return run;
  const Nanoseconds origin = measured.begin()->second.first - planned.begin()->second.first;
  for (auto one = measured.begin(), other = planned.begin(); one != measured.end();
       ++one, ++other) {
    EXPECT_EQ(one->first, other->first);
    const auto& [rank, kind, step, stage, microBatch, peer] = one->first;
    const Nanoseconds beginOff = one->second.first - other->second.first - origin;
    const Nanoseconds endOff = one->second.second - other->second.second - origin;
    if (beginOff == 0 && endOff == 0) continue;
    ADD_FAILURE() << "rank " << rank << ", step " << step << ", " << logName(kind) << " of stage "
                  << stage << ", micro-batch " << microBatch << ": begin off by " << beginOff
                  << " ns, end by " << endOff;
  }
  return run;
}

TEST(MessageLinesRehearsalTest, MessagesMoveWhenTheSimulationHasThemOnALineForEachRank) {
  const CheckedPlan torch = withMessagesOfTorch(buildSchedule("Interleaved1F1B", 4, 8));
  const Timeline run = expectSimulatedTimes(torch, shortCosts(*torch), CommStreams::kRank);
  EXPECT_THAT(messageLanes(run, 1), ElementsAre("messages"));
  for (const char* const name : {"ZBV", "DualPipe", "LoopedBFS"}) {
    const CheckedPlan plan = buildSchedule(name, 4, 8);
    const Costs costs = shortCosts(*plan);
    expectSimulatedTimes(withMessagesInTime(plan, costs), costs, CommStreams::kRank);
  }
}

TEST(MessageLinesRehearsalTest, AndOnOtherLines) {
  const CheckedPlan plan = withMessagesOfTorch(buildSchedule("LoopedBFS", 3, 6));
  Costs costs = shortCosts(*plan);
  Timeline run = expectSimulatedTimes(plan, costs, CommStreams::kPeer);
  EXPECT_THAT(messageLanes(run, 1), ElementsAre("messages_0", "messages_2"));
  run = expectSimulatedTimes(plan, costs, CommStreams::kEdge);
  EXPECT_THAT(messageLanes(run, 1),
              ElementsAre("messages_from_0", "messages_from_2", "messages_to_0", "messages_to_2"));
  EXPECT_EQ(linesOfRun(asRun(std::move(run)).graph()), CommStreams::kEdge);
  run = expectSimulatedTimes(plan, costs, CommStreams::kDirection);
  EXPECT_THAT(messageLanes(run, 1), ElementsAre("messages_backward", "messages_forward"));
  EXPECT_EQ(linesOfRun(asRun(std::move(run)).graph()), CommStreams::kDirection);
  run = expectSimulatedTimes(plan, costs, CommStreams::kMessage);
  EXPECT_THAT(messageLanes(run, 1),
              ElementsAre("recv_backward", "recv_forward", "send_backward", "send_forward"));
}

TEST(MessageLinesRehearsalTest, WithABandwidthFaultsAndTheStepsEdges) {
  const CheckedPlan plan = withMessagesOfTorch(buildSchedule("Interleaved1F1B", 4, 8));
  Costs costs = shortCosts(*plan);
  for (StageCosts& stage : costs.stages) stage.message = 30'000;
  costs.bandwidth = 1'000'000'000;  // 30 us a message
  costs.lr = 50 * kNsPerUs;
  costs.optimizer = 70 * kNsPerUs;
  costs.faults.links = {{.rank = 1, .peer = 2, .transfer = 90 * kNsPerUs}};
  costs.faults.jobs = {{.action = {JobKind::kForward, 1, 4}, .step = 1, .longer = kNsPerMs},
                       {.action = {JobKind::kBackward, 2, 5}, .late = kNsPerMs / 2}};
  expectSimulatedTimes(plan, costs, CommStreams::kRank);
}

TEST(MessageLinesRehearsalTest, WithoutAFlushAndWithoutBackwards) {
  for (Plan made :
       {buildSchedule("PipeDream-2BW", 4, 8), forwardPart(buildSchedule("1F1B", 4, 8))}) {
    const CheckedPlan plan = withMessagesOfTorch(CheckedPlan(std::move(made)));
    Costs costs = shortCosts(*plan);
    costs.stages[2].forward *= 2;
    costs.optimizer = 50 * kNsPerUs;
    expectSimulatedTimes(plan, costs, CommStreams::kRank);
  }
}

TEST(MessageLinesRehearsalTest, PlansThatCannotRunInLineAreRefused) {
  for (const char* const name :
       {"Interleaved1F1B", "InterleavedZeroBubble", "LoopedBFS", "ZBVZeroBubble"}) {
    const CheckedPlan plan = addTransfers(buildSchedule(name, 4, 8), {.ahead = 0});
    RehearsalOptions options{
        .plan = plan, .costs = shortCosts(*plan), .commStreams = CommStreams::kMessage};
    EXPECT_NO_THROW(requireRehearsable(options)) << name;
    options.commStreams = CommStreams::kRank;
    EXPECT_THAT([&] { requireRehearsable(options); },
                ::testing::ThrowsMessage<Error>(HasSubstr("that closes the cycle")))
        << name;
  }
}

/// Loses its connection with its first message.
class BrokenTransport : public ForwardingTransport {
 public:
  explicit BrokenTransport(Transport& inner) : ForwardingTransport(inner) {}
  std::unique_ptr<SendLane<Message>> openSend(int to, const LaneName& name,
                                              std::size_t messages) override {
    return std::make_unique<End>(inner().openSend(to, name, messages));
  }

 private:
  using Lane = SendLane<Message>;

  class End : public Lane {
   public:
    explicit End(std::unique_ptr<Lane> lane) : lane_(std::move(lane)) {}
    void send(const MessageKey& /*key*/, Message&& /*message*/) override {
      throw Error("the cable is out");
    }
    std::optional<std::uint64_t> nextDone() override { return lane_->nextDone(); }
    void awaitAll() override { lane_->awaitAll(); }

   private:
    const std::unique_ptr<Lane> lane_;
  };
};

TEST(MessageLinesRehearsalTest, ARankThatFailsEndsThoseThatWaitForTheirTurn) {
  // Rank 0's line goes on with what rank 3 makes. Behind that are activations that rank 1 has got.
  const CheckedPlan plan = withMessagesOfTorch(buildSchedule("LoopedBFS", 4, 8));
  const auto run = [&] {
    testing::rehearsed({.plan = plan,
                        .costs = shortCosts(*plan),
                        .commStreams = CommStreams::kRank,
                        .steps = 2,
                        .between = [](Transport& inner) -> std::unique_ptr<Transport> {
                          if (inner.rank() != 3) return nullptr;
                          return std::make_unique<BrokenTransport>(inner);
                        }});
  };
  EXPECT_THAT(run, ::testing::ThrowsMessage<Error>(HasSubstr("the cable is out")));
}

}  // namespace
}  // namespace pipetrace
