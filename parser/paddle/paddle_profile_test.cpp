#include "parser/paddle/paddle_profile.h"

#include <gmock/gmock.h>

#include <cmath>
#include <cstdlib>
#include <random>
#include <regex>

#include "parser/paddle/python_json.h"
#include "parser/testing/files.h"
#include "trace/error.h"

namespace pipetrace {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::ThrowsMessage;

std::string job(const std::string& id, const std::string& type, const std::string& microBatch,
                const std::string& begin, const std::string& end) {
  return "I1020 09:15:07.265326 22317 standalone_executor.cc:217] Profiler Info: Job (" + id +
         "), type = " + type + ", micro_batch_id = " + microBatch + ", job_start_time = " + begin +
         ", job_end_time = " + end + "\n";
}

class PaddleProfileTest : public test::FolderTest {
 protected:
  PaddleSummary convert(PaddleRequest request) {
    request.logFolder = folder_.string();
    Diagnostics diagnostics;
    OutputSet files;
    const PaddleSummary summary = writePaddleProfiles(request, files, diagnostics);
    files.commit();
    diagnostics_.clear();
    for (const Diagnostic& d : diagnostics.list()) diagnostics_.push_back(toText(d));
    return summary;
  }
  std::string profile() const { return contents("pipeline_profile.json"); }
  std::string perfetto() const { return contents("pipeline_profile_perfetto.json"); }

