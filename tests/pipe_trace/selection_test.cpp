#include <nlohmann/json.hpp>
#include <set>

#include "tests/pipe_trace/fixture.h"

namespace pipetrace {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

/// Options that choose a part of a run, and that say how its ranks are arranged.
class SelectionOptions : public PipeTrace {
 protected:
  static json infoOf(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "info");
    arguments.emplace_back("--json");
    const ProgramRun result = run(arguments);
    EXPECT_EQ(result.exitCode, 0) << result.err;
    return json::parse(result.out);
  }

  json profileOf(std::vector<std::string> arguments) const {
    arguments.insert(arguments.end(), {"-q", "-o", path("p.json")});
    const ProgramRun result = run(arguments);
    EXPECT_EQ(result.exitCode, 0) << result.err;
    return json::parse(contents(folder_ / "p.json"));
  }

  static std::set<int> stepsOf(const json& profile) {
    std::set<int> steps;
    for (const json& event : profile["traceEvents"]) {
      if (event["ph"] == "X") steps.insert(event["args"].value("step", -1));
    }
    return steps;
  }

  static std::set<int> ranksOf(const json& profile) {
    std::set<int> ranks;
    for (const json& event : profile["traceEvents"]) {
      if (event["ph"] == "X") ranks.insert(event["pid"].get<int>() - 1);
    }
    return ranks;
  }

  static std::set<std::string> typesOf(const json& profile) {
    std::set<std::string> types;
    for (const json& event : profile["traceEvents"]) {
      if (event["ph"] == "X") types.insert(event["cat"]);
    }
    return types;
  }

  static std::string jobLine(const std::string& type, int microBatch, int begin, int end) {
    return "Profiler Info: Job (" + std::to_string(microBatch) + "), type = " + type +
           ", micro_batch_id = " + std::to_string(microBatch) +
           ", job_start_time = " + std::to_string(begin) +
           ".000000, job_end_time = " + std::to_string(end) + ".000000\n";
  }
};

TEST_F(SelectionOptions, StepsAreWrittenFromTheFirstToBelowTheLast) {
  const std::string folder = logs(sample(4));
  EXPECT_EQ(stepsOf(profileOf({folder, "--steps", "1:3"})), (std::set<int>{1, 2}));
  EXPECT_EQ(stepsOf(profileOf({folder, "--steps", "2:"})), (std::set<int>{2, 3}));
  EXPECT_EQ(stepsOf(profileOf({folder, "--steps", ":2"})), (std::set<int>{0, 1}));
  EXPECT_EQ(stepsOf(profileOf({folder, "--steps", "3"})), (std::set<int>{3}));
  const json found = infoOf({folder, "--steps", "1:3"});
  EXPECT_EQ(found["steps"], 2);
  EXPECT_EQ(found["jobs"], 2 * 4 * 18);
  EXPECT_EQ(found["flows"].get<int>() * 2, infoOf({folder})["flows"].get<int>());
}

TEST_F(SelectionOptions, BubblesAndNumbersOfAStepAreThoseOfTheWholeRun) {
  const std::string folder = logs(sample(3));
  const json whole = json::parse(run({folder, "--json"}).out);
  const json part = json::parse(run({folder, "--json", "--steps", "1", "-o", path("p.json")}).out);
  ASSERT_EQ(part["steps"].size(), 1U);
  EXPECT_EQ(part["steps"][0], whole["steps"][1]);
  EXPECT_DOUBLE_EQ(part["bubble_ratio"], whole["steps"][1]["bubble_ratio"]);
  std::int64_t idle = 0;
  const json profile = json::parse(contents(folder_ / "p.json"));
  for (const json& event : profile["traceEvents"]) {
    if (event["ph"] == "X" && event["cat"] == "bubble") {
      idle += std::llround(event["dur"].get<double>() * 1000);
    }
  }
  std::int64_t sum = 0;
  for (const json& rank : part["ranks"]) sum += rank["idle_ns"].get<std::int64_t>();
  EXPECT_EQ(idle, sum);
  EXPECT_GT(idle, 0);
}

