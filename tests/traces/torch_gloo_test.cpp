// Traces of torch.distributed.pipelining over Gloo, beside what a separate program says of them.
#include <gmock/gmock.h>

#include <cstdlib>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "analysis/testing/run_of_timeline.h"
#include "parser/testing/load_timeline.h"
#include "tests/traces/torch_truth.h"
#include "trace/event_arguments.h"

namespace pipetrace {
namespace {

using test::TorchTruth;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

constexpr Nanoseconds kMillisecond = 1'000'000;

struct Recording {
  TorchTruth truth;
  Timeline timeline;
  RunSummary summary;
  std::vector<std::string> diagnostics;
};

Recording load(const std::string& name, JobTime time = JobTime::kAuto) {
  Recording recording;
  recording.truth = test::readTorchTruth(name);
  Diagnostics diagnostics;
  recording.timeline =
      test::loadTimeline({test::torchRecording(name)}, {.jobTime = time}, diagnostics);
  completeTimeline(recording.timeline, diagnostics);
  recording.summary = summarize(recording.timeline);
  for (const Diagnostic& each : diagnostics.list()) {
    recording.diagnostics.push_back(toText(each));
  }
  return recording;
}

/// Each recording is read once.
const Recording& recordingOf(const std::string& name) {
  static std::map<std::string, Recording> known;
  const auto found = known.find(name);
  return found != known.end() ? found->second : known.emplace(name, load(name)).first->second;
}

std::optional<std::string> argument(const Timeline& timeline, const Event& event,
                                    std::string_view key) {
  for (const Argument& each : timeline.argumentsOf(event)) {
    if (timeline.strings[each.key] != key) continue;
    if (each.type == ArgumentType::kInteger) return std::to_string(each.integer);
    return std::string(timeline.strings[each.text]);
  }
  return std::nullopt;
}

void forEachEvent(const Timeline& timeline, std::string_view lane,
                  const std::function<void(int rank, const Event&)>& visit) {
  for (const Track& track : timeline.tracks) {
    if (track.lane != lane) continue;
    for (const Event& event : track.events) visit(track.rank, event);
  }
}

/// The compute jobs, with steps counted from 0. Twice the same is a failure.
std::map<TorchTruth::Job, const Event*> jobsOf(const Timeline& timeline) {
  std::set<std::int32_t> steps;
  forEachEvent(timeline, kComputeLane, [&](int, const Event& event) {
    if (isCompute(event.kind)) steps.insert(event.step);
  });
  std::map<TorchTruth::Job, const Event*> jobs;
  forEachEvent(timeline, kComputeLane, [&](int rank, const Event& event) {
    if (!isCompute(event.kind)) return;
    const auto step = std::distance(steps.begin(), steps.find(event.step));
    const TorchTruth::Job job{rank, static_cast<std::int32_t>(step), event.stage, event.microBatch,
                              event.kind};
    EXPECT_TRUE(jobs.emplace(job, &event).second)
        << "rank " << rank << ", stage " << event.stage << ", micro-batch " << event.microBatch;
  });
  return jobs;
}

bool isWithin(Nanoseconds limit, const Event& job, Nanoseconds begin, Nanoseconds end) {
  return std::abs(job.begin - begin) <= limit && std::abs(job.end - end) <= limit;
}

class TorchOverGloo : public testing::TestWithParam<const char*> {
 protected:
  const Recording& recording() const { return recordingOf(GetParam()); }
  const Timeline& timeline() const { return recording().timeline; }
  const TorchTruth& truth() const { return recording().truth; }
};

TEST_P(TorchOverGloo, EveryJobOfTheTruthIsThereAndNoOther) {
  const auto jobs = jobsOf(timeline());
  ASSERT_FALSE(truth().jobs.empty());
  EXPECT_EQ(jobs.size(), truth().jobs.size());
  for (const auto& [job, times] : truth().jobs) {
    EXPECT_TRUE(jobs.contains(job)) << "rank " << job.rank << ", step " << job.step << ", stage "
                                    << job.stage << ", micro-batch " << job.microBatch;
  }
}

TEST_P(TorchOverGloo, JobsLieWhereTheirOperatorsAndSleepsDo) {
  const auto jobs = jobsOf(timeline());
  int byOperators = 0;
  int bySleeps = 0;
  for (const auto& [job, times] : truth().jobs) {
    const auto found = jobs.find(job);
    if (found == jobs.end()) continue;
    byOperators += isWithin(kMillisecond, *found->second, times.begin, times.end) ? 1 : 0;
    bySleeps += isWithin(kMillisecond, *found->second, times.sleepBegin, times.sleepEnd) ? 1 : 0;
  }
  const double all = static_cast<double>(truth().jobs.size());
  RecordProperty("within_1_ms_of_operators", std::to_string(byOperators / all));
  RecordProperty("within_1_ms_of_sleeps", std::to_string(bySleeps / all));
  EXPECT_GE(byOperators / all, 0.95);
  EXPECT_GE(bySleeps / all, 0.95);
}

TEST_P(TorchOverGloo, BubbleRatioIsThatOfTheOperators) {
  RecordProperty("ratio", std::to_string(recording().summary.bubbleRatio));
  EXPECT_NEAR(recording().summary.bubbleRatio, truth().ratioOfOperators, 0.01);
}

TEST_P(TorchOverGloo, StepsAreThoseOfTheTruth) {
  EXPECT_EQ(recording().summary.steps.size(), static_cast<std::size_t>(truth().steps()));
}

TEST_P(TorchOverGloo, NothingIsWarnedOf) {
  EXPECT_THAT(recording().diagnostics, Not(Contains(HasSubstr("warning"))));
}

TEST_P(TorchOverGloo, EveryMessageHasItsTwoEnds) {
  using Key = std::tuple<int, int, bool, std::int32_t, std::int32_t>;
  std::map<Key, const Event*> receives;
  const auto isForward = [](const Event& e) {
    return e.kind == JobKind::kSendForward || e.kind == JobKind::kRecvForward;
  };
  forEachEvent(timeline(), kRecvLane, [&](int rank, const Event& event) {
    ASSERT_TRUE(isRecv(event.kind));
    EXPECT_EQ(event.peer, truth().rankOf(event.stage + (isForward(event) ? -1 : 1)));
    receives[{event.peer, rank, isForward(event), event.microBatch,
              event.step * 100 + event.stage + (isForward(event) ? -1 : 1)}] = &event;
  });
  EXPECT_EQ(receives.size(), truth().messages());
  std::size_t sends = 0;
  forEachEvent(timeline(), kSendLane, [&](int rank, const Event& event) {
    ASSERT_TRUE(isSend(event.kind));
    ++sends;
    const auto found = receives.find(
        {rank, event.peer, isForward(event), event.microBatch, event.step * 100 + event.stage});
    ASSERT_NE(found, receives.end()) << "rank " << rank << ", micro-batch " << event.microBatch;
    EXPECT_EQ(event.end, found->second->end);
    EXPECT_LT(event.begin, event.end);
    EXPECT_EQ(argument(timeline(), event, message_arguments::kArrived),
              argument(timeline(), *found->second, message_arguments::kArrived));
    EXPECT_TRUE(argument(timeline(), event, device_arguments::kHostEnd));
  });
  EXPECT_EQ(sends, truth().messages());
}

TEST_P(TorchOverGloo, MessagesBelongToJobs) {
  std::map<std::pair<int, std::int64_t>, const Event*> jobs;
  forEachEvent(timeline(), kComputeLane, [&](int rank, const Event& job) {
    jobs[{rank, job.job}] = &job;
  });
  int early = 0;
  int waited = 0;
  forEachEvent(timeline(), kRecvLane, [&](int rank, const Event& event) {
    (argument(timeline(), event, message_arguments::kArrived) ? early : waited) += 1;
    const auto job = jobs.find({rank, event.job});
    if (job == jobs.end()) {
      // The input half of a first stage does nothing, and waits nevertheless.
      EXPECT_EQ(event.stage, 0);
      EXPECT_EQ(event.kind, JobKind::kRecvBackward);
      return;
    }
    EXPECT_EQ(job->second->microBatch, event.microBatch);
    EXPECT_EQ(job->second->stage, event.stage);
    EXPECT_LE(event.end, job->second->begin);
  });
  EXPECT_GT(early, 0);
  EXPECT_GT(waited, 0);
  forEachEvent(timeline(), kSendLane, [&](int rank, const Event& event) {
    const auto job = jobs.find({rank, event.job});
    ASSERT_NE(job, jobs.end());
    EXPECT_EQ(job->second->microBatch, event.microBatch);
    EXPECT_EQ(job->second->stage, event.stage);
    EXPECT_GE(event.begin, job->second->end);
  });
}

INSTANTIATE_TEST_SUITE_P(Schedules, TorchOverGloo,
                         testing::Values("gpipe", "gpipe_inner", "1f1b", "1f1b_no_steps",
                                         "interleaved_1f1b", "interleaved_1f1b_inner", "looped_bfs",
                                         "interleaved_zero_bubble", "zbv", "dualpipev"));

TEST(TorchOverGlooWithoutJobs, JobsAreFoundByOperatorsAndMessages) {
  const Recording plain = load("1f1b_plain");
  std::map<JobKind, int> found;
  std::map<JobKind, int> annotated;
  for (const auto& [job, event] : jobsOf(plain.timeline)) ++found[event->kind];
  for (const auto& [job, event] : jobsOf(recordingOf("1f1b").timeline)) ++annotated[event->kind];
  EXPECT_EQ(found, annotated);
}

TEST(TorchOverGlooAtHostTimes, JobsLastAsLongAsTheirAnnotations) {
  const Recording host = load("interleaved_1f1b", JobTime::kHost);
  const auto jobs = jobsOf(host.timeline);
  std::size_t compared = 0;
  for (const auto& [job, event] : jobsOf(recordingOf("interleaved_1f1b").timeline)) {
    const Timeline& timeline = recordingOf("interleaved_1f1b").timeline;
    ASSERT_TRUE(jobs.contains(job));
    const Event& annotation = *jobs.at(job);
    EXPECT_EQ(argument(timeline, *event, device_arguments::kHostBegin),
              std::to_string(annotation.begin));
    EXPECT_EQ(argument(timeline, *event, device_arguments::kHostEnd),
              std::to_string(annotation.end));
    ++compared;
  }
  EXPECT_EQ(compared, jobs.size());
  EXPECT_EQ(host.timeline.findTrack(1, kRecvLane), nullptr);
  EXPECT_LT(host.summary.bubbleRatio, host.truth.ratioOfOperators - 0.1);
}

}  // namespace
}  // namespace pipetrace
