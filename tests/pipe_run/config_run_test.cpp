// pipe-run with a configuration file, from the command line to the logs.
#include <gmock/gmock.h>

#include <chrono>
#include <csignal>
#include <thread>

#include "tests/pipe_run/config_folder.h"
#include "trace/sockets/tcp.h"
#include "trace/testing/folders.h"

namespace pipetrace {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

const std::string kBin = test::inBuild("bin/");

/// A text to learn.
std::string wordsToLearn() {
  std::string text;
  while (text.size() < 5000) text += "the mill by the river grinds day and night, ";
  return text;
}

// The keys of VPipe's configs/bert_4vpipe.yml, all of them and no other, with values of ours.
constexpr const char* kVPipeKeys =
    "'directory': 'char_transformer'\n"
    "'log_directory': 'logs'\n"
    "'module': 'vgpus=4'\n"
    "'data_dir': 'data/words to learn'\n"
    "'config_file': 'vgpus=4/mp_conf.json'\n"
    "'partition': 'vgpus=4/vpipe.json'\n"
    "'container': 'some-image'\n"
    "'machines': ['localhost:0', 'localhost:1', 'localhost:2', 'localhost:3']\n"
    "'sync_mode': 'asp'\n"
    "'batch_size': 2\n"
    "'learning_rate': 0.01\n"
    "'weight_decay': 0.000\n"
    "'epochs': 2\n"
    "'print_frequency': 1\n"
    "'verbose_frequency': 0\n"
    "'compress_activations': False\n"
    "'compress_in_gpu': False\n"
    "'learning_rate_policy': 'polynomial'\n"
    "'model_type': 'bert'\n"
    "'distributed_backend': 'gloo'\n";

class ConfigRun : public ::testing::Test {
 protected:
  ConfigRun() {
    folder_.write("data/words to learn", wordsToLearn());
    folder_.write("vgpus=4/mp_conf.json",
                  R"({"module_to_stage_map": [0, 1, 2, 3, 3],
                      "stage_to_rank_map": {"0": [0], "1": [1], "2": [2], "3": [3]}})");
    folder_.write("vgpus=4/vpipe.json",
                  R"({"partition": [1, 1, 1, 1], "recompute_ratio": [1, 0, 0, 0]})");
  }

  const ConfigFolder folder_;
};

TEST_F(ConfigRun, TheKeysOfVPipesBertPassADryRunUnchanged) {
  const ProgramRun run = folder_.run(kVPipeKeys, {"--dry-run"});
  EXPECT_EQ(run.exitCode, 0) << run.err;
  EXPECT_EQ(run.err, "");
  EXPECT_THAT(run.out, HasSubstr("maps of " + folder_.path("vgpus=4/mp_conf.json") + ":\n"));
  EXPECT_THAT(run.out, HasSubstr("  stage 3: ranks 3; modules 3, 4\n"));
  EXPECT_THAT(run.out, HasSubstr("  rank 2 on this host, GPU 2\n"));
  EXPECT_THAT(run.out,
              HasSubstr("  RANK=1 LOCAL_RANK=1 WORLD_SIZE=4 LOCAL_WORLD_SIZE=4 "
                        "CUDA_VISIBLE_DEVICES=0,1,2,3 " +
                        kBin + "sample-char-transformer --config '" + folder_.path() + "'\n"));
  EXPECT_THAT(run.out, HasSubstr("container some-image is not entered"));
  EXPECT_THAT(run.out, HasSubstr("note: module has no effect"));
  // 2 epochs of the sample's 200 steps, 8 micro-batches of 2 rows in each.
  EXPECT_THAT(run.out, HasSubstr("plan PipeDream: 4 ranks, 8 micro-batches a step, 400 steps of 16 "
                                 "rows\n"));
  EXPECT_THAT(run.out, HasSubstr("  stage 0 on rank 0: block 0, recomputed\n"
                                 "  stage 1 on rank 1: block 1\n"));
  EXPECT_THAT(run.out, HasSubstr("  rank 3: 3F0,3B0,3F1,3B1,"));
  EXPECT_THAT(folder_.runFolders(), IsEmpty());
  EXPECT_EQ(folder_.run(kVPipeKeys, {"--quiet"}).out, run.out) << "the driver's word for it";
}

