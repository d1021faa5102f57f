// A run that saves a checkpoint between two steps: logs to profiles and reports.
#include "tests/pipe_trace/fixture.h"

namespace pipetrace {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr std::int32_t kSaved = 1;  // the step after which it saves
constexpr Nanoseconds kCopyTime = 200 * kNsPerMs;

class Checkpoints : public PipeTrace {
 protected:
  /// Four steps. After the second one each rank copies its blocks for 200 ms and writes them for
  /// 400 ms beside the third. `isRecorded` false: the same run says nothing of that.
  std::string logsOfRun(bool isRecorded, const std::string& name) const {
    Simulation simulation = sample(4);
    Timeline& timeline = simulation.timeline;
    Nanoseconds end = 0;
    for (const Track& track : timeline.tracks) {
      for (const Event& event : track.events) {
        if (event.step <= kSaved) end = std::max(end, event.end);
      }
    }
    std::vector<Track> writings;
    for (Track& track : timeline.tracks) {
      for (Event& event : track.events) {
        if (event.step <= kSaved) continue;
        event.begin += kCopyTime;
        event.end += kCopyTime;
      }
      if (!isRecorded || track.lane != kComputeLane) continue;
      Event copy{.begin = end, .end = end + kCopyTime, .step = kSaved};
      copy.kind = JobKind::kCheckpoint;
      copy.microBatch = 0;
      track.events.push_back(copy);
      Event writing = copy;
      writing.kind = JobKind::kCopy;
      writing.begin = copy.end;
      writing.end = copy.end + 400 * kNsPerMs;
      Track& lane = writings.emplace_back();
      lane.rank = track.rank;
      lane.lane = kCheckpointLane;
      lane.events.push_back(writing);
    }
    for (Track& lane : writings) timeline.tracks.push_back(std::move(lane));
    timeline.sort();
    return logs(simulation, name);
  }

  static std::string out(const std::vector<std::string>& arguments) {
    const ProgramRun result = run(arguments);
    EXPECT_EQ(result.exitCode, 0) << result.err;
    return result.out;
  }
};

TEST_F(Checkpoints, ProfilesOfAllFormatsKeepTheCopyAndTheWriting) {
  const std::string folder = logsOfRun(true, "run");
  out({folder, "-o", path("a.json"), "-o", path("a.pftrace"), "-o", path("a.sqlite"), "-o",
       path("a.csv")});
  for (const char* const name : {"a.pftrace", "a.sqlite"}) {
    out({path(name), "--strict", "-o", path("b.json")});
    EXPECT_EQ(contents(path("b.json")), contents(path("a.json"))) << name;
  }
  std::stringstream csv(contents(path("a.csv")));
  int copies = 0;
  int writings = 0;
  for (std::string line; std::getline(csv, line);) {
    copies += line.find(",compute,checkpoint,") != std::string::npos;
    writings += line.find(",checkpoint,copy,") != std::string::npos;
  }
  EXPECT_EQ(copies, 4);
  EXPECT_EQ(writings, 4);
}

TEST_F(Checkpoints, TheReportNamesThePauseAndNoOtherNumberChanges) {
  const std::string named = out({"report", logsOfRun(true, "with")});
  const std::string silent = out({"report", logsOfRun(false, "without")});
  EXPECT_THAT(named, HasSubstr("saves a checkpoint (checkpoint) for 200.0 ms"));
  EXPECT_THAT(silent, AllOf(HasSubstr("the run stands still after step 1 for 20"),
                            Not(HasSubstr("saves a checkpoint"))));
  const std::string figures = "\n  1 more cause";  // and all after the findings
  ASSERT_NE(named.find(figures), std::string::npos) << named;
  EXPECT_EQ(named.substr(named.find(figures)), silent.substr(silent.find(figures)));
}

TEST_F(Checkpoints, PaddlePaddlesPairIsThatOfARunWithoutThem) {
  for (const bool isRecorded : {true, false}) {
    const ProgramRun result =
        run({"--devices", "0,1,2,3", "--log_dir", logsOfRun(isRecorded, isRecorded ? "a" : "b")});
    EXPECT_EQ(result.exitCode, 0) << result.err;
  }
  const std::string pair = "/pipeline_profile.json";
  EXPECT_EQ(contents(path("a") + pair), contents(path("b") + pair));
}

}  // namespace
}  // namespace pipetrace
