// A run that evaluates between training steps: logs to profiles and reports.
#include <nlohmann/json.hpp>

#include "tests/pipe_trace/fixture.h"

namespace pipetrace {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class Phases : public PipeTrace {
 protected:
  /// Logs of 5 steps, of which the third evaluates: it has no backwards.
  std::string logsWithEvaluation() const {
    Simulation simulation = sample(5);
    for (Track& track : simulation.timeline.tracks) {
      std::erase_if(track.events, [](const Event& event) {
        const bool isForward = event.kind == JobKind::kForward || isForwardTransfer(event.kind);
        return event.step == 2 && !isForward;
      });
      for (Event& event : track.events) {
        if (event.step == 2) event.phase = Phase::kEvaluate;
      }
    }
    return logs(simulation);
  }

  static std::string out(const std::vector<std::string>& arguments) {
    const ProgramRun result = run(arguments);
    EXPECT_EQ(result.exitCode, 0) << result.err;
    return result.out;
  }
};

TEST_F(Phases, ProfilesOfAllFormatsKeepThem) {
  const std::string folder = logsWithEvaluation();
  out({folder, "-o", path("run.json"), "-o", path("run.pftrace"), "-o", path("run.sqlite"), "-o",
       path("run.csv")});
  const json expected = json::parse(out({"info", folder, "--json"}));
  EXPECT_EQ(expected["steps"], 5);
  EXPECT_EQ(expected["steps_of_phase"], json({{"evaluate", 1}}));
  for (const char* const name : {"run.json", "run.pftrace", "run.sqlite"}) {
    const json found = json::parse(out({"info", path(name), "--json"}));
    EXPECT_EQ(found["steps_of_phase"], expected["steps_of_phase"]) << name;
    EXPECT_EQ(found["jobs"], expected["jobs"]) << name;
  }
  std::stringstream csv(contents(path("run.csv")));
  std::size_t evaluations = 0;
  std::size_t bubbles = 0;
  for (std::string line; std::getline(csv, line);) {
    if (!line.ends_with(",evaluate")) continue;
    (line.find(",bubble,") == std::string::npos ? evaluations : bubbles) += 1;
  }
  EXPECT_GT(bubbles, 0u);
  EXPECT_EQ(evaluations, 4u * 8 + 2u * 3 * 8) << "forwards, and both ends of their messages";
}

TEST_F(Phases, TheReportIsAboutTrainingUnlessOnlyTheEvaluationIsChosen) {
  const std::string folder = logsWithEvaluation();
  EXPECT_THAT(out({"report", folder}),
              AllOf(HasSubstr("4 ranks, 4 steps, "),
                    HasSubstr("step 2 is of the phase evaluate and takes "),
                    HasSubstr("schedule: 1F1B"), HasSubstr("4 steps count\n")));
  EXPECT_THAT(out({"report", folder, "--steps", "2"}),
              AllOf(HasSubstr("4 ranks, 1 step, 32 compute jobs"),
                    HasSubstr("no step is of training: all figures are about the phase evaluate"),
                    Not(HasSubstr("backward"))));
  const json summary = json::parse(out({folder, "--json"}));
  EXPECT_EQ(summary["steps"].size(), 4u);
  EXPECT_EQ(summary["other_phases"][0]["steps"], json({2}));
}

TEST_F(Phases, PaddlePaddlesPairHasTrainingStepsOnly) {
  const std::string folder = logsWithEvaluation();
  const ProgramRun result = run({"--devices", "0,1,2,3", "--log_dir", folder});
  EXPECT_EQ(result.exitCode, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr("note: jobs of the phases evaluate and predict were left out"));
  EXPECT_THAT(contents(folder + "/pipeline_profile.json"),
              AllOf(HasSubstr("\"step3\""), Not(HasSubstr("\"step4\""))));
}

}  // namespace
}  // namespace pipetrace