TEST_F(SelectionOptions, RanksAreAListWithRanges) {
  const std::string folder = logs(sample());
  EXPECT_EQ(ranksOf(profileOf({folder, "--ranks", "0,2-3"})), (std::set<int>{0, 2, 3}));
  EXPECT_EQ(infoOf({folder, "--ranks", "3"})["ranks"], 1);
  const json one = json::parse(run({folder, "--ranks", "1", "--json"}).out);
  ASSERT_EQ(one["ranks"].size(), 1U);
  EXPECT_EQ(one["ranks"][0], json::parse(run({folder, "--json"}).out)["ranks"][1]);
}

TEST_F(SelectionOptions, TypesAreLeftOut) {
  const std::string folder = logs(sample());
  EXPECT_EQ(typesOf(profileOf({folder, "--skip", "recv_forward,lr", "--skip", "bubble"})),
            (std::set<std::string>{"forward", "backward", "optimizer", "send_forward",
                                   "send_backward", "recv_backward"}));
  EXPECT_EQ(infoOf({folder, "--skip", "none"})["events"], infoOf({folder})["events"]);
}

TEST_F(SelectionOptions, AChoiceThatDoesNotOccurIsAFindingForStrict) {
  const std::string folder = logs(sample(2));
  const ProgramRun result = run({folder, "--ranks", "0,9", "--strict", "-q"});
  EXPECT_EQ(result.exitCode, 1);
  EXPECT_THAT(result.err,
              AllOf(HasSubstr("warning: --ranks names rank 9"), HasSubstr("ranks 0 to 3")));
  EXPECT_THAT(run({folder, "--skip", "typo"}).err, HasSubstr("the type typo"));
  EXPECT_THAT(run({"info", folder, "--steps", "1:9"}).err, HasSubstr("2 steps from 0 to 1"));
}

TEST_F(SelectionOptions, NothingLeftIsAnError) {
  const std::string folder = logs(sample(2));
  expectError(run({folder, "--steps", "7:9"}), "nothing is left", "2 steps from 0 to 1");
  expectError(run({"info", folder, "--ranks", "4-7"}), "nothing is left", "ranks 0 to 3");
  expectError(run({"show", folder, "--steps", "5"}), "nothing is left", "2 steps from 0 to 1");
}

TEST_F(SelectionOptions, RangesThatMakeNoSenseAreRefused) {
  for (const char* steps : {"", ":", "2:2", "3:1", "a", "1:b", "-1", "1:2:3", "1.5", ":0"}) {
    const ProgramRun result = run({"info", "x", std::string("--steps=") + steps});
    EXPECT_EQ(result.exitCode, 2) << steps;
    EXPECT_THAT(result.err, HasSubstr("--steps")) << steps;
  }
  for (const char* ranks : {"3-1", "a", "1-", "-1", "2:3"}) {
    const ProgramRun result = run({"info", "x", std::string("--ranks=") + ranks});
    EXPECT_EQ(result.exitCode, 2) << ranks;
    EXPECT_THAT(result.err, AllOf(HasSubstr("--ranks"), Not(HasSubstr("cannot open")))) << ranks;
  }
}

TEST_F(SelectionOptions, RanksLeftOutOfAProfileAreNotMissingWhenItIsReadAgain) {
  const std::string folder = logs(sample());
  for (const char* name : {"some.json", "some.pftrace", "some.sqlite"}) {
    ASSERT_EQ(run({folder, "--ranks", "1,2", "-o", path(name), "-q"}).exitCode, 0);
    const ProgramRun strict = run({"info", path(name), "--strict"});
    EXPECT_EQ(strict.exitCode, 0) << name;
    EXPECT_THAT(strict.err, IsEmpty()) << name;
  }
  ASSERT_EQ(run({folder, "--ranks", "0-3", "-o", path("all.json"), "-q"}).exitCode, 0);
  EXPECT_THAT(contents(folder_ / "all.json"), Not(HasSubstr("selected")));
}