  std::vector<std::string> diagnostics_;
};

TEST_F(PaddleProfileTest, StepsOfOtherPhasesAreLeftOut) {
  const auto step = [](int number, const std::string& keys) {
    const std::string at = "100" + std::to_string(number);
    std::string line = job("0", "forward", "0", at + ".100000", at + ".200000");
    line.insert(line.size() - 1, ", id = " + at + keys);
    return line;
  };
  const std::string training = step(0, ", step = 0") + step(3, ", step = 3, action = 0F0");
  write("workerlog.0", training);
  EXPECT_EQ(convert({.devices = {0}}).steps, 2);
  const std::string without = profile() + perfetto();
  EXPECT_THAT(diagnostics_, IsEmpty());
  write("workerlog.0", step(0, ", step = 0") + step(1, ", step = 1, phase = evaluate") +
                           step(2, ", phase = predict, step = 2") +
                           step(3, ", step = 3, action = 0F0"));
  const PaddleSummary summary = convert({.devices = {0}});
  EXPECT_EQ(summary.steps, 2);
  EXPECT_EQ(summary.jobs, 2);
  EXPECT_EQ(profile() + perfetto(), without);
  EXPECT_THAT(diagnostics_,
              ElementsAre(HasSubstr("2 jobs of the phases evaluate and predict were left out")));
}

TEST_F(PaddleProfileTest, JobsThatPaddlePaddleDoesNotKnowAreLeftOut) {
  const std::string forward = job("0", "forward", "0", "1000.100000", "1000.200000");
  write("workerlog.0", forward);
  convert({.devices = {0}});
  const std::string without = profile() + perfetto();
  write("workerlog.0", forward + job("1", "checkpoint", "0", "1000.300000", "1000.400000"));
  EXPECT_EQ(convert({.devices = {0}}).jobs, 1);
  EXPECT_EQ(profile() + perfetto(), without);
  EXPECT_THAT(diagnostics_, IsEmpty());
}

/// The only genuine lines known; the doubles are what Python computes for them.
TEST_F(PaddleProfileTest, GenuineLinesGiveTheScriptsText) {
  write("workerlog.0",
        "noise\n" + job("3", "forward", "2", "1697793307213.760986", "1697793307254.006104"));
  EXPECT_EQ(convert({.devices = {0}}).jobs, 1);
  const std::string events =
      R"({"name": "forward_3", "cat": "forward", "ph": "B", "ts": 1697793307213761.0, "pid": 0, "tid": TID, "cname": "thread_state_running"}, )"
      R"({"name": "forward_3", "cat": "forward", "ph": "E", "pid": 0, "ts": 1697793307254006.0, "tid": TID, "cname": "thread_state_running"}, )"
      R"({"name": "step0", "cat": "step", "ph": "B", "ts": 0, "pid": 0, "tid": STEP, "cname": "thread_state_unknown"}, )"
      R"({"name": "step0", "cat": "step", "ph": "E", "ts": 1697793307254006.0, "pid": 0, "tid": STEP, "cname": "thread_state_unknown"})";
  const auto with = [&](const std::string& tid, const std::string& step) {
    return std::regex_replace(std::regex_replace(events, std::regex("TID"), tid),
                              std::regex("STEP"), step);
  };
  EXPECT_EQ(profile(), "{\"traceEvents\": [" + with("\"GPU0\"", "\"Step\"") + "]}");
  EXPECT_EQ(
      perfetto(),
      "{\"traceEvents\": [" + with("2334", "2333") +
          R"(, {"args": {"name": "STEP"}, "cat": "__metadata", "name": "thread_name", "ph": "M", "pid": 0, "tid": 2333, "ts": 0})"
          R"(, {"args": {"name": "GPU:0"}, "cat": "__metadata", "name": "thread_name", "ph": "M", "pid": 0, "tid": 2334, "ts": 0}]})");
  EXPECT_THAT(diagnostics_, IsEmpty());
}

TEST_F(PaddleProfileTest, StepsBeginWithTheFirstTypesFirstMicroBatchAndTransfersAreSkipped) {
  std::string log = "Schedule Profiler start at step 7 and end at step 9\n";
  for (const int at : {1000, 2000}) {
    log +=
        job("0", "recv_forward", "0", std::to_string(at - 100) + ".0", std::to_string(at) + ".0");
    log += job("0", "lr", "0", std::to_string(at) + ".0", std::to_string(at + 1) + ".0");
    log += job("1", "forward", "0", std::to_string(at + 2) + ".5", std::to_string(at + 9) + ".25");
    log += job("2", "send_backward", "0", "1.0", "2.0");
  }
  write("workerlog.0", log);
  const PaddleSummary summary = convert({.devices = {0}});
  EXPECT_EQ(summary.jobs, 4);
  EXPECT_EQ(summary.steps, 2);
  EXPECT_THAT(profile(),
              HasSubstr(R"("name": "step7", "cat": "step", "ph": "B", "ts": 1000000.0)"));
  EXPECT_THAT(profile(),
              HasSubstr(R"("name": "step7", "cat": "step", "ph": "E", "ts": 1009250.0)"));
  EXPECT_THAT(profile(),
              HasSubstr(R"("name": "step8", "cat": "step", "ph": "B", "ts": 2000000.0)"));
  EXPECT_THAT(profile(), testing::Not(HasSubstr("recv_forward")));
}

TEST_F(PaddleProfileTest, DevicesWithGapsAndEmptyLogsAreWrittenAlikeAndReported) {
  write("workerlog.3", job("0", "lr", "0", "5.0", "6.0"));
  write("workerlog.1", "nothing\n");
  convert({.devices = {3, 1}});
  EXPECT_THAT(perfetto(), HasSubstr("\"tid\": \"GPU3\"}"));
  EXPECT_THAT(diagnostics_, ElementsAre(HasSubstr("device 3 keeps its name"),
                                        HasSubstr("workerlog.1: warning: no job in it")));
}

TEST_F(PaddleProfileTest, MachinesAreInNaturalOrder) {
  for (const char* machine : {"machine10", "machine2"}) {
    write(std::string(machine) + "/workerlog.0", job(machine + 7, "forward", "0", "5.0", "6.0"));
  }
  EXPECT_EQ(convert({.devices = {0}, .multiMachine = true}).machines, 2);
  const auto begin = [](const std::string& number, const std::string& tid) {
    return "\"forward_" + number +
           "\", \"cat\": \"forward\", \"ph\": \"B\", \"ts\": 5000.0, \"pid\": 0, \"tid\": " + tid;
  };
  EXPECT_THAT(profile(), HasSubstr(begin("2", "\"GPU0(machine:0)\"")));
  EXPECT_THAT(profile(), HasSubstr(begin("10", "\"GPU0(machine:1)\"")));
  EXPECT_THAT(perfetto(), HasSubstr(begin("10", "2335")));
  EXPECT_THAT(perfetto(), HasSubstr("{\"name\": \"GPU:0(machine:1)\"}"));
}

TEST_F(PaddleProfileTest, TheStyleOf2023GivesItsText) {
  write("workerlog.0", job("0", "lr", "0", "1.0", "2.0") + job("4", "forward", "1", "2.5", "3.25"));
  write("workerlog.1", job("5", "backward_b", "0", "7.0", "8.0"));
  const PaddleSummary summary = convert({.devices = {0, 1}, .style = PaddleStyle::k2023});
  EXPECT_EQ(summary.jobs, 2);
  const std::string events =
      R"({"name": "F_4", "cat": "forward", "ph": "B", "ts": 2500.0, "pid": "Main", "tid": A, "cname": "thread_state_running"}, )"
      R"({"name": "F_4", "cat": "forward", "ph": "E", "pid": "Main", "ts": 3250.0, "tid": A, "cname": "thread_state_running"}, )"
      R"({"name": "B_5", "cat": "backward_b", "ph": "B", "ts": 7000.0, "pid": "Main", "tid": B}, )"
      R"({"name": "B_5", "cat": "backward_b", "ph": "E", "pid": "Main", "ts": 8000.0, "tid": B})";
  const auto with = [&](const std::string& a, const std::string& b) {
    return std::regex_replace(std::regex_replace(events, std::regex("\"tid\": A"), "\"tid\": " + a),
                              std::regex("\"tid\": B"), "\"tid\": " + b);
  };
  EXPECT_EQ(profile(), "{\"traceEvents\": [" + with("\"GPU0\"", "\"GPU1\"") + "]}");
  EXPECT_EQ(
      perfetto(),
      "{\"traceEvents\": [" + with("0", "1") +
          R"(, {"args": {"name": "GPU"}, "cat": "__metadata", "name": "thread_name", "ph": "M", "pid": "Main", "tid": 0, "ts": 0})"
          R"(, {"args": {"name": "GPU"}, "cat": "__metadata", "name": "thread_name", "ph": "M", "pid": "Main", "tid": 1, "ts": 0}]})");
  EXPECT_THAT(diagnostics_, ElementsAre(HasSubstr("written without colour")));
}

TEST_F(PaddleProfileTest, TypesWithAColourOf2023AreNotReported) {
  write("workerlog.0", job("4", "forward", "1", "2.5", "3.25"));
  EXPECT_EQ(convert({.devices = {0}, .style = PaddleStyle::k2023}).jobs, 1);
  EXPECT_THAT(diagnostics_, testing::IsEmpty());
}

TEST_F(PaddleProfileTest, InputsThatStopTheScriptAreReported) {
  write("workerlog.0", job("0", "forward", "0", "12x34", "5.0") + "\xff\n" +
                           job("1", "forward", "0", "1.0", "2.0"));
  EXPECT_EQ(convert({.devices = {0}}).jobs, 1);
  EXPECT_THAT(diagnostics_, ElementsAre(HasSubstr("no UTF-8"), HasSubstr("times are no numbers")));
}

TEST_F(PaddleProfileTest, InputsThatCannotBeConvertedAreAnErrorAndLeaveTheOldFiles) {
  write("pipeline_profile.json", "old");
  EXPECT_THAT([&] { convert({.devices = {0}}); }, ThrowsMessage<Error>(HasSubstr("workerlog.0")));
  EXPECT_THAT([&] { convert({.devices = {}}); }, ThrowsMessage<Error>(HasSubstr("--devices")));
  EXPECT_THAT([&] { convert({.devices = {0}, .multiMachine = true}); },
              ThrowsMessage<Error>(HasSubstr("no folder machine<i>")));
  EXPECT_EQ(profile(), "old");
}

TEST(PythonJsonTest, FloatsAreWrittenAsPythonsRepr) {
  const auto text = [](double value) {
    std::string out;
    appendPythonFloat(out, value);
    return out;
  };
  EXPECT_EQ(text(0), "0.0");
  EXPECT_EQ(text(0.1), "0.1");
  EXPECT_EQ(text(1697793307213760.9), "1697793307213761.0");
  EXPECT_EQ(text(9999999999999998.0), "9999999999999998.0");
  EXPECT_EQ(text(1e16), "1e+16");
  EXPECT_EQ(text(1.5e17), "1.5e+17");
  EXPECT_EQ(text(0.0001), "0.0001");
  EXPECT_EQ(text(0.00001), "1e-05");
  EXPECT_EQ(text(HUGE_VAL), "Infinity");
}

TEST(PythonJsonTest, StringsAreWrittenAsAscii) {
  std::string out;
  appendPythonString(out, "a\"\\\n\x01前😀");
  EXPECT_EQ(out, R"("a\"\\\n\u0001\u524d\ud83d\ude00")");
}

/// Runs the script itself, with what it imports replaced, machine folders in natural order.
constexpr const char* kRunner = R"(
import os, re, runpy, sys, types
paddle = types.ModuleType('paddle')
paddle.device = types.SimpleNamespace(cuda=types.SimpleNamespace(device_count=lambda: 0))
base = types.ModuleType('paddle.base')
helper = types.ModuleType('paddle.base.log_helper')
helper.get_logger = lambda *a, **k: types.SimpleNamespace(info=lambda *a: None)
sys.modules.update({'paddle': paddle, 'paddle.base': base, 'paddle.base.log_helper': helper})
listdir = os.listdir
def number(name):
    found = re.match(r'machine(\d+)$', name)
    return (0, int(found[1]), '') if found else (1, 0, name)
os.listdir = lambda path: sorted(listdir(path), key=number)
script = sys.argv[1]
sys.argv = sys.argv[1:]
runpy.run_path(script, run_name='__main__')
)";

