// pipe-run --rank-of-launcher, under stand-ins for srun and mpirun.
#include <gmock/gmock.h>

#include <map>

#include "runtime/starting_ranks/launchers/launched_place.h"
#include "tests/pipe_run/config_folder.h"
#include "trace/testing/folders.h"

namespace pipetrace {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

const std::string kSamples = test::inSources("samples/");

/// The stand-in starts `tasks` processes of its command on this host, and ends with the worst code.
std::string standIn(int tasks, const std::string& variables) {
  return "while [ \"${1#-}\" != \"$1\" ]; do shift; done\n"
         "for rank in $(seq 0 " +
         std::to_string(tasks - 1) +
         "); do\n"
         "  env " +
         variables +
         " \"$@\" > \"$OUT.$rank\" 2>&1 &\n"
         "  pids=\"$pids $!\"\n"
         "done\n"
         "code=0\n"
         "for pid in $pids; do wait $pid || code=$?; done\n"
         "exit $code\n";
}

class LaunchersTest : public ::testing::Test {
 protected:
  ProgramRun launch(const std::vector<std::string>& command) {
    std::vector<std::string> all = {
        "/usr/bin/env",
        "PATH=" + folder_.path("bin") + ":" + test::inBuild("bin") + ":/usr/bin:/bin",
        "OUT=" + folder_.path("out")};
    all.insert(all.end(), command.begin(), command.end());
    return runProgram(all);
  }

