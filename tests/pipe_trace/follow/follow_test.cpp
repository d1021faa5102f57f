#include <fcntl.h>

#include <csignal>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>

#include "tests/pipe_trace/follow/follow_fixture.h"

namespace pipetrace {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::AnyOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::MatchesRegex;
using testing::Not;

TEST_F(Follow, GrowingLogsGiveTheSameEventsAsWholeOnes) {
  const std::string whole = logs(sample(5), "whole");
  const auto grow = [&](pid_t) {
    // Ranks are written in pieces that end anywhere, the last rank comes late.
    std::vector<std::string> texts;
    for (int rank = 0; rank < 4; ++rank) {
      std::string& text = texts.emplace_back();
      for (const std::string& line : linesOf(whole, rank)) text += line;
    }
    for (int piece = 0; piece < 3; ++piece) {
      for (int rank = 0; rank < 3; ++rank) {
        const std::size_t from = texts[rank].size() * piece / 3;
        append(rank, texts[rank].substr(from, texts[rank].size() * (piece + 1) / 3 - from));
      }
      if (piece == 0) append(3, texts[3].substr(0, 2000));
      if (piece == 1) append(3, texts[3].substr(2000, texts[3].size() / 2));
      if (piece == 1) {
        EXPECT_TRUE(waitUntil([&] { return !stepsWritten().empty(); }));
      }
      if (piece == 2) append(3, texts[3].substr(2000 + texts[3].size() / 2));
    }
  };
  const ProgramRun result = follow(grow);
  EXPECT_EQ(result.exitCode, 0) << result.err;
  // On a busy machine it may have begun to wait for the last rank, and says so once.
  EXPECT_THAT(result.err, AnyOf(IsEmpty(), MatchesRegex("pipe-trace: waiting for [^\n]*\n")));
  EXPECT_THAT(result.out, HasSubstr("5 steps, 360 jobs, 480 transfers"));
  EXPECT_TRUE(nlohmann::json::accept(profile()));
  EXPECT_EQ(eventsOf(path("live.json")), eventsOf(whole));
  // Bubbles and arrows, too.
  run({whole, "-o", path("whole.json")});
  const auto figuresIn = [&](const std::string& file) {
    return nlohmann::json::parse(run({"info", file, "--json"}).out);
  };
  for (const char* field : {"events", "jobs", "flows", "steps", "topology"}) {
    EXPECT_EQ(figuresIn(path("live.json"))[field], figuresIn(path("whole.json"))[field]) << field;
  }
}

TEST_F(Follow, OnlyFinishedStepsAreInItAndCtrlCEndsItCleanly) {
  const std::string whole = logs(sample(4), "whole");
  std::vector<std::string> texts;
  for (int rank = 0; rank < 4; ++rank) {
    std::string text;
    for (const std::string& line : linesOf(whole, rank)) {
      if (line.find("step = 3") == std::string::npos &&
          line.find("Profiler End") == std::string::npos) {
        text += line;
      }
    }
    // One rank is late: the optimizer of its third step is missing.
    if (rank == 2) text.erase(text.rfind("Profiler Info"));
    append(rank, text);
  }
  for (const int signal : {SIGINT, SIGTERM}) {
    fs::remove(path("live.json"));
    const ProgramRun result = follow([&](pid_t program) {
      EXPECT_TRUE(waitUntil([&] { return stepsWritten().contains(1); }));
      ::kill(program, signal);
    });
    EXPECT_EQ(result.exitCode, 0);
    EXPECT_EQ(result.signal, 0);
    EXPECT_THAT(result.out, HasSubstr("2 steps"));
    EXPECT_TRUE(nlohmann::json::accept(profile()));
    EXPECT_EQ(stepsWritten(), (std::set<int>{0, 1}));
  }
}

TEST_F(Follow, SamplesAndCountsOfErrorsThatComeWithoutAJobAreInIt) {
  Simulation simulated = sample(2);
  simulated.timeline.counters.clear();
  for (int rank = 0; rank < 4; ++rank) {
    RankInfo& info = simulated.timeline.ranks.at(rank);
    info.hasEnd = true;
    info.misuses = 3;
    info.failedWrites = 2;
    CounterSeries& series = simulated.timeline.counters.emplace_back();
    series.rank = rank;
    series.name = "loss";
    for (int n = 1; n < 4; ++n) {
      series.samples.push_back({simulated.timeline.span().begin + n * kNsPerMs, 0.5});
    }
  }
  const std::string whole = logs(simulated, "whole");
  std::vector<std::string> after(4);
  for (int rank = 0; rank < 4; ++rank) {
    for (const std::string& line : linesOf(whole, rank)) {
      const bool isSample = line.find("Profiler Counter") != std::string::npos;
      if (isSample || !after[rank].empty()) {
        after[rank] += line;
      } else {
        append(rank, line);
      }
    }
    EXPECT_THAT(after[rank], HasSubstr("Profiler Counter"));
  }
  const ProgramRun result = follow([&](pid_t) {
    EXPECT_TRUE(waitUntil([&] { return stepsWritten().contains(0); }));
    for (int rank = 0; rank < 4; ++rank) append(rank, after[rank]);
  });
  EXPECT_EQ(result.exitCode, 0) << result.err;
  const auto counters = [&](const std::string& input) {
    return nlohmann::json::parse(run({"info", input, "--json"}).out)["counters"];
  };
  EXPECT_GT(counters(whole), 0);
  EXPECT_EQ(counters(path("live.json")), counters(whole));
  EXPECT_THAT(profile(), HasSubstr(R"(\"misuses\":3,\"failed_writes\":2)"));
}

TEST_F(Follow, StepsRanksAndTypesAreChosenAsInAConversion) {
  Simulation simulated = sample(5);
  for (int rank = 0; rank < 4; ++rank) {
    CounterSeries& series = simulated.timeline.counters.emplace_back();
    series.rank = rank;
    series.name = "loss";
    const Timeline::Span span = simulated.timeline.span();
    for (Nanoseconds at = span.begin; at < span.end; at += 10 * kNsPerMs) {
      series.samples.push_back({at, 0.5});
    }
  }
  const std::string whole = logs(simulated, "whole");
  const std::vector<std::string> choice = {"--steps", "1:3", "--ranks", "1,2", "--skip", "lr"};
  const ProgramRun result = follow(
      [&](pid_t) {
        std::vector<std::string> rests;
        for (int rank = 0; rank < 4; ++rank) {
          std::string& rest = rests.emplace_back();
          for (const std::string& line : linesOf(whole, rank)) {
            if (rest.empty() && line.find("step = 3") == std::string::npos) {
              append(rank, line);
            } else {
              rest += line;
            }
          }
        }
        EXPECT_TRUE(waitUntil([&] { return stepsWritten().contains(1); }));
        for (int rank = 0; rank < 4; ++rank) append(rank, rests[rank]);
      },
      choice);
  EXPECT_EQ(result.exitCode, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("2 steps"));
  EXPECT_EQ(stepsWritten(), (std::set<int>{1, 2}));
  std::vector<std::string> conversion = {whole, "-q", "-o", path("whole.json")};
  conversion.insert(conversion.end(), choice.begin(), choice.end());
  ASSERT_EQ(run(conversion).exitCode, 0);
  EXPECT_EQ(eventsOf(path("live.json")), eventsOf(path("whole.json")));
  const auto figuresIn = [&](const std::string& file) {
    return nlohmann::json::parse(run({"info", file, "--json"}).out);
  };
  for (const char* field : {"events", "jobs", "flows", "steps", "ranks", "counters"}) {
    EXPECT_EQ(figuresIn(path("live.json"))[field], figuresIn(path("whole.json"))[field]) << field;
  }
  EXPECT_GT(figuresIn(path("live.json"))["counters"], 100);
}

TEST_F(Follow, AChoiceThatLeavesNothingIsAFinding) {
  fs::remove_all(path("live"));
  logs(sample(2), "live");
  const ProgramRun result =
      run({path("live"), "--follow", "-o", path("live.json"), "--steps", "7", "--strict"});
  EXPECT_EQ(result.exitCode, 1);
  EXPECT_THAT(result.err, HasSubstr("--steps, --ranks and --skip"));
  EXPECT_TRUE(nlohmann::json::accept(profile()));
}

TEST_F(Follow, NoSampleIsLostHoweverLateItsLineComes) {
  const std::string whole = logs(sample(3), "whole");
  const auto late = [](int number) {
    // Earlier than all jobs, and unlike each other.
    return "Profiler Counter: name = late, time = 1697793307" + std::to_string(200 + number) +
           ".000000, value = " + std::to_string(number) + "\n";
  };
  const auto grow = [&](pid_t) {
    int number = 0;
    std::vector<std::vector<std::string>> lines;
    for (int rank = 0; rank < 4; ++rank) lines.push_back(linesOf(whole, rank));
    for (int step = 0; step <= 3; ++step) {
      const std::string next = " step = " + std::to_string(step + 1);
      for (int rank = 0; rank < 4; ++rank) {
        auto& rest = lines[rank];
        const auto isLater = [&](const std::string& line) {
          return line.find(next) != std::string::npos ||
                 line.find("Profiler End") != std::string::npos;
        };
        while (!rest.empty() && (step == 3 || !isLater(rest.front()))) {
          append(rank, rest.front());
          rest.erase(rest.begin());
        }
      }
      // A line is read without any job, or with some: both must work.
      if (step < 3) append(step, late(number++));
      if (step > 0 && step < 3) {
        EXPECT_TRUE(waitUntil([&] { return stepsWritten().contains(step - 1); }));
        for (int rank = 0; rank < 4; ++rank) append(rank, late(number++));
      }
    }
  };
  const ProgramRun result = follow(grow);
  EXPECT_EQ(result.exitCode, 0) << result.err;
  const auto samplesOf = [&](const std::string& input) {
    return nlohmann::json::parse(run({"info", input, "--json"}).out)["counters"].get<int>();
  };
  EXPECT_EQ(samplesOf(path("live")), samplesOf(whole) + 11);
  EXPECT_EQ(samplesOf(path("live.json")), samplesOf(whole) + 11);
}

TEST_F(Follow, MissingRanksAreNamedOnce) {
  const std::string whole = logs(sample(2), "whole");
  write("err", "");
  const std::string errorFile = path("err");
  const auto appendAll = [&](int rank) {
    for (const std::string& line : linesOf(whole, rank)) append(rank, line);
  };
  for (int rank = 0; rank < 3; ++rank) appendAll(rank);
  const auto grow = [&](pid_t) {
    EXPECT_TRUE(waitUntil([&] { return !contents(errorFile).empty(); }));
    appendAll(3);
  };
  const auto errorsToFile = [&] {
    ::dup2(::open(errorFile.c_str(), O_WRONLY | O_APPEND), STDERR_FILENO);
  };
  const ProgramRun result = run({path("live"), "--follow", "-o", path("live.json")},
                                {.inChild = errorsToFile, .meanwhile = grow});
  EXPECT_EQ(result.exitCode, 0);
  EXPECT_EQ(contents(errorFile), "pipe-trace: waiting for rank 3\n");
}

TEST_F(Follow, InputsThatCannotGrowAreRefused) {
  run({logs(sample(), "whole"), "-o", path("p.json"), "-o", path("p.pftrace"), "-q"});
  for (const char* name : {"p.json", "p.pftrace"}) {
    expectError(run({path(name), "--follow", "-o", path("live.json")}), std::string(name) + " (",
                "cannot be followed, only job logs that still grow");
  }
  expectError(run({path("p.json"), "--follow", "-o", path("live.json")}), "Chrome JSON",
              "leave out --follow");
  write("workerlog.0.gz", "\x1f\x8b");
  expectError(run({path("workerlog.0.gz"), "--follow", "-o", path("live.json")}), "compressed",
              "leave out --follow");
}

TEST_F(Follow, ItIsAProfileWheneverItIsCutOff) {
  const std::string whole = logs(sample(4), "whole");
  std::string last;
  for (int rank = 0; rank < 4; ++rank) {
    std::vector<std::string> lines = linesOf(whole, rank);
    if (rank == 3) last = lines.back();
    if (rank == 3) lines.pop_back();
    std::string text;
    for (const std::string& line : lines) text += line;
    append(rank, text);
  }
  const ProgramRun result = follow([&](pid_t program) {
    EXPECT_TRUE(waitUntil([&] { return stepsWritten().contains(2); }));
    ::kill(program, SIGKILL);
  });
  EXPECT_EQ(result.signal, SIGKILL);
  EXPECT_THAT(profile(), Not(testing::EndsWith("]\n")));
  const ProgramRun read = run({path("live.json"), "--strict"});
  EXPECT_THAT(read.out, HasSubstr("4 ranks"));
  EXPECT_EQ(read.exitCode, 0) << read.err;
}

TEST_F(Follow, ARunThatReplacesTheLogsIsReported) {
  const std::string whole = logs(sample(3), "whole");
  for (int rank = 0; rank < 4; ++rank) {
    std::vector<std::string> lines = linesOf(whole, rank);
    lines.pop_back();
    for (const std::string& line : lines) append(rank, line);
  }
  write("err", "");
  const std::string errorFile = path("err");
  const auto isReported = [&](const char* log) {
    return contents(errorFile).find(path("live/") + log + ": warning") != std::string::npos;
  };
  const auto replace = [&](pid_t program) {
    EXPECT_TRUE(waitUntil([&] { return stepsWritten().contains(1); }));
    write("live/workerlog.0", linesOf(whole, 0).front());  // cut short
    append(1, linesOf(whole, 1).front());                  // a second Meta line
    fs::remove(path("live/workerlog.2"));                  // replaced
    write("live/workerlog.2", "again\n" + contents(whole + "/workerlog.2"));
    for (const char* log : {"workerlog.0", "workerlog.1", "workerlog.2"}) {
      EXPECT_TRUE(waitUntil([&] { return isReported(log); })) << log;
    }
    ::kill(program, SIGINT);
  };
  const auto errorsToFile = [&] {
    ::dup2(::open(errorFile.c_str(), O_WRONLY | O_APPEND), STDERR_FILENO);
  };
  const ProgramRun result = run({path("live"), "--follow", "--strict", "-o", path("live.json")},
                                {.inChild = errorsToFile, .meanwhile = replace});
  EXPECT_EQ(result.exitCode, 1);
  EXPECT_THAT(contents(errorFile), HasSubstr("a new run has begun"));
}

TEST_F(Follow, OnlyChromeJsonInAFileCanGrow) {
  const std::string folder = logs(sample());
  for (const char* output : {"a.pftrace", "a.sqlite", "a.csv"}) {
    expectError(run({folder, "--follow", "-o", path(output)}), path(output), "NAME.json");
  }
  expectError(run({folder, "--follow", "-o", "-"}), "standard output", "NAME.json");
  expectError(run({folder, "--follow"}), "--follow", "-o NAME.json");
  expectError(run({folder, "--follow", "-o", path("a.json"), "-o", path("b.json")}), "one profile",
              "once");
  expectError(run({"-", "--follow", "-o", path("a.json")}), "standard input", "files");
  expectError(run({path("none"), "--follow", "-o", path("a.json")}), path("none"),
              "check the name");
  EXPECT_THAT(names(), Not(testing::Contains("a.json")));
}

}  // namespace
}  // namespace pipetrace
