#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <set>
#include <thread>
#include <utility>

#include "runtime/checkpoint/checkpoint.h"
#include "runtime/checkpoint/checkpoint_folder.h"
#include "runtime/checkpoint/checkpoint_writer.h"
#include "runtime/checkpoint/testing/saved_model.h"

namespace pipetrace::testing {
namespace {

constexpr int kBlocks = 3;

SmallModel largerModel() { return {kBlocks, sgd(), 0, false, /*width=*/1000}; }

/// Gives all weights the number of a step.
void setWeights(SmallModel& model, std::int64_t step) {
  const at::NoGradGuard noGrad;
  for (at::Tensor& tensor : model.tensors()) tensor.fill_(static_cast<float>(step));
}

/// Writes checkpoints one after the other and keeps one, until it is killed. Reports those
/// that are finished.
[[noreturn]] void writeUntilKilled(const std::string& folder, int told) try {
  at::set_num_threads(1);
  SmallModel model = largerModel();
  CheckpointFolder checkpoints(folder);
  CheckpointWriter writer(folder);
  for (std::int64_t step = newestCheckpoint(folder).value_or(0) + 1;; ++step) {
    setWeights(model, step);
    checkpoints.beginStep(step);
    writer.save(step, model.states());
    writer.wait();
    checkpoints.finishStep({.step = step, .numBlocks = kBlocks, .files = writer.result()->files});
    if (::write(told, &step, sizeof step) != sizeof step) ::_exit(3);
    checkpoints.keepNewest(1);
  }
} catch (const std::exception& e) {
  std::fprintf(stderr, "%s\n", e.what());
  ::_exit(4);
}

class KilledWriter {
 public:
  explicit KilledWriter(const std::string& folder) {
    int ends[2];
    EXPECT_EQ(::pipe(ends), 0);
    process_ = ::fork();
    if (process_ == 0) writeUntilKilled(folder, ends[1]);
    ::close(ends[1]);
    told_ = ends[0];
  }
  ~KilledWriter() { ::close(told_); }

  /// Waits until it has finished another one. 0: it has ended.
  std::int64_t nextFinished() {
    std::int64_t step = 0;
    return ::read(told_, &step, sizeof step) == sizeof step ? step : 0;
  }
  void kill() {
    ::kill(process_, SIGKILL);
    int status = 0;
    ::waitpid(process_, &status, 0);
    EXPECT_TRUE(WIFSIGNALED(status)) << "exit code " << WEXITSTATUS(status);
  }

 private:
  pid_t process_ = 0;
  int told_ = -1;
};

TEST(KilledWriterTest, TheCheckpointBeforeIsWholeAfterEachOf50Kills) {
  using Clock = std::chrono::steady_clock;
  const TestFolder folder;
  Clock::duration time{};                   // of a checkpoint
  std::set<std::vector<std::string>> left;  // which files, without the numbers of steps
  std::int64_t last = 0;
  for (int kill = 0; kill < 50; ++kill) {
    KilledWriter killed(folder.path());
    const std::int64_t before = std::exchange(last, killed.nextFinished());
    ASSERT_GT(last, before);
    if (kill == 0) {
      const Clock::time_point begin = Clock::now();
      for (int i = 0; i < 4; ++i) last = killed.nextFinished();
      time = (Clock::now() - begin) / 4;
    }
    std::this_thread::sleep_for(time * kill / 50);
    killed.kill();
    while (const std::int64_t step = killed.nextFinished()) last = step;
    // The last one that the child reported is there, and perhaps one more.
    const auto newest = newestCheckpoint(folder.path());
    ASSERT_TRUE(newest);
    ASSERT_GE(*newest, last);
    ASSERT_LE(*newest, last + 1);
    last = *newest;
    const Checkpoint checkpoint(folder.path(), last);
    checkpoint.verify();
    SmallModel model = largerModel();
    restore(checkpoint.read(model.live()), model.live());
    for (const at::Tensor& tensor : model.tensors()) {
      ASSERT_TRUE(tensor.eq(static_cast<float>(last)).all().item<bool>());
    }
    std::vector<std::string> files;
    for (const std::string& name : folder.files()) {
      const std::string file = name.substr(name.find('/') + 1);
      files.push_back(
          file.substr(0, file.find(".part-") + (file.find(".part-") < file.size() ? 6 : 0)));
    }
    left.insert(files);
  }
  EXPECT_GE(left.size(), 2U) << "the kills came at different places";
}

}  // namespace
}  // namespace pipetrace::testing