TEST_F(SelectionOptions, ShowDrawsTheRanksAndStepsThatAreAskedFor) {
  const std::string folder = logs(sample(3));
  const ProgramRun ranks = run({"show", folder, "--ranks", "1-2", "--step", "0"});
  EXPECT_THAT(ranks.out, AllOf(HasSubstr("\nrank 1 "), HasSubstr("\nrank 2 "),
                               Not(HasSubstr("\nrank 0")), Not(HasSubstr("\nrank 3"))));
  const ProgramRun steps = run({"show", folder, "--steps", "1:3", "--width", "300"});
  EXPECT_THAT(steps.out, StartsWith("steps 1 to 2 of 0 to 2: "));
  const std::size_t row = steps.out.find("\nrank 0 ");
  const std::string first = steps.out.substr(row, steps.out.find('\n', row + 1) - row);
  EXPECT_NE(first.find("F0"), first.rfind("F0"));  // once a step
  EXPECT_EQ(run({"show", folder, "--step", "1", "--steps", "1"}).exitCode, 2);
}

TEST_F(SelectionOptions, OptionsGiveTheTopologyThatLogsDoNotSay) {
  for (int rank = 0; rank < 4; ++rank) {
    write("workerlog." + std::to_string(rank), jobLine("forward", 0, 10 + rank, 20 + rank) +
                                                   jobLine("backward", 0, 34 - rank, 40 - rank));
  }
  EXPECT_EQ(infoOf({path("")})["topology"], "unknown");
  EXPECT_EQ(infoOf({path(""), "--pp", "2", "--vpp", "1"})["topology"],
            json({{"pp", 2}, {"dp", 2}, {"vpp", 1}}));
  EXPECT_EQ(infoOf({path("")})["flows"], 7);               // one chain through all eight jobs ...
  EXPECT_EQ(infoOf({path(""), "--dp", "2"})["flows"], 6);  // two chains
  const json summary = json::parse(run({path(""), "--dp", "2", "--json"}).out);
  EXPECT_EQ(summary["topology_inferred"], false);
  EXPECT_EQ(summary["steps"].size(), 2U);  // one of each pipeline
}

TEST_F(SelectionOptions, TopologyThatContradictsTheLogsIsAnErrorThatNamesBoth) {
  const ProgramRun result = run({"info", logs(sample()), "--pp", "2"});
  EXPECT_EQ(result.exitCode, 2);
  EXPECT_THAT(result.err, HasSubstr("--pp 2 contradicts the logs, which say 4"));
  EXPECT_EQ(run({"info", "x", "--pp", "0"}).exitCode, 2);
}

TEST_F(SelectionOptions, TimesAreInRankZerosClockUnlessAskedOtherwise) {
  for (int rank = 0; rank < 2; ++rank) {
    std::string log = "Profiler Meta: version = 1, rank = " + std::to_string(rank) + "\n";
    if (rank == 1) {
      log +=
          "Profiler Clock: time = 10.000000, offset_ns = 250, bound_ns = 30\n"
          "Profiler Clock: time = 20.000000, offset_ns = 1250, bound_ns = 40\n";
    }
    write("workerlog." + std::to_string(rank), log + jobLine("forward", 0, 10, 15));
  }
  const json found = infoOf({path("workerlog.1"), path("workerlog.0")});
  EXPECT_EQ(found["begin_ns"], 10'000'000);
  EXPECT_EQ(found["end_ns"], 15'000'750);
  EXPECT_EQ(found["clock"], json({{"source", nullptr}, {"aligned", true}, {"bound_ns", 40}}));
  const json raw = infoOf({path(""), "--align", "none"});
  EXPECT_EQ(raw["end_ns"], 15'000'000);
  EXPECT_EQ(raw["clock"], json({{"source", nullptr}, {"aligned", false}, {"bound_ns", 40}}));

  run({path("workerlog.0"), path("workerlog.1"), "-o", path("p.pftrace")});
  EXPECT_EQ(infoOf({path("p.pftrace")})["end_ns"], found["end_ns"]);  // not moved once more
  EXPECT_EQ(infoOf({path("p.pftrace")})["clock"], found["clock"]);
  EXPECT_EQ(run({"info", "x", "--align", "guess"}).exitCode, 2);
}