TEST_F(ConfigRun, ARunTrainsAndLeavesItsLogsWithACopyOfTheFile) {
  const std::string text = std::string(kVPipeKeys) + "steps: 2\nlayers: 4\nwidth: 16\nheads: 2\n";
  const ProgramRun run = folder_.run(text);
  EXPECT_EQ(run.exitCode, 0) << run.err << run.out;
  EXPECT_THAT(run.out, AllOf(HasSubstr("[rank 3] step 1 loss "), Not(HasSubstr("step 2 loss"))));
  ASSERT_THAT(folder_.runFolders(), SizeIs(1));
  const std::string made = folder_.runFolders().front();
  EXPECT_THAT(made, ::testing::MatchesRegex(
                        "logs/20[0-9][0-9]-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-5][0-9]:[0-6][0-9]"));
  EXPECT_THAT(run.err, HasSubstr("logs go to " + folder_.path(made)));
  EXPECT_EQ(folder_.text(made + "/run.yml"), text);
  const std::string history = folder_.text(made + "/command_history.log");
  EXPECT_EQ(std::count(history.begin(), history.end(), '\n'), 4);
  EXPECT_THAT(history, HasSubstr("RANK=3 LOCAL_RANK=3 "));
  for (int rank = 0; rank < 4; ++rank) {
    EXPECT_THAT(folder_.text(made + "/workerlog." + std::to_string(rank)),
                AllOf(HasSubstr("schedule = PipeDream"), HasSubstr("Profiler End:")));
  }
}

TEST_F(ConfigRun, TheDriversFlagNamesAFileOfAnyName) {
  folder_.write("configuration", kVPipeKeys);
  const ProgramRun run =
      pipeRun({"--config_file", folder_.path("configuration"), "--dry-run", "--resume", "4"});
  EXPECT_EQ(run.exitCode, 2);
  EXPECT_THAT(run.err, HasSubstr("--resume requires --checkpoint"));
  EXPECT_THAT(run.err, HasSubstr("; give checkpoint_dir in " + folder_.path("configuration")));
  const ProgramRun saved =
      folder_.run(std::string(kVPipeKeys) + "checkpoint_dir: saved\n", {"--dry-run", "--resume"});
  EXPECT_EQ(saved.exitCode, 2);
  EXPECT_THAT(saved.err, StartsWith("pipe-run: " + folder_.path() +
                                    ":21: checkpoint_dir: there is "
                                    "no checkpoint in " +
                                    folder_.path("saved")));
}

TEST_F(ConfigRun, ResumeNamesAStepAFolderOrTheFolderOfAStep) {
  folder_.writeProgram("program.sh", "true\n");
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"--resume", "run.yml' --resume\n"},
      {"--resume=40", "run.yml' --resume=40\n"},
      {"--resume=/saved", "run.yml' --checkpoint=/saved --resume\n"},
      {"--resume=/saved/step_4/", "run.yml' --checkpoint=/saved --resume=4\n"}};
  for (const auto& [option, command] : cases) {
    const ProgramRun run = folder_.run("directory: program.sh\nstages: 1\n", {"--dry-run", option});
    EXPECT_THAT(run.out, HasSubstr(command)) << run.err;
  }
}

TEST_F(ConfigRun, TheModelTypeNamesTheProgramOfAFolderThatIsNoSample) {
  folder_.write("models/conf.json", "{}");
  const ProgramRun run = folder_.run(
      "directory: models\nmodel_type: char_transformer\ndata_dir: data/words to learn\n"
      "stages: 2\n",
      {"--dry-run"});
  EXPECT_EQ(run.exitCode, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr(kBin + "sample-char-transformer --config "));
  EXPECT_THAT(folder_.run("directory: none\nmodel_type: bert\nstages: 2\n").err,
              HasSubstr(":1: directory: none is neither a program nor a sample"));
}

