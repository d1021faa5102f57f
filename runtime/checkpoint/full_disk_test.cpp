#include <ATen/Parallel.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <fstream>

#include "runtime/checkpoint/checkpoint.h"
#include "runtime/checkpoint/checkpoint_folder.h"
#include "runtime/checkpoint/checkpoint_writer.h"
#include "runtime/checkpoint/testing/saved_model.h"
#include "runtime/testing/error_of.h"

namespace pipetrace::testing {
namespace {

constexpr int kPlaces = 20;

SmallModel modelForDisk() { return {3, adamw(), 0.5, false, /*width=*/1000}; }

/// The error of saving a checkpoint, as a run of one rank does it.
std::string saveError(CheckpointFolder& folder, CheckpointWriter& writer, std::int64_t step,
                      SmallModel& model) {
  const std::string error = errorOf([&] {
    folder.beginStep(step);
    writer.save(step, model.states());
    writer.wait();
    const auto saved = writer.result();
    if (!saved->error.empty()) throw Error(saved->error);
    folder.finishStep({.step = step, .numBlocks = 3, .files = saved->files});
  });
  if (!error.empty()) folder.giveUpStep(step);
  return error;
}

/// The largest size that files of this process may have, while it lives.
class FileLimit {
 public:
  explicit FileLimit(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{.rlim_cur = bytes, .rlim_max = before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileLimit() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }

 private:
  rlimit before_{};
  void (*handler_)(int);
};

TEST(FullDiskTest, AtEachOf20SizesThatAFileMayHaveTheCheckpointBeforeIsWhole) {
  const TestFolder folder;
  SmallModel model = modelForDisk();
  model.step(1);
  CheckpointFolder checkpoints(folder.path());
  CheckpointWriter writer(folder.path());
  ASSERT_EQ(saveError(checkpoints, writer, 1, model), "");
  const std::vector<std::string> before = folder.files();
  const auto size =
      static_cast<std::size_t>(Checkpoint(folder.path(), 1).manifest().files[0].bytes);
  for (std::size_t place = 0; place < kPlaces; ++place) {
    std::string error;
    {
      const FileLimit limit(size * place / kPlaces);
      error = saveError(checkpoints, writer, 2, model);
    }
    EXPECT_EQ(error, "cannot write " + folder / "step_2/block_0.pt" +
                         ": File too large; raise the limit on file sizes (ulimit -f)");
    EXPECT_EQ(folder.files(), before) << "nothing is left";
    Checkpoint::newest(folder.path()).verify();
  }
  EXPECT_EQ(saveError(checkpoints, writer, 2, model), "");
}

bool writeText(const char* path, const std::string& text) {
  std::ofstream file(path);
  return static_cast<bool>(file << text << std::flush);
}

/// Puts a file system of 1 MiB into `folder`, for this process alone.
bool mountSmallDisk(const std::string& folder) {
  if (::unshare(CLONE_NEWNS) != 0) {
    const std::string user = std::to_string(::getuid());
    const std::string group = std::to_string(::getgid());
    if (::unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0 || !writeText("/proc/self/setgroups", "deny") ||
        !writeText("/proc/self/uid_map", "0 " + user + " 1") ||
        !writeText("/proc/self/gid_map", "0 " + group + " 1")) {
      return false;
    }
  }
  return ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
         ::mount("small", folder.c_str(), "tmpfs", 0, "size=1m") == 0;
}

/// Saves on a disk that is full at each of kPlaces. Returns the first mistake; "": none.
std::string fullDiskProblem(const std::string& folder) {
  at::set_num_threads(1);
  SmallModel model = modelForDisk();
  model.step(1);
  CheckpointFolder checkpoints(folder);
  CheckpointWriter writer(folder);
  const std::string first = saveError(checkpoints, writer, 1, model);
  if (!first.empty()) return first;
  std::int64_t size = 0;
  for (const BlockFile& file : Checkpoint(folder, 1).manifest().files) size += file.bytes;
  for (int place = 0; place < kPlaces; ++place) {
    struct statvfs disk {};
    ::statvfs(folder.c_str(), &disk);
    const auto free = static_cast<std::int64_t>(disk.f_bavail * disk.f_frsize);
    const std::string ballast = folder + "/ballast";
    const int fd = ::open(ballast.c_str(), O_WRONLY | O_CREAT, 0600);
    if (::posix_fallocate(fd, 0, free - size * place / kPlaces) != 0) return "no ballast";
    ::close(fd);
    const std::string error = saveError(checkpoints, writer, 2, model);
    ::unlink(ballast.c_str());
    const std::string at = "place " + std::to_string(place) + ": ";
    if (error.find("cannot write " + folder + "/step_2/") != 0 ||
        error.find(": No space left on device; free some space") == std::string::npos) {
      return at + "the error is '" + error + "'";
    }
    if (std::filesystem::exists(folder + "/step_2")) return at + "step 2 is left";
    const std::string newest = errorOf([&] { Checkpoint::newest(folder).verify(); });
    if (!newest.empty()) return at + newest;
  }
  return saveError(checkpoints, writer, 2, model);
}

TEST(FullDiskTest, AtEachOf20PlacesOfADiskThatIsFullTheCheckpointBeforeIsWhole) {
  const TestFolder folder;
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    std::string problem = "cannot mount";
    try {
      if (mountSmallDisk(folder.path())) problem = fullDiskProblem(folder.path());
    } catch (const std::exception& e) {
      problem = e.what();
    }
    ::_exit(::write(ends[1], problem.data(), problem.size()) < 0 ? 1 : 0);
  }
  ::close(ends[1]);
  std::string problem;
  char c = 0;
  while (::read(ends[0], &c, 1) == 1) problem += c;
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  if (problem == "cannot mount") {
    GTEST_SKIP() << "a test of a disk that is full must be allowed to mount one (root, or user "
                    "namespaces)";
  }
  EXPECT_EQ(problem, "");
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

}  // namespace
}  // namespace pipetrace::testing