TEST_F(SelectionOptions, AbsoluteTimesAreThoseOfTheClockAndReadBackTheSame) {
  const std::string folder = logs(sample());
  const json profile = profileOf({folder, "--absolute-time"});
  // 2023-10-20, 00:00 UTC; the first job began at 09:15:07.213760986.
  EXPECT_EQ(profile["baseTimeNanoseconds"], 1'697'760'000'000'000'000);
  EXPECT_EQ(profile["otherData"]["pipetrace"]["origin_ns"], "1697760000000000000");
  EXPECT_THAT(contents(folder_ / "p.json"), HasSubstr("\"ts\":33307213760.986"));
  for (const char* name : {"p.json", "p.pftrace"}) {
    run({folder, "--absolute-time", "-o", path(name)});
    EXPECT_EQ(infoOf({path(name)})["begin_ns"], 1'697'793'307'213'760'986) << name;
    run({path(name), "-o", path("absolute.csv")});
    run({folder, "-o", path("direct.csv")});
    EXPECT_EQ(contents(folder_ / "absolute.csv"), contents(folder_ / "direct.csv")) << name;
  }
}

TEST_F(SelectionOptions, AbsoluteTimesBefore1970AreRefused) {
  write("workerlog.0",
        "Profiler Info: Job (0), type = forward, micro_batch_id = 0, "
        "job_start_time = -5.000000, job_end_time = 7.000000\n");
  for (const char* name : {"p.json", "p.pftrace"}) {
    expectError(run({path("workerlog.0"), "--absolute-time", "-o", path(name)}), "before",
                "leave out --absolute-time");
  }
  EXPECT_THAT(names(), ElementsAre("workerlog.0"));
}

TEST_F(SelectionOptions, TheLastOfASwitchAndItsOppositeHolds) {
  const std::string folder = logs(sample());
  EXPECT_EQ(typesOf(profileOf({folder, "--bubbles", "--no-bubbles"})).count("bubble"), 0U);
  EXPECT_EQ(typesOf(profileOf({folder, "--no-bubbles", "--bubbles"})).count("bubble"), 1U);
  EXPECT_EQ(typesOf(profileOf({folder})).count("bubble"), 1U);
  profileOf({folder, "--flows", "--no-flows"});
  EXPECT_EQ(infoOf({path("p.json")})["flows"], 0);
  profileOf({folder, "--no-flows", "--bubbles", "--no-flows", "--flows"});
  EXPECT_GT(infoOf({path("p.json")})["flows"], 0);
}

TEST_F(SelectionOptions, ThePaddlePairSkipsTheGivenTypesInsteadOfItsOwn) {
  write("workerlog.0", jobLine("lr", 0, 1, 2) + jobLine("forward", 0, 2, 4) +
                           jobLine("recv_forward", 1, 4, 5) + jobLine("send_backward", 0, 5, 6));
  const auto typesWith = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"--devices", "0", "--log_dir", folder_.string()});
    const ProgramRun result = run(more);
    EXPECT_EQ(result.exitCode, 0) << result.err;
    std::set<std::string> types;
    const json events = json::parse(contents(folder_ / "pipeline_profile.json"));
    for (const json& event : events["traceEvents"]) types.insert(event["cat"]);
    types.erase("step");
    return types;
  };
  using Types = std::set<std::string>;
  EXPECT_EQ(typesWith({}), (Types{"forward", "lr"}));
  EXPECT_EQ(typesWith({"--paddle-style", "2023"}),
            (Types{"forward", "recv_forward", "send_backward"}));
  EXPECT_EQ(typesWith({"--skip", "lr"}), (Types{"forward", "recv_forward", "send_backward"}));
  EXPECT_EQ(typesWith({"--skip", "none"}),
            (Types{"forward", "lr", "recv_forward", "send_backward"}));
  EXPECT_EQ(typesWith({"--paddle-style", "2023", "--skip", "recv_forward"}),
            (Types{"forward", "lr", "send_backward"}));
}

}  // namespace
}  // namespace pipetrace