TEST_F(ConfigRun, MistakesAreNamedWithFileAndLineBeforeAnythingStarts) {
  const std::string place = folder_.path();
  const std::string rest = kVPipeKeys;  // 20 lines
  folder_.write("vgpus=4/short.json", R"({"partition": [1, 1, 1, 2]})");
  folder_.write("vgpus=4/none.json",
                "{\"module_to_stage_map\": [0, 1, 1],\n"
                "\"stage_to_rank_map\": {\"0\": [0], \"1\": [2]}}");
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string text = rest;
    text.replace(text.find(from), from.size(), to);
    return text;
  };
  const OwnedFd taken = listenAt("127.0.0.1");
  const std::string port = std::to_string(portOf(taken));
  const std::vector<std::pair<std::string, std::string>> cases = {
      {rest + "learning_rat: 0.1\n",
       place + ":21: unknown key learning_rat; did you mean learning_rate?"},
      {rest + "schedul: 1F1B\n", place + ":21: unknown key schedul; did you mean schedule?"},
      {rest + "width: -3\n", place + ":21: width: "},
      {rest + "frobnicate: 1\n", place + ":21: unknown key frobnicate; it is neither"},
      {rest + "dry_run: true\n", place + ":21: dry_run is an option of the command line alone"},
      {rest + "transport: in-process\n", place + ":21: transport: WORLD_SIZE is 4"},
      {with("'asp'", "'bsp'"),
       place + ":10: batch_size: a batch of 2 rows cannot be split into 4 micro-batches"},
      {with("data/words to learn", "none"),
       place + ":4: data_dir: cannot read " + folder_.path("none") + ": No such file"},
      {with("vpipe.json", "short.json"),
       place + ":6: partition: " + folder_.path("vgpus=4/short.json") +
           ": the partition adds up to 5 blocks, but the model "
           "has 4"},
      {with("mp_conf.json", "none.json"),
       folder_.path("vgpus=4/none.json") + ":2: stage_to_rank_map leaves out rank 1"},
      {with("'localhost:3'", "'localhost:3', 'localhost:4'"),
       place + ":8: machines: it names 5 ranks, but the plan PipeDream has 4"},
      {with("False", "True"), place + ":16: compress_activations: it can only be false"},
      {with("char_transformer", "char_transfromer"),
       place + ":1: directory: char_transfromer is neither a program nor a sample beside pipe-run; "
               "did you mean char-transformer?"},
      {rest + "master_port: " + port + "\n", place + ":21: master_port: "},
      {rest + "\tepochs: 3\n", place + ":21: a line of YAML is indented with blanks"},
      {rest + "epochs: 3\n", place + ":21: epochs is there twice; first in line 13"}};
  for (const auto& [text, message] : cases) {
    const ProgramRun run = folder_.run(text);
    EXPECT_EQ(run.exitCode, 2) << message;
    EXPECT_THAT(run.err, StartsWith("pipe-run: " + message)) << message;
    EXPECT_EQ(run.out, "") << message;
  }
  EXPECT_THAT(folder_.runFolders(), IsEmpty());
  const std::string text = rest + "master_port: " + port + "\n";
  EXPECT_THAT(folder_.run(text, {"--dry-run"}).err, StartsWith("pipe-run: " + place + ":21: "));
  folder_.write("no folder", "");
  for (const std::string option : {"", "--dry-run"}) {
    std::vector<std::string> options = {"--log-dir", folder_.path("no folder/logs")};
    if (!option.empty()) options.push_back(option);
    EXPECT_THAT(folder_.run(rest, options).err,
                StartsWith("pipe-run: cannot make the folder " + folder_.path("no folder/logs") +
                           ": Not a directory"));
  }
}

TEST_F(ConfigRun, CommandLinesThatMeanNothingAreRefused) {
  const std::string file = folder_.write("run.yml", kVPipeKeys);
  const std::string conf = folder_.write("base.conf", kVPipeKeys);
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases = {
      {{"/no/such.yml"}, "cannot read /no/such.yml: No such file"},
      {{file, "--", "true"}, "leave out what comes after --"},
      {{file, "--ranks", "2"}, "the ranks are those of " + file},
      {{file, "--config_file", file}, "two configuration files"},
      {{"--dry-run", "--", "true"}, "--dry-run is for a configuration file"},
      {{"--rank-of-launcher", "--", "true"}, "--rank-of-launcher is for a configuration file"},
      {{file, "--master", "h:1"}, "--master requires --rank-of-launcher"},
      {{file, "--rank-of-launcher"}, "no launcher has started this process"},
      {{file, "--rank-of-launcher", "--dry-run"}, "check the file with pipe-run " + file},
      {{file, "--rank-of-launcher", "--restarts", "2"}, "a launcher starts its own again"},
      {{file, "--steps", "2"}, "--steps is no option of pipe-run; put steps: 2 into " + file},
      {{file, "--untied"}, "--untied is no option of pipe-run; put untied: true into " + file},
      {{file, "--dry-rnu"}, "did you mean --dry-run?"},
      {{conf, "--dry-run"}, "is given so: pipe-run --config-file '" + conf + "' --dry-run"},
      {{"train.py"}, "the program comes after --"}};
  for (const auto& [arguments, message] : cases) {
    const ProgramRun run = pipeRun(arguments);
    EXPECT_EQ(run.exitCode, 2) << message;
    EXPECT_THAT(run.err, HasSubstr(message));
  }
}

