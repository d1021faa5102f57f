// pipe-trace align, on runs of hosts whose clocks are wrong by a known time.
#include <tuple>

#include "tests/pipe_trace/plan/plan_fixture.h"

namespace pipetrace {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class AlignCommand : public PlanCommand {
 protected:
  /// Job logs of 4 ranks on two hosts, of 20 steps of 36 ms.
  std::string logsOn(const std::vector<std::string>& more) {
    std::vector<std::string> all = {"--transfer-ms", "0.1", "--steps", "20", "-o", path("logs/")};
    all.insert(all.end(), more.begin(), more.end());
    EXPECT_EQ(planOf("1F1B", all).exitCode, 0);
    return path("logs/");
  }

  static json clocksOf(const std::string& input, std::vector<std::string> more = {}) {
    more.insert(more.begin(), {"align", input, "--json"});
    const ProgramRun result = run(more);
    EXPECT_EQ(result.exitCode, 0) << result.err;
    return json::parse(result.out);
  }
};

const std::vector<std::string> kSkews = {"--skew", "a=-5ms,-20ppm", "--skew", "b=5ms,20ppm"};

TEST_F(AlignCommand, ClocksAreFoundByMessagesAlone) {
  std::vector<std::string> options = kSkews;
  options.emplace_back("--no-exchange");
  const std::string logs = logsOn(options);
  const json clocks = clocksOf(logs, {"-o", path("aligned.json"), "-o", path("aligned.sqlite")});
  EXPECT_EQ(clocks["by"], "causal");
  ASSERT_EQ(clocks["hosts"].size(), 2U);
  const json& b = clocks["hosts"][1];
  EXPECT_EQ(b["host"], "b");
  EXPECT_EQ(b["ranks"], json({2, 3}));
  EXPECT_NEAR(b["offset_ns"], -10e6, b["bound_ns"]);
  EXPECT_LE(b["bound_ns"], 120'000);
  EXPECT_EQ(b["messages"], 20 * 16);
  EXPECT_EQ(b["early_as_logged"], 20 * 8);
  EXPECT_EQ(b["early"], 0);
  EXPECT_EQ(b["residual_ns"], 0);
  for (const char* const profile : {"aligned.json", "aligned.sqlite"}) {
    const json again = clocksOf(path(profile));
    EXPECT_EQ(again["by"], "log") << "the profile says how exact its clocks are";
    EXPECT_EQ(again["hosts"][1]["offset_ns"], 0);
    EXPECT_EQ(again["hosts"][1]["bound_ns"], b["bound_ns"]);
    EXPECT_EQ(again["hosts"][1]["early_as_logged"], 0);
  }
}

TEST_F(AlignCommand, TableSaysHowTheClocksWereAligned) {
  const std::string logs = logsOn(kSkews);
  const ProgramRun byLog = run({"align", logs});
  EXPECT_EQ(byLog.exitCode, 0);
  EXPECT_THAT(byLog.out, AllOf(HasSubstr("host"), HasSubstr("-10.00 ms  -40.00 ppm      1 ns"),
                               HasSubstr("by what the logs know of the clocks")));
  EXPECT_THAT(run({"align", logs, "--align", "causal"}).out, HasSubstr("by the order of messages"));
  const ProgramRun none = run({"align", logs, "--align", "none", "-o", path("as logged.json")});
  EXPECT_THAT(none.out, AllOf(HasSubstr("times are as logged"), HasSubstr("wrote ")));
  EXPECT_EQ(clocksOf(path("as logged.json"))["hosts"][1]["early_as_logged"], 160);
}

TEST_F(AlignCommand, ClockThatNothingBoundsIsNotSaidToBeExact) {
  std::vector<std::string> options = kSkews;
  options.emplace_back("--no-exchange");
  const std::string logs = logsOn(options);
  const ProgramRun none = run({"align", logs, "--align", "none", "--strict"});
  EXPECT_EQ(none.exitCode, 1);
  EXPECT_THAT(none.err, HasSubstr("warning: messages arrive before they are sent"));
  EXPECT_THAT(none.out, HasSubstr("0 ns  0.00 ppm         -  "));
  const json clocks = clocksOf(logs, {"--align", "none"});
  EXPECT_EQ(clocks["hosts"][0]["bound_ns"], 0);
  EXPECT_EQ(clocks["hosts"][1]["bound_ns"], nullptr);
  const ProgramRun report = run({"report", logs, "--align", "none", "--strict"});
  EXPECT_EQ(report.exitCode, 1);
  EXPECT_THAT(report.out, HasSubstr("arrive before they are sent, by 9."));
}

TEST_F(AlignCommand, EveryCommandThatReadsARunWarnsOnceOfMessagesThatComeTooEarly) {
  std::vector<std::string> options = kSkews;
  options.emplace_back("--no-exchange");
  const std::string logs = logsOn(options);
  const std::string warning = "warning: messages arrive before they are sent";
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"show"}, {"report"}, {"-o", path("run.json")}}) {
    std::vector<std::string> arguments = command;
    arguments.insert(arguments.end(), {logs, "--align", "none"});
    const ProgramRun early = run(arguments);
    if (command.front() == "show") {
      EXPECT_THAT(early.err, HasSubstr(warning));
      EXPECT_EQ(early.err.find(warning), early.err.rfind(warning));
    } else {  // figures begin with it
      EXPECT_THAT(early.err, Not(HasSubstr(warning))) << command.front();
      EXPECT_THAT(early.out, testing::StartsWith("doubt: ")) << command.front();
      EXPECT_THAT(early.out, HasSubstr("clocks are apart")) << command.front();
    }
    // Without the option their clocks are put right by the messages.
    arguments.resize(arguments.size() - 2);
    EXPECT_THAT(run(arguments).err, Not(HasSubstr(warning))) << command.front();
  }
}