  const ConfigFolder folder_;
};

// SLURM_JOB_ID and so on as srun sets them; this host is the first of the list.
const std::string kSlurm =
    "SLURM_PROCID=$rank SLURM_NTASKS=2 SLURM_LOCALID=$rank SLURM_NODEID=0 "
    "SLURM_TASKS_PER_NODE=2 SLURM_JOB_ID=417 SLURM_STEP_ID=0 SLURM_JOB_NODELIST=localhost";

constexpr const char* kTraining =
    "log_directory: logs\n"
    "directory: gpipe_mlp\n"
    "machines: ['localhost:0', 'localhost:1']\n"
    "sync_mode: bsp\n"
    "schedule: 1F1B\n"
    "steps: 2\n";

TEST_F(LaunchersTest, TheJobFileOfSlurmTrains) {
  folder_.writeProgram("bin/srun", standIn(2, kSlurm));
  folder_.write("run.yml", kTraining);
  const ProgramRun run = launch({"/bin/bash", kSamples + "cluster/slurm.sbatch", folder_.path()});
  EXPECT_EQ(run.exitCode, 0) << run.err << folder_.text("out.0") << folder_.text("out.1");
  EXPECT_THAT(folder_.text("out.1"), HasSubstr("step 1 loss "));
  EXPECT_EQ(folder_.text("logs/slurm-417.0/run.yml"), kTraining);
  EXPECT_THAT(folder_.text("logs/slurm-417.0/command_history.log"), HasSubstr("Slurm, 2 ranks: "));
  for (const char* const log : {"workerlog.0", "workerlog.1"}) {
    EXPECT_THAT(folder_.text("logs/slurm-417.0/" + std::string(log)), HasSubstr("Profiler End:"));
  }
  const ProgramRun none = launch({"/bin/bash", kSamples + "cluster/slurm.sbatch"});
  EXPECT_NE(none.exitCode, 0);
  EXPECT_THAT(none.err, HasSubstr("give the configuration file"));
}

TEST_F(LaunchersTest, MpirunTrains) {
  folder_.writeProgram("bin/mpirun",
                       standIn(2,
                               "OMPI_COMM_WORLD_RANK=$rank OMPI_COMM_WORLD_SIZE=2 "
                               "OMPI_COMM_WORLD_LOCAL_RANK=$rank OMPI_COMM_WORLD_LOCAL_SIZE=2"));
  folder_.write("run.yml", kTraining);
  const std::string port = std::to_string(slurmPort(getpid(), 1));
  const ProgramRun run = launch({"mpirun", "pipe-run", "--rank-of-launcher", "--master",
                                 "localhost:" + port, folder_.path()});
  EXPECT_EQ(run.exitCode, 0) << folder_.text("out.0") << folder_.text("out.1");
  EXPECT_THAT(folder_.text("out.1"), HasSubstr("step 1 loss "));
  EXPECT_THAT(folder_.text("logs/workerlog.0"), HasSubstr("Profiler End:"));
}

TEST_F(LaunchersTest, ALauncherWithAnotherNumberOfTasksIsRefusedByEachOfThem) {
  folder_.write("run.yml", kTraining);
  folder_.writeProgram("bin/srun", standIn(2, kSlurm + " SLURM_NTASKS=3"));
  const ProgramRun run = launch({"srun", "pipe-run", "--rank-of-launcher", folder_.path()});
  EXPECT_EQ(run.exitCode, 2);
  for (const char* const out : {"out.0", "out.1"}) {
    EXPECT_THAT(folder_.text(out),
                HasSubstr("pipe-run: Slurm has started 3 processes, but the plan has 2 ranks"));
  }
}

TEST_F(LaunchersTest, TheRankGetsItsPlaceAndTheFile) {
  folder_.writeProgram("show.sh",
                       "echo \"$@ | $RANK of $WORLD_SIZE, $LOCAL_RANK of $LOCAL_WORLD_SIZE, "
                       "$MASTER_ADDR:$MASTER_PORT, $OMP_NUM_THREADS, $PIPETRACE_LOG_DIR, "
                       "$TORCHELASTIC_RESTART_COUNT\"\n");
  folder_.write("run.yml", "directory: show.sh\nstages: 8\nlog_directory: logs\n");
  const std::string slurm =
      "SLURM_PROCID=5 SLURM_NTASKS=8 SLURM_LOCALID=1 SLURM_NODEID=2 SLURM_TASKS_PER_NODE=2(x4) "
      "SLURM_JOB_ID=9 SLURM_STEP_ID=3 SLURM_JOB_NODELIST=a[01-03,7] SLURM_RESTART_COUNT=1";
  std::vector<std::string> command = {"/usr/bin/env", "-u", "OMP_NUM_THREADS"};
  std::istringstream words(slurm);
  for (std::string word; words >> word;) command.push_back(word);
  command.insert(command.end(),
                 {test::inBuild("bin/pipe-run"), "--rank-of-launcher", folder_.path()});
  const ProgramRun run = runProgram(command);
  EXPECT_EQ(run.exitCode, 0) << run.err;
  EXPECT_EQ(run.out, "--config " + folder_.path() +
                         " | 5 of 8, 1 of 2, a01:" + std::to_string(slurmPort(9, 3)) + ", 1, " +
                         folder_.path("logs/slurm-9.3") + ", 1\n");
}

TEST_F(LaunchersTest, ThePodsOfTheKubernetesFileFindTheirPlaces) {
  // The command of the container, one word a line.
  const std::string file = test::fileText(kSamples + "cluster/kubernetes.yml");
  std::istringstream lines(file.substr(file.find("command:\n")));
  std::string line;
  std::getline(lines, line);
  std::vector<std::string> command = {"/usr/bin/env", "JOB_COMPLETION_INDEX=2"};
  while (std::getline(lines, line) && line.find("- ") != std::string::npos) {
    std::string word = line.substr(line.find("- ") + 2);
    if (word == "pipe-run") word = test::inBuild("bin/pipe-run");
    if (word == "/config/train.yml") word = folder_.path();
    if (word == "/logs") word = folder_.path("logs");
    command.push_back(word);
  }
  ASSERT_THAT(command, ::testing::Contains("--rank-of-launcher"));
  EXPECT_THAT(file, AllOf(HasSubstr("completionMode: Indexed"), HasSubstr("completions: 4"),
                          HasSubstr("parallelism: 4"), HasSubstr("clusterIP: None")));
  folder_.writeProgram("show.sh", "echo $RANK of $WORLD_SIZE at $MASTER_ADDR:$MASTER_PORT\n");
  folder_.write("run.yml", "directory: show.sh\nstages: 4\n");
  const ProgramRun run = runProgram(command);
  EXPECT_EQ(run.exitCode, 0) << run.err;
  EXPECT_EQ(run.out, "2 of 4 at pipetrace-0.pipetrace:29500\n");
}

}  // namespace
}  // namespace pipetrace
