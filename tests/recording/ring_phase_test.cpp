// The phase and the kind of jobs that are in a ring file only.
#include <gmock/gmock.h>

#include <vector>

#include "parser/testing/load_timeline.h"
#include "tests/recording/left_over.h"

namespace pipetrace {
namespace {

using testing::ElementsAre;

std::vector<Phase> phasesOf(const Timeline& timeline, const char* lane) {
  std::vector<Phase> phases;
  const Track* const track = timeline.findTrack(0, lane);
  if (track == nullptr) return phases;
  for (const Event& event : track->events) phases.push_back(event.phase);
  return phases;
}

TEST(RingPhaseTest, PhasesAreTheSameFromTheRingFileAndFromTheLog) {
  LeftOver left;
  std::int64_t id = 0;
  for (const Phase phase : {Phase::kTraining, Phase::kEvaluate, Phase::kPredict}) {
    left.recorder.setPhase(phase);
    left.job(left.compute, ++id);
    left.job(left.send, id, JobKind::kSendForward);
  }
  left.die();
  left.recorder.close();
  EXPECT_EQ(test::fileText(left.copy.path()).find("phase"), std::string::npos) << "not written yet";
  for (const char* const lane : {"compute", "send"}) {
    const auto areAll = ElementsAre(Phase::kTraining, Phase::kEvaluate, Phase::kPredict);
    EXPECT_THAT(phasesOf(left.load(), lane), areAll);
    EXPECT_THAT(phasesOf(test::loadTimeline({left.original.folder()}, {}, left.diagnostics), lane),
                areAll);
  }
}

TEST(RingPhaseTest, ANumberThatIsNoPhaseIsReadAsTraining) {
  LeftOver left;
  left.recorder.setPhase(Phase::kPredict);
  left.job(left.compute, 1);
  left.die();
  constexpr std::size_t kPhaseByte = 5;  // behind the sequence and the kind
  const std::size_t slot = left.laneAt(0) + 512;
  EXPECT_EQ(left.ringBytes()[slot + kPhaseByte], 2);
  left.poke(slot + kPhaseByte, std::uint8_t{9});
  EXPECT_THAT(phasesOf(left.load(), "compute"), ElementsAre(Phase::kTraining));
}

std::vector<JobKind> kindsOf(const Timeline& timeline) {
  std::vector<JobKind> kinds;
  for (const Event& event : timeline.findTrack(0, "send")->events) kinds.push_back(event.kind);
  return kinds;
}

TEST(RingKindTest, NumbersOfKindsMeanWhatTheyMeantWhenTheFileWasWritten) {
  LeftOver left;
  for (const JobKind kind : {JobKind::kCopy, JobKind::kCheckpoint}) left.job(left.send, 1, kind);
  left.die();
  EXPECT_THAT(kindsOf(left.load()), ElementsAre(JobKind::kCopy, JobKind::kCheckpoint));
  left.poke(offsetof(ring_format::FileHeader, version), std::uint32_t{2});
  EXPECT_THAT(kindsOf(left.load()), ElementsAre(JobKind::kCopy))
      << "the other one was a kernel, which is read from the log";
}

}  // namespace
}  // namespace pipetrace
