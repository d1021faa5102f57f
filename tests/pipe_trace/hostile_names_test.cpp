// Names in logs, traces and of files that would do something to the terminal that shows them.
#include "tests/pipe_trace/fixture.h"
#include "trace/text/fit_to_print.h"

namespace pipetrace {
namespace {

/// Clears the screen, rings, returns, and turns the direction of what follows.
constexpr const char* kHostile = "n\x1b[2J\x07\x7f\u009b31m\u202e\rx";

class HostileNames : public PipeTrace {
 protected:
  std::string hostileLogs() const {
    Simulation made = sample(3);
    Timeline& timeline = made.timeline;
    for (auto& [rank, info] : timeline.ranks) {
      info.host = info.schedule = info.clock = info.device = kHostile;
    }
    timeline.counters.push_back({.rank = 0, .name = kHostile, .unit = kHostile});
    timeline.counters.back().samples.push_back({timeline.span().begin, 1});
    Event event = timeline.findTrack(0, kComputeLane)->events.front();
    event.kind = JobKind::kOther;
    event.name = timeline.strings.intern(kHostile);
    timeline.track(0, "other").events.push_back(event);
    timeline.sort();
    return logs(made, std::string("logs ") + kHostile);
  }

  /// A trace of torch.profiler with such names.
  std::string hostileTrace() const {
    const std::string name = R"(a\u001b[2J\u0007\u202e\r)";
    std::string text = R"({"schemaVersion": 1, "distributedInfo": {"backend": ")" + name +
                       R"(", "rank": 0, "world_size": 1}, "traceEvents": [)";
    for (int i = 0; i < 8; ++i) {
      text += std::string(i == 0 ? "" : ",") + R"({"ph":"X","cat":"user_annotation","name":")" +
              (i % 2 == 0 ? "PP:0F" + std::to_string(i / 2) : name) + R"(","pid":")" + name +
              R"(","tid":")" + name + R"(","ts":)" + std::to_string(100 + 100 * i) +
              R"(,"dur":50,"args":{}})";
    }
    write("trace.json", text + "]}");
    return path("trace.json");
  }

  static void expectFit(const ProgramRun& result) {
    EXPECT_EQ(result.out, fitToPrint(result.out));
    EXPECT_EQ(result.err, fitToPrint(result.err));
  }
};

TEST_F(HostileNames, NoCommandPrintsControlCharacters) {
  const std::string folder = hostileLogs();
  const std::string trace = hostileTrace();
  const std::vector<std::vector<std::string>> commands = {
      {}, {"report"}, {"report", "--by-name"}, {"info"}, {"align"}, {"show"}, {"advise"}};
  for (const std::vector<std::string>& command : commands) {
    for (const std::string& input : {folder, trace}) {
      SCOPED_TRACE((command.empty() ? "summary" : command.front()) + " " + fitToPrint(input));
      std::vector<std::string> arguments = command;
      arguments.push_back(input);
      const ProgramRun result = run(arguments);
      EXPECT_FALSE(result.out.empty() && result.err.empty());
      expectFit(result);
    }
  }
  expectFit(run({"diff", folder, folder}));
  expectFit(run({"what-if", folder, "--scale", "stage=0:0.5"}));
}

TEST_F(HostileNames, MessagesAboutFilesAreFit) {
  const std::string name = std::string("no such ") + kHostile;
  expectFit(run({path(name)}));
  expectFit(run({"report", path(name)}));
  expectFit(run({name}));
  expectFit(run({"plan", "--schedule", name}));
  const ProgramRun written = run({logs(sample()), "-o", path(std::string(kHostile) + ".json")});
  EXPECT_EQ(written.exitCode, 0);
  EXPECT_THAT(written.out, testing::HasSubstr("wrote"));
  expectFit(written);
}

TEST_F(HostileNames, JsonKeepsNamesAsTheyAre) {
  const ProgramRun result = run({"info", hostileLogs(), "--json"});
  EXPECT_EQ(result.exitCode, 0) << fitToPrint(result.err);
  EXPECT_THAT(result.out, testing::HasSubstr("\u202e"));
}

}  // namespace
}  // namespace pipetrace
