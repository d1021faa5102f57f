#include "runtime/launch/launcher.h"

#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>

#include "profiler/clock/wall_clock.h"
#include "runtime/launch/display_queue.h"
#include "runtime/launch/find_program.h"
#include "runtime/launch/launch_log_folder.h"
#include "runtime/launch/local_port.h"
#include "runtime/launch/rank_environment.h"
#include "runtime/launch/rank_output.h"
#include "runtime/launch/rank_process.h"
#include "runtime/launch/signal_inbox.h"
#include "trace/error.h"
#include "trace/log/log_format.h"

namespace pipetrace {
namespace {

// Reads at most this much more from a rank's pipe after the rank itself has ended: a process that
// it started may still hold the pipe open. A pipe's own buffer is smaller.
constexpr std::size_t kReadAfterEnd = 1 << 20;
// A display that takes nothing for this long is not waited for when the run has failed.
constexpr Nanoseconds kDisplayPatience = 3 * kNsPerSecond;
constexpr int kPollMs = 500;
// A line with fewer lines below it is still in sight.
constexpr std::int64_t kLinesInSight = 20;

/// One rank: its process and what it prints.
struct LaunchedRank {
  std::unique_ptr<RankProcess> process;
  std::unique_ptr<RankOutput> output;
  bool ended = false;
  std::size_t readAfterEnd = 0;
  std::int64_t lastLine = 0;  // how many lines were on the display with its last one
};

/// Whether what is written to both lands in one file, pipe or terminal.
bool areOnePlace(int fd, int other) {
  struct stat a {};
  struct stat b {};
  return fstat(fd, &a) == 0 && fstat(other, &b) == 0 && a.st_dev == b.st_dev &&
         a.st_ino == b.st_ino;
}

class Launch {
 public:
  explicit Launch(const LaunchOptions& options);
  LaunchResult run();

 private:
  void start();
  void pollOnce();
  void readOutput(LaunchedRank& rank);
  void countLines(LaunchedRank& rank, std::size_t before);
  bool isInSight(const LaunchedRank& rank) const;
  void takeSignals();
  void passOn(int number);
  void checkEnded();
  void endOthers();
  void signalAll(int number) const;
  void showTheRest();
  void show(bool canWrite);
  std::string reason() const;
  LaunchResult result() const;

