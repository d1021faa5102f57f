#include <nlohmann/json.hpp>

#include "tests/pipe_trace/fixture.h"

namespace pipetrace {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;

const std::vector<std::string> kBothFiles{"pipeline_profile.json",
                                          "pipeline_profile_perfetto.json"};

std::string job(int id, const std::string& type, int begin) {
  return "Profiler Info: Job (" + std::to_string(id) + "), type = " + type +
         ", micro_batch_id = 0, job_start_time = " + std::to_string(begin) +
         ".25, job_end_time = " + std::to_string(begin + 5) + ".5\n";
}

class PaddleSpelling : public PipeTrace {
 protected:
  void writeLog(const std::string& name, int begin) const {
    std::filesystem::create_directories(std::filesystem::path(path(name)).parent_path());
    write(name, "noise\n" + job(0, "lr", begin) + job(1, "recv_forward", begin + 6) +
                    job(2, "forward", begin + 12) + job(3, "backward", begin + 18));
  }

  /// "name tid" of the events that begin, in their order; the file is in `folder`.
  std::vector<std::string> begins(const std::string& folder, const std::string& file) const {
    std::vector<std::string> list;
    const json profile = json::parse(contents(path(folder + "/" + file)));
    for (const json& event : profile.at("traceEvents")) {
      if (event.at("ph") != "B") continue;
      const json& tid = event.at("tid");
      list.push_back(event.at("name").get<std::string>() + " " +
                     (tid.is_string() ? tid.get<std::string>() : tid.dump()));
    }
    return list;
  }
};

TEST_F(PaddleSpelling, WritesBothFilesIntoTheLogFolder) {
  writeLog("d/workerlog.0", 1000);
  writeLog("d/workerlog.1", 2000);
  const ProgramRun result = run({"--devices", "0,1", "--log_dir", path("d")});
  EXPECT_EQ(result.exitCode, 0);
  EXPECT_THAT(result.err, IsEmpty());
  EXPECT_EQ(result.out, "wrote " + path("d/pipeline_profile.json") + ": 6 jobs, 1 steps\nwrote " +
                            path("d/pipeline_profile_perfetto.json") + ": 6 jobs, 1 steps\n");
  EXPECT_EQ(begins("d", kBothFiles[0]),
            (std::vector<std::string>{"lr_0 GPU0", "forward_2 GPU0", "backward_3 GPU0", "lr_0 GPU1",
                                      "forward_2 GPU1", "backward_3 GPU1", "step0 Step"}));
  EXPECT_EQ(begins("d", kBothFiles[1]),
            (std::vector<std::string>{"lr_0 2334", "forward_2 2334", "backward_3 2334", "lr_0 2335",
                                      "forward_2 2335", "backward_3 2335", "step0 2333"}));
  const std::string before = contents(path("d/pipeline_profile.json"));
  EXPECT_THAT(run({"--log-dir=" + path("d"), "--devices=0,1", "-q"}).out, IsEmpty());
  EXPECT_EQ(contents(path("d/pipeline_profile.json")), before);
  write("d/pipeline_profile.json", "");
  run({"--log-dir", path("d"), "--devices", "0-1"});
  EXPECT_EQ(contents(path("d/pipeline_profile.json")), before);
}

TEST_F(PaddleSpelling, AProfileThatWouldReplaceALogIsRefused) {
  writeLog("d/workerlog.0", 1000);
  const std::string before = contents(path("d/workerlog.0"));
  std::filesystem::create_symlink("workerlog.0", path("d/pipeline_profile_perfetto.json"));
  expectError(run({"--devices", "0", "--log_dir", path("d")}),
              path("d/pipeline_profile_perfetto.json"), "is an input");
  EXPECT_EQ(contents(path("d/workerlog.0")), before);
}

TEST_F(PaddleSpelling, MachinesAreFoldersOfTheLogFolder) {
  writeLog("d/machine0/workerlog.0", 1000);
  writeLog("d/machine1/workerlog.0", 2000);
  for (const char* option : {"--multi_machine", "--multi-machine"}) {
    const ProgramRun result = run({"--devices", "0", "--log_dir", path("d"), option});
    EXPECT_EQ(result.exitCode, 0) << result.err;
    EXPECT_THAT(result.out, HasSubstr(": 6 jobs, 1 steps, 2 machines\n"));
    EXPECT_THAT(begins("d", kBothFiles[0]),
                testing::IsSupersetOf({"lr_0 GPU0(machine:0)", "backward_3 GPU0(machine:1)"}));
  }
  expectError(run({"--devices", "0", "--log_dir", path("d/machine0"), "--multi_machine"}),
              path("d/machine0"), "leave --multi_machine out");
}

TEST_F(PaddleSpelling, StyleOf2023IsThatOfTheFirstVersion) {
  writeLog("d/workerlog.0", 1000);
  const ProgramRun result =
      run({"--devices", "0", "--log_dir", path("d"), "--paddle-style", "2023"});
  EXPECT_EQ(result.exitCode, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr("a type that the converter of 2023 stops at"));
  EXPECT_EQ(begins("d", kBothFiles[0]),
            (std::vector<std::string>{"R_1 GPU0", "F_2 GPU0", "B_3 GPU0"}));
  expectError(run({"--devices", "0", "--log_dir", path("d"), "--paddle-style", "2022"}), "2022",
              "2023");
}

TEST_F(PaddleSpelling, FindingsExitWithOneUnderStrict) {
  writeLog("d/workerlog.0", 1000);
  write("d/workerlog.1", "no job\n");
  const std::vector<std::string> arguments{"--devices", "0,1", "--log_dir", path("d")};
  const ProgramRun result = run(arguments);
  EXPECT_EQ(result.exitCode, 0);
  EXPECT_THAT(result.err, HasSubstr("workerlog.1: warning: no job in it"));
  for (const char* more : {"-q", "--strict"}) {
    std::vector<std::string> with = arguments;
    with.emplace_back(more);
    EXPECT_EQ(run(with).exitCode, std::string(more) == "--strict" ? 1 : 0);
  }
}

TEST_F(PaddleSpelling, MissingLogIsAnErrorAndNothingIsWritten) {
  writeLog("d/workerlog.0", 1000);
  expectError(run({"--devices", "0,1", "--log_dir", path("d")}), path("d/workerlog.1"), "");
  EXPECT_FALSE(std::filesystem::exists(path("d/pipeline_profile.json")));
}

TEST_F(PaddleSpelling, OptionsThatDoNotGoTogetherAreAnError) {
  writeLog("d/workerlog.0", 1000);
  expectError(run({"--devices", "0"}), "--devices", "--log_dir");
  expectError(run({"--log_dir", path("d")}), "--log_dir", "--devices");
  expectError(run({"--multi_machine"}), "--multi_machine", "--devices");
  expectError(run({path("d"), "--paddle-style", "2023"}), "--paddle-style", "--devices");
  expectError(run({"--devices", "2-1", "--log_dir", path("d")}), "--devices", "as 0,2,4-7");
  expectError(run({"--devices", "0-1000000", "--log_dir", path("d")}), "--devices", "too many");
  expectError(run({"--devices", "x", "--log_dir", path("d")}), "--devices", "x");
  expectError(run({"--devices", "-1", "--log_dir", path("d")}), "--devices", "-1");
  for (const std::vector<std::string>& more :
       {std::vector<std::string>{path("d")}, {"-o", path("a.json")}, {"--json"}, {"--run", "0"}}) {
    std::vector<std::string> arguments{"--devices", "0", "--log_dir", path("d")};
    arguments.insert(arguments.end(), more.begin(), more.end());
    expectError(run(arguments), "--devices", "excludes");
  }
}

}  // namespace
}  // namespace pipetrace