class BesidePaddleTest : public PaddleProfileTest {
 protected:
  void SetUp() override {
    PaddleProfileTest::SetUp();
    const char* set = std::getenv("PIPETRACE_PADDLE_DIR");
    const std::string folder = set != nullptr ? set : "";
    script_ = folder + "/paddle/distributed/auto_parallel/static/profiler_helper_static.py";
    if (!std::filesystem::exists(script_)) {
      GTEST_SKIP() << "PaddlePaddle's script is not there; set PIPETRACE_PADDLE_DIR to an unpacked "
                      "wheel of paddlepaddle 3.3.1";
    }
    write("run.py", kRunner);
  }

  /// Compares both files of the script with ours, byte by byte.
  void compare(const PaddleRequest& request) {
    std::string devices;
    for (const int device : request.devices) {
      devices += (devices.empty() ? "" : ",") + std::to_string(device);
    }
    const std::string command = "python3 '" + path("run.py") + "' '" + script_ + "' --devices " +
                                devices + " --log_dir '" + folder_.string() + "'" +
                                (request.multiMachine ? " --multi_machine" : "");
    ASSERT_EQ(std::system(command.c_str()), 0) << command;
    const std::string theirs = profile();
    const std::string theirPerfetto = perfetto();
    convert(request);
    EXPECT_EQ(profile(), theirs);
    EXPECT_EQ(perfetto(), theirPerfetto);
  }