  const LaunchOptions options_;
  SignalInbox inbox_;
  DisplayQueue display_;
  std::optional<LocalPort> port_;  // rank 0's, which no other run gets meanwhile
  std::vector<LaunchedRank> ranks_;
  int failed_ = -1;              // the rank that ended the run
  int interrupted_ = 0;          // the signal that ended the run
  bool ending_ = false;          // the others have got SIGTERM
  Nanoseconds killAt_ = kNsMax;  // CLOCK_MONOTONIC
  Nanoseconds lastShown_ = 0;
  std::int64_t displayedLines_ = 0;
};

Launch::Launch(const LaunchOptions& options) : options_(options), display_(options.display) {
  if (options.ranks < 1) throw Error("cannot start " + std::to_string(options.ranks) + " ranks");
  if (options.command.empty()) throw Error("no program to start was given");
  if (options.logDirectory.empty()) throw Error("the log folder has no name");
}

void Launch::start() {
  const std::string folder = std::filesystem::absolute(options_.logDirectory).string();
  // Steps that can fail come before the logs of earlier runs are removed.
  findProgram(options_.command.front());
  port_.emplace(options_.masterPort);
  RankPlace place{.ranks = options_.ranks,
                  .masterPort = port_->number(),
                  .logDirectory = folder,
                  .recording = options_.recording,
                  .restart = options_.restart};
  if (options_.restart == 0) clearLogFolder(folder);
  for (int i = 0; i < options_.ranks; ++i) {
    place.rank = i;
    if (!options_.variables.empty()) {
      place.variables = options_.variables.at(static_cast<std::size_t>(i));
    }
    const std::string log = folder + "/" + std::string(log_format::kFilePrefix) + std::to_string(i);
    LaunchedRank rank;
    rank.output = std::make_unique<RankOutput>(i, log);
    rank.process = std::make_unique<RankProcess>(options_.command, rankEnvironment(place),
                                                 inbox_.maskBefore());
    ranks_.push_back(std::move(rank));
  }
}

LaunchResult Launch::run() {
  start();
  const auto isDone = [](const LaunchedRank& rank) {
    return rank.ended && rank.process->output() < 0;
  };
  while (!std::all_of(ranks_.begin(), ranks_.end(), isDone)) {
    pollOnce();
    if (monotonicNow() >= killAt_) {
      signalAll(SIGKILL);
      killAt_ = kNsMax;
    }
  }
  if (ending_) signalAll(SIGKILL);  // the processes that the ranks had started
  for (LaunchedRank& rank : ranks_) {
    const std::size_t before = display_.pending().size();
    rank.output->finish(display_.pending());
    countLines(rank, before);
  }
  showTheRest();
  return result();
}

void Launch::pollOnce() {
  std::vector<pollfd> fds = {{inbox_.fd(), POLLIN, 0}, {display_.pollFd(), POLLOUT, 0}};
  for (const LaunchedRank& rank : ranks_) {
    fds.push_back({display_.isFull() ? -1 : rank.process->output(), POLLIN, 0});
  }
  const Nanoseconds left = killAt_ == kNsMax ? kNsMax : (killAt_ - monotonicNow()) / kNsPerMs + 1;
  const int timeout = static_cast<int>(std::clamp<Nanoseconds>(left, 0, kPollMs));
  if (poll(fds.data(), fds.size(), timeout) < 0 && errno != EINTR) {
    throw Error(std::string("cannot wait for the ranks: ") + std::strerror(errno));
  }
  takeSignals();
  checkEnded();
  show(fds[1].revents != 0);
  for (std::size_t i = 0; i < ranks_.size(); ++i) {
    // A rank that has ended makes nothing readable any more if its pipe is empty but held open.
    if (fds[i + 2].revents != 0 || (ranks_[i].ended && !display_.isFull())) readOutput(ranks_[i]);
  }
  display_.settle();
}

void Launch::readOutput(LaunchedRank& rank) {
  if (rank.process->output() < 0) return;
  std::array<char, 64 * 1024> buffer;
  const ssize_t n = read(rank.process->output(), buffer.data(), buffer.size());
  if (n > 0) {
    const auto size = static_cast<std::size_t>(n);
    const std::size_t before = display_.pending().size();
    rank.output->add({buffer.data(), size}, display_.pending());
    countLines(rank, before);
    if (rank.ended) rank.readAfterEnd += size;
    if (rank.readAfterEnd < kReadAfterEnd) return;
  } else if (n < 0 && (errno == EINTR || (errno == EAGAIN && !rank.ended))) {
    return;
  }
  rank.process->closeOutput();
}

/// Counts the lines that the rank has put into the display's text from `before` on.
void Launch::countLines(LaunchedRank& rank, std::size_t before) {
  const std::string& text = display_.pending();
  const auto lines =
      std::count(text.begin() + static_cast<std::ptrdiff_t>(before), text.end(), '\n');
  displayedLines_ += lines;
  if (lines > 0) rank.lastLine = displayedLines_;
}

/// Whether the reason will stand right below the last line of the rank.
bool Launch::isInSight(const LaunchedRank& rank) const {
  return !display_.hasGivenUp() && areOnePlace(options_.display, options_.reasonDisplay) &&
         displayedLines_ - rank.lastLine < kLinesInSight;
}

void Launch::takeSignals() {
  for (int number = inbox_.take(); number != 0; number = inbox_.take()) {
    if (number == SIGINT || number == SIGTERM || number == SIGHUP) passOn(number);
  }
}

void Launch::passOn(int number) {
  const bool isFirst = interrupted_ == 0;
  if (isFirst) interrupted_ = number;
  signalAll(isFirst ? number : SIGKILL);
}

void Launch::checkEnded() {
  bool someFailed = false;
  for (std::size_t i = 0; i < ranks_.size(); ++i) {
    LaunchedRank& rank = ranks_[i];
    if (rank.ended || !rank.process->hasEnded()) continue;
    rank.ended = true;
    if (rank.process->succeeded()) continue;
    someFailed = true;
    // If several failures are found at once, a killed rank is the cause: its peers failed because
    // of it.
    const bool isCause =
        failed_ < 0 || (!ending_ && rank.process->wasKilled() &&
                        !ranks_[static_cast<std::size_t>(failed_)].process->wasKilled());
    if (isCause) failed_ = static_cast<int>(i);
  }
  if (someFailed && !ending_) endOthers();
}

void Launch::endOthers() {
  ending_ = true;
  killAt_ = monotonicNow() + options_.killDelay;
  signalAll(SIGTERM);
}

void Launch::signalAll(int number) const {
  for (const LaunchedRank& rank : ranks_) rank.process->signal(number);
}

void Launch::showTheRest() {
  display_.settle();
  while (display_.pollFd() >= 0) {
    std::array<pollfd, 2> fds = {pollfd{inbox_.fd(), POLLIN, 0},
                                 pollfd{display_.pollFd(), POLLOUT, 0}};
    poll(fds.data(), fds.size(), kPollMs);
    takeSignals();
    show(fds[1].revents != 0);
  }
}

void Launch::show(bool canWrite) {
  if (canWrite) display_.writeSome();
  const bool isUrgent = ending_ || interrupted_ != 0;
  const Nanoseconds now = monotonicNow();
  if (!isUrgent || canWrite || display_.pollFd() < 0) lastShown_ = now;
  if (now - lastShown_ > kDisplayPatience) display_.giveUp();
}

std::string Launch::reason() const {
  if (interrupted_ != 0) return "stopped by " + signalText(interrupted_);
  if (failed_ < 0) return "";
  const LaunchedRank& rank = ranks_[static_cast<std::size_t>(failed_)];
  const std::string ending = "rank " + std::to_string(failed_) + " " + rank.process->ending();
  const std::string lines = rank.output->lastLines();
  if (lines.empty()) return ending + "; it printed nothing";
  if (isInSight(rank)) {
    return ending + "; its last lines are above, after [rank " + std::to_string(failed_) + "]";
  }
  return ending + "; last lines of its output:\n" + lines;
}

LaunchResult Launch::result() const {
  LaunchResult result;
  if (interrupted_ != 0) {
    result.exitCode = 128 + interrupted_;
  } else if (failed_ >= 0) {
    result.exitCode = 2;
  }
  result.reason = reason();
  for (const LaunchedRank& rank : ranks_) {
    const LogFile& log = rank.output->log();
    if (log.failures() == 0) continue;
    result.warnings.push_back("not all output could be stored in " + log.path() + ": " +
                              std::strerror(log.firstError()));
  }
  return result;
}

}  // namespace

LaunchResult launch(const LaunchOptions& options) { return Launch(options).run(); }

}  // namespace pipetrace