TEST_F(AlignCommand, PartsOfARunAreForProfilesOnly) {
  const std::string logs = logsOn(kSkews);
  const ProgramRun alone = run({"align", logs, "--ranks", "2"});
  EXPECT_EQ(alone.exitCode, 2);
  EXPECT_THAT(alone.err, HasSubstr("--ranks and --skip choose what the profiles of -o hold"));
  EXPECT_EQ(run({"align", logs, "--ranks", "2", "-o", path("part.json")}).exitCode, 0);
}

TEST_F(AlignCommand, ARunOfOneHostIsLeftAsItIs) {
  std::vector<std::string> options = {"--skew", "a=1s", "--skew", "b=1s"};
  const json several = clocksOf(logsOn(options));
  EXPECT_EQ(several["hosts"][1]["offset_ns"], 0) << "equally wrong clocks agree";
  const std::string sampleLogs = logs(sample());
  const json one = clocksOf(sampleLogs, {"--align", "log"});
  EXPECT_EQ(one["by"], "none");
}

TEST_F(AlignCommand, ContradictingMessagesAreAFinding) {
  std::vector<std::string> options = kSkews;
  options.emplace_back("--no-exchange");
  const std::string logs = logsOn(options);
  // Each host is said to have a rank of the other, whose clock is 10 ms off.
  for (const auto& [rank, from, to] :
       {std::tuple("1", "host = a", "host = b"), std::tuple("2", "host = b", "host = a")}) {
    std::string log = contents(logs + "workerlog." + rank);
    const std::size_t at = log.find(from);
    ASSERT_NE(at, std::string::npos);
    write(std::string("logs/workerlog.") + rank, log.replace(at, 8, to));
  }
  const ProgramRun result = run({"align", logs, "--strict"});
  EXPECT_EQ(result.exitCode, 1);
  EXPECT_THAT(result.err,
              AllOf(HasSubstr("with any offset and drift between the clocks of b and a"),
                    HasSubstr("no clock was aligned"), HasSubstr("from rank 2 to rank 1"),
                    Not(HasSubstr("moved"))));
  EXPECT_THAT(result.out, HasSubstr("times are as logged"));
}

}  // namespace
}  // namespace pipetrace