  /// A log with everything that the script uses, and things that it ignores.
  std::string randomLog(std::uint32_t seed) const {
    std::mt19937 random(seed);
    const auto upTo = [&](unsigned most) { return random() % (most + 1); };
    const auto milliseconds = [&] {
      std::string text = std::to_string(1'697'793'307'213ULL + upTo(100'000)) + ".";
      for (unsigned i = 0, digits = 1 + upTo(8); i < digits; ++i) text += char('0' + upTo(9));
      return text;
    };
    static const std::vector<std::string> types = {
        "lr",      "forward",      "backward",      "optimizer",
        "default", "recv_forward", "send_backward", "backward_b1",
        "前向",    "Step",         "GPU0",          "forward0"};
    std::string log;
    if (upTo(1) == 0) {
      log +=
          "Schedule Profiler start at step " + std::to_string(upTo(30)) + " and end at step 99.\n";
    }
    for (unsigned i = 0, lines = upTo(60); i < lines; ++i) {
      switch (upTo(9)) {
        case 0: log += "noise Profiler Info: Job (1), type = forward\r\n"; break;
        case 1: log += "progress 10%\r"; break;
        default:
          log += job(std::to_string(upTo(9)), types[upTo(11)], std::to_string(upTo(2)),
                     milliseconds(), milliseconds());
      }
    }
    if (upTo(3) == 0) log += "Profiler Info: Job (3), type = forward, micro_batch_id = 2, job_st";
    return log;
  }

  std::string script_;
};

TEST_F(BesidePaddleTest, OneMachineGivesTheSameFiles) {
  for (std::uint32_t seed = 0; seed < 12; ++seed) {
    for (int device = 0; device < 3; ++device) {
      write("workerlog." + std::to_string(device), randomLog(10 * seed + std::uint32_t(device)));
    }
    compare({.devices = {0, 1, 2}});
  }
}

TEST_F(BesidePaddleTest, DevicesWithGapsOutOfOrderAndEmptyLogsGiveTheSameFiles) {
  write("workerlog.5", randomLog(5));
  write("workerlog.2", randomLog(2));
  write("workerlog.0", "");
  compare({.devices = {5, 2}});
  compare({.devices = {2, 0, 5}});
  compare({.devices = {0}});
}

TEST_F(BesidePaddleTest, SeveralMachinesGiveTheSameFiles) {
  for (const char* machine : {"machine0", "machine2", "machine10", "machine1"}) {
    for (int device = 0; device < 2; ++device) {
      write(std::string(machine) + "/workerlog." + std::to_string(device),
            randomLog(static_cast<std::uint32_t>(machine[7] * 10 + device)));
    }
  }
  compare({.devices = {0, 1}, .multiMachine = true});
  compare({.devices = {1}, .multiMachine = true});
}

TEST_F(BesidePaddleTest, OneMachineFolderGivesTheSameFiles) {
  write("machine4/workerlog.0", randomLog(1));
  compare({.devices = {0}, .multiMachine = true});
}

}  // namespace
}  // namespace pipetrace
