#include "runtime/control/testing/ring_run.h"

#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "runtime/control/start/links.h"
#include "runtime/control/steady_time.h"
#include "runtime/starting_ranks/child_process.h"
#include "trace/error.h"
#include "trace/testing/folders.h"

namespace pipetrace::testing {

class RingRun::Impl {
 public:
  Impl(int ranks, const std::vector<std::string>& options)
      : ends_(static_cast<std::size_t>(ranks)) {
    folder_ = (std::filesystem::temp_directory_path() / "pipetrace-ring-XXXXXX").string();
    if (mkdtemp(folder_.data()) == nullptr) throw Error("cannot make the folder " + folder_);
    allowMoreFiles();
    begin_ = steadyTime();
    sigset_t none;
    sigemptyset(&none);
    for (int rank = 0; rank < ranks; ++rank) {
      std::vector<std::string> command{test::inBuild("bin/control_ring"), folder_,
                                       std::to_string(rank), std::to_string(ranks)};
      command.insert(command.end(), options.begin(), options.end());
      processes_.push_back(
          std::make_unique<RankProcess>(command, std::vector<std::string>{}, none));
    }
  }
  ~Impl() {
    processes_.clear();  // kills what still runs
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  Nanoseconds awaitConnected(Nanoseconds limit) {
    const Nanoseconds end = steadyTime() + limit;
    for (std::size_t rank = 0; rank < processes_.size(); ++rank) {
      while (ends_[rank].output.find("connected\n") == std::string::npos) {
        read(rank, 100);
        if (steadyTime() > end) throw Error("not connected: " + ends_[rank].output);
      }
    }
    const Nanoseconds took = steadyTime() - begin_;
    begin_ = steadyTime();
    return took;
  }

  std::int64_t ownMemory() const {
    std::int64_t kilobytes = 0;
    for (const auto& process : processes_) {
      std::ifstream file("/proc/" + std::to_string(process->pid()) + "/smaps_rollup");
      for (std::string line; std::getline(file, line);) {
        if (line.starts_with("Private_"))
          kilobytes += std::atoll(line.c_str() + line.find(':') + 1);
      }
    }
    return kilobytes * 1024;
  }

  void signal(int rank, int number) {
    begin_ = steadyTime();
    processes_[static_cast<std::size_t>(rank)]->signal(number);
  }

  std::vector<RingEnd> await(Nanoseconds limit, int except) {
    std::vector<bool> isDone(processes_.size(), false);
    if (except >= 0) isDone[static_cast<std::size_t>(except)] = true;
    for (bool goesOn = true; goesOn;) {
      goesOn = false;
      for (std::size_t rank = 0; rank < processes_.size(); ++rank) {
        read(rank, 0);
        if (isDone[rank]) continue;
        if (processes_[rank]->hasEnded()) {
          isDone[rank] = true;
          ends_[rank].after = steadyTime() - begin_;
          ends_[rank].ending = processes_[rank]->ending();
          read(rank, 0);
        } else if (steadyTime() - begin_ > limit) {
          processes_[rank]->signal(SIGKILL);
        }
        goesOn = goesOn || !isDone[rank];
      }
      if (goesOn) usleep(1000);
    }
    return ends_;
  }

 private:
  void read(std::size_t rank, int milliseconds) {
    RankProcess& process = *processes_[rank];
    std::array<char, 4096> text{};
    pollfd waiting{.fd = process.output(), .events = POLLIN, .revents = 0};
    while (process.output() >= 0 && poll(&waiting, 1, milliseconds) > 0) {
      const ssize_t size = ::read(process.output(), text.data(), text.size());
      if (size <= 0) {
        if (size == 0) process.closeOutput();
        return;
      }
      ends_[rank].output.append(text.data(), static_cast<std::size_t>(size));
      milliseconds = 0;
    }
  }

  std::string folder_;
  std::vector<std::unique_ptr<RankProcess>> processes_;
  std::vector<RingEnd> ends_;
  Nanoseconds begin_ = 0;
};

RingRun::RingRun(int ranks, const std::vector<std::string>& options)
    : impl_(std::make_unique<Impl>(ranks, options)) {}
RingRun::~RingRun() = default;
Nanoseconds RingRun::awaitConnected(Nanoseconds limit) { return impl_->awaitConnected(limit); }
std::int64_t RingRun::ownMemory() const { return impl_->ownMemory(); }
void RingRun::signal(int rank, int number) { impl_->signal(rank, number); }
std::vector<RingEnd> RingRun::await(Nanoseconds limit, int except) {
  return impl_->await(limit, except);
}

}  // namespace pipetrace::testing