TEST_F(ConfigRun, RanksSeeTheirGpusAndAProgramOfAnyKindIsStarted) {
  folder_.writeProgram("my program.sh",
                       "[ \"$3\" = --dry-run ] && { echo checked; exit; }\n"
                       "echo \"$1 $2 sees $CUDA_VISIBLE_DEVICES of $LOCAL_RANK\"\n");
  const std::string text = "directory: my program.sh\nlog_directory: logs\nmachines: ";
  ProgramRun run = folder_.run(text + "['localhost:3', '127.0.0.1:1']\n");
  EXPECT_EQ(run.exitCode, 0) << run.err;
  EXPECT_THAT(run.out, AllOf(HasSubstr("[rank 0] --config " + folder_.path() + " sees 3,1 of 0\n"),
                             HasSubstr("[rank 1] --config " + folder_.path() + " sees 3,1 of 1\n"),
                             Not(HasSubstr("checked"))));
  run = folder_.run(text + "['localhost:2', 'localhost:2']\n");
  EXPECT_THAT(run.out, AllOf(HasSubstr("sees 2 of 0\n"), HasSubstr("sees 2 of 1\n")));
  EXPECT_THAT(folder_.runFolders(), SizeIs(2)) << "also within a second";
}

TEST_F(ConfigRun, TheLogFolderOfTheCommandLineIsUsedAsItIs) {
  folder_.writeProgram("program.sh", "true\n");
  const ProgramRun run =
      folder_.run("directory: program.sh\nstages: 1\n", {"--log-dir", folder_.path("here")});
  EXPECT_EQ(run.exitCode, 0) << run.err;
  EXPECT_THAT(folder_.text("here/command_history.log"), StartsWith("RANK=0 "));
  EXPECT_THAT(folder_.runFolders(), IsEmpty());
}

TEST_F(ConfigRun, FilesOf10MBAreTrainedFromOrRefused) {
  std::string text = kVPipeKeys;
  while (text.size() < 10'000'000) text += "# nothing but a comment, over and over again\n";
  const ProgramRun run = folder_.run(text, {"--dry-run"});
  EXPECT_EQ(run.exitCode, 0) << run.err;
  const ProgramRun long1 =
      folder_.run("module: x\n" + std::string(10'000'000, 'k') + ": 1\n", {"--dry-run"});
  EXPECT_EQ(long1.exitCode, 2);
  EXPECT_LT(long1.err.size(), 400U) << long1.err.substr(0, 400);
}

/// The processes whose environment has this text.
std::vector<int> processesWith(const std::string& text) {
  std::vector<int> found;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string name = entry.path().filename().string();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    std::ifstream in(entry.path() / "environ", std::ios::binary);
    const std::string environment{std::istreambuf_iterator<char>(in),
                                  std::istreambuf_iterator<char>()};
    if (environment.find(text) != std::string::npos) found.push_back(std::stoi(name));
  }
  return found;
}

TEST_F(ConfigRun, CtrlCAtAnyMomentOfTheStartLeavesNothingRunning) {
  const std::string text =
      std::string(kVPipeKeys) + "steps: 1000000\nwidth: 16\nheads: 2\nlog_every: 0\n";
  const std::string mark = "PIPETRACE_TEST_MARK=" + folder_.folder();
  folder_.write("run.yml", text);
  for (int delay = 0; delay <= 3000; delay = delay < 100 ? delay + 20 : delay * 5 / 4) {
    ProgramSetting setting;
    setting.meanwhile = [&](int pid) {
      std::this_thread::sleep_for(std::chrono::milliseconds(delay));
      kill(pid, SIGINT);
    };
    const auto start = std::chrono::steady_clock::now();
    const ProgramRun run =
        runProgram({"/usr/bin/env", mark, test::inBuild("bin/pipe-run"), folder_.path()}, setting);
    const auto took = std::chrono::steady_clock::now() - start;
    EXPECT_TRUE(run.exitCode == 128 + SIGINT || run.signal == SIGINT)
        << delay << ": " << run.exitCode << run.err;
    EXPECT_LT(took, std::chrono::milliseconds(delay) + std::chrono::seconds(10)) << delay;
    EXPECT_THAT(processesWith(mark), IsEmpty()) << delay;
  }
  for (const std::string& made : folder_.runFolders()) {
    const std::string copy = folder_.text(made + "/run.yml");
    EXPECT_TRUE(copy.empty() || copy == text) << made;
  }
}

}  // namespace
}  // namespace pipetrace
