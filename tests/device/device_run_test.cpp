// A training on a device with streams, recorded by its events, read and explained. The device is
// the test device with the streams of a made-up CUDA runtime.
#include <gmock/gmock.h>

#include <functional>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "analysis/matched_messages.h"
#include "analysis/present/finding_sentences.h"
#include "analysis/run_summary.h"
#include "analysis/testing/explained_run.h"
#include "parser/testing/load_timeline.h"
#include "profiler/testing/recorded_log.h"
#include "runtime/executor.h"
#include "runtime/record/rank_recording.h"
#include "runtime/stage_work.h"
#include "runtime/testing/device/simulated_cuda.h"
#include "runtime/testing/device/test_programs.h"
#include "runtime/testing/line_ranks.h"
#include "runtime/testing/run_ranks.h"
#include "runtime/testing/training_case.h"
#include "schedule/build_schedule.h"
#include "trace/error.h"

namespace pipetrace {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr int kRunRanks = 4;
constexpr int kRunMicroBatches = 8;
constexpr int kSteps = 2;
/// How far clocks of two recorders can be apart that compare with the made-up device's.
constexpr Nanoseconds kClocks = 50 * kNsPerUs;

enum class Messages { kInProcess, kOverGloo, kInLine };

std::vector<std::string> runRanks(Messages messages, const CheckedPlan& plan,
                                  const std::function<void(Transport& transport)>& body) {
  if (messages == Messages::kInLine) {
    return testing::runOnLines(plan, [&](const testing::LineRank& rank) { body(rank.transport); });
  }
  const auto wiring =
      messages == Messages::kOverGloo ? testing::Wiring::kGloo : testing::Wiring::kInProcess;
  return runConnected(wiring, plan->numRanks(), body);
}

class DeviceRun : public testing::DeviceTest {
 protected:
  /// Trains and reads the logs.
  Timeline runOf(const std::string& schedule, Messages messages) {
    const testing::SimulatedCuda simulated;
    const CheckedPlan built = buildSchedule(schedule, kRunRanks, kRunMicroBatches);
    const CheckedPlan plan = messages == Messages::kInLine ? testing::inLine(built) : built;
    const testing::TrainingCase training{.numStages = plan->numStages, .steps = kSteps};
    const RecordedLog log;
    const auto errors = runRanks(messages, plan, [&](Transport& transport) {
      RankDevice device(testDevice(), usualJobsAhead(*plan));
      RankRecording recording({.logDirectory = log.folder(),
                               .info = rankInfoOf(*plan, transport.rank()),
                               .device = &device,
                               .hasLine = transport.commStreams() == CommStreams::kRank,
                               .cuda = simulated.cuda()});
      trainRank(training, plan, transport, {}, {.device = &device, .streams = recording.streams()});
      recording.close();
    });
    EXPECT_THAT(errors, Each(IsEmpty()));
    EXPECT_THAT(takeTestDeviceFindings(), IsEmpty());
    Diagnostics diagnostics;
    Timeline timeline = test::loadTimeline({log.folder()}, {}, diagnostics);
    completeTimeline(timeline, diagnostics);
    return timeline;
  }
};

/// The compute jobs of a run, by kind, step, stage and micro-batch.
std::map<std::tuple<JobKind, int, int, int>, Event> jobsOf(const Timeline& timeline) {
  std::map<std::tuple<JobKind, int, int, int>, Event> jobs;
  for (const Track& track : timeline.tracks) {
    if (track.lane != kComputeLane) continue;
    for (const Event& event : track.events) {
      if (!isCompute(event.kind)) continue;
      const bool isNew =
          jobs.emplace(std::tuple(event.kind, event.step, event.stage, event.microBatch), event)
              .second;
      EXPECT_TRUE(isNew);
    }
  }
  return jobs;
}

TEST_F(DeviceRun, EachJobHasItsTimeOnTheDevice) {
  const Timeline timeline = runOf("1F1B", Messages::kInProcess);
  const auto jobs = jobsOf(timeline);
  EXPECT_EQ(jobs.size(), 2U * kRunRanks * kRunMicroBatches * kSteps);
  for (const auto& [rank, info] : timeline.ranks) {
    EXPECT_EQ(info.dropped, 0);
    EXPECT_THAT(info.device, HasSubstr("made-up device ("));
  }
  for (const auto& [key, job] : jobs) {
    const auto [kind, step, stage, microBatch] = key;
    EXPECT_GT(job.end, job.begin);
    if (kind != JobKind::kForward || stage == 0) continue;
    const Event& before = jobs.at({kind, step, stage - 1, microBatch});
    EXPECT_GE(job.begin, before.end - kClocks) << stage << " " << microBatch;
  }
}

class DeviceRunOver : public DeviceRun, public ::testing::WithParamInterface<Messages> {};

TEST_P(DeviceRunOver, NoMessageIsReceivedBeforeItIsSent) {
  const Timeline timeline = runOf("1F1B", GetParam());
  const std::vector<MatchedMessage> messages = matchedMessages(timeline);
  EXPECT_EQ(messages.size(), 2U * (kRunRanks - 1) * kRunMicroBatches * kSteps);
  for (const MatchedMessage& message : messages) {
    EXPECT_GE(message.receive->end, message.send->begin - kClocks);
  }
}

// Which rank comes first is up to this machine.
TEST_P(DeviceRunOver, ReceivesBeginWhenTheyArePostedAndEndInTheirOrder) {
  const Timeline timeline = runOf("1F1B", GetParam());
  std::size_t waited = 0;
  for (const MatchedMessage& message : matchedMessages(timeline)) {
    waited += message.receive->begin < message.send->begin ? 1 : 0;
  }
  EXPECT_GT(waited, 2U * (kRunRanks - 1) * kRunMicroBatches * kSteps / 8);
  for (const Track& track : timeline.tracks) {
    if (track.lane != kRecvForwardLane && track.lane != kRecvBackwardLane) continue;
    for (std::size_t i = 1; i < track.events.size(); ++i) {
      EXPECT_GE(track.events[i].begin, track.events[i - 1].end);
    }
  }
}

/// The lane of an event.
std::string_view laneOf(const Timeline& timeline, const Event* event) {
  for (const Track& track : timeline.tracks) {
    if (!track.events.empty() && event >= track.events.data() &&
        event < track.events.data() + track.events.size()) {
      return track.lane;
    }
  }
  return {};
}

std::int64_t bytesOf(const Timeline& timeline, const Event& event) {
  for (const Argument& argument : timeline.argumentsOf(event)) {
    if (timeline.strings[argument.key] == "bytes") return argument.integer;
  }
  return 0;
}

// In the first step messages go over the host.
TEST_F(DeviceRun, MessagesInLineHaveTheirTurnOnALaneOfTheirOwn) {
  const Timeline timeline = runOf("1F1B", Messages::kInLine);
  const auto jobs = jobsOf(timeline);
  std::size_t inLine = 0;
  for (const MatchedMessage& message : matchedMessages(timeline)) {
    const bool isFirst = message.send->step == 0;
    for (const Event* const end : {message.send, message.receive}) {
      EXPECT_EQ(laneOf(timeline, end) == kLineLane, !isFirst) << end->step;
    }
    if (isFirst) continue;
    ++inLine;
    // It holds the lines of both ranks at a time.
    EXPECT_GE(message.send->end, message.receive->begin - kClocks);
    EXPECT_GE(message.receive->end, message.send->begin - kClocks);
    const bool forward = isForwardTransfer(message.send->kind);
    const Event& maker =
        jobs.at({forward ? JobKind::kForward : JobKind::kBackward, message.send->step,
                 message.receive->stage + (forward ? -1 : 1), message.send->microBatch});
    EXPECT_GE(message.send->begin, maker.end - kClocks);
    EXPECT_GT(bytesOf(timeline, *message.send), 0);
    EXPECT_EQ(bytesOf(timeline, *message.send), bytesOf(timeline, *message.receive));
  }
  EXPECT_EQ(inLine, 2U * (kRunRanks - 1) * kRunMicroBatches * (kSteps - 1));
  for (const Track& track : timeline.tracks) {
    if (track.lane != kLineLane) continue;
    for (std::size_t i = 1; i < track.events.size(); ++i) {
      EXPECT_GE(track.events[i].begin, track.events[i - 1].end);
    }
  }
}

/// Fails in the second step.
class FailingWork : public ForwardingWork {
 public:
  using ForwardingWork::ForwardingWork;
  void lr(int step) override {
    step_ = step;
    ForwardingWork::lr(step);
  }
  void runForward(int stage, int microBatch, JobMessages messages) override {
    if (step_ == 1 && microBatch == 4) throw Error("the disk is on fire");
    ForwardingWork::runForward(stage, microBatch, messages);
  }

 private:
  int step_ = 0;
};

// Messages that never come hold the line.
TEST_F(DeviceRun, ARunInLineThatFailsNamesTheCauseAndClosesItsLogs) {
  const testing::SimulatedCuda simulated;
  const CheckedPlan plan = testing::inLine(buildSchedule("1F1B", kRunRanks, kRunMicroBatches));
  const RecordedLog log;
  const auto errors = testing::runOnLines(plan, [&](const testing::LineRank& rank) {
    const int own = rank.transport.rank();
    RankDevice device(testDevice(own), usualJobsAhead(*plan));
    RankRecording recording({.logDirectory = log.folder(),
                             .info = rankInfoOf(*plan, own),
                             .device = &device,
                             .hasLine = true,
                             .cuda = simulated.cuda()});
    testing::OnDevice on{
        .device = &device, .streams = recording.streams(), .control = rank.control};
    if (own == 2) {
      on.around = [](StageWork& inner) { return std::make_unique<FailingWork>(inner); };
    }
    trainRank({.steps = kSteps}, plan, rank.transport, {}, on);
  });
  EXPECT_THAT(errors, Each(HasSubstr("the disk is on fire")));
  Diagnostics diagnostics;
  const Timeline timeline = test::loadTimeline({log.folder()}, {}, diagnostics);
  EXPECT_EQ(timeline.ranks.size(), static_cast<std::size_t>(kRunRanks));
  for (const auto& [rank, info] : timeline.ranks) EXPECT_TRUE(info.hasEnd) << rank;
}

TEST_P(DeviceRunOver, TheReportNamesTheScheduleAndNoMessageThatArrivesTooEarly) {
  const Timeline timeline = runOf("Interleaved1F1B", GetParam());
  const auto explanation = explainRun(timeline, {});
  EXPECT_THAT(explanation.schedule.recognised.names, ::testing::Contains("Interleaved1F1B"));
  for (const Finding& finding : explanation.findings) {
    EXPECT_THAT(findingText(finding), Not(HasSubstr("before they are sent")));
  }
  EXPECT_EQ(explanation.ranks.size(), static_cast<std::size_t>(kRunRanks));
}

INSTANTIATE_TEST_SUITE_P(All, DeviceRunOver,
                         ::testing::Values(Messages::kInProcess, Messages::kOverGloo,
                                           Messages::kInLine),
                         [](const auto& test) {
                           switch (test.param) {
                             case Messages::kInProcess: return "InProcess";
                             case Messages::kOverGloo: return "OverGloo";
                             default: return "InLine";
                           }
                         });

}  // namespace
}  // namespace pipetrace
