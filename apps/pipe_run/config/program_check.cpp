#include "apps/pipe_run/config/program_check.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <sstream>
#include <string_view>

#include "profiler/clock/wall_clock.h"
#include "runtime/starting_ranks/rank_process.h"
#include "runtime/starting_ranks/signal_inbox.h"
#include "trace/error.h"

namespace pipetrace {
namespace {

constexpr std::size_t kMostOutput = 4 << 20;
constexpr Nanoseconds kKillAfter = 2 * kNsPerSecond;
constexpr int kPollMs = 200;

/// This process's, with the place of rank 0 in place of its own.
std::vector<std::string> environmentOfFirstRank(int ranks) {
  constexpr std::array<std::string_view, 6> kPlace = {
      "RANK=", "LOCAL_RANK=", "WORLD_SIZE=", "LOCAL_WORLD_SIZE=", "MASTER_ADDR=", "MASTER_PORT="};
  const std::string all = std::to_string(ranks);
  std::vector<std::string> result = {"RANK=0",
                                     "LOCAL_RANK=0",
                                     "WORLD_SIZE=" + all,
                                     "LOCAL_WORLD_SIZE=" + all,
                                     "MASTER_ADDR=127.0.0.1",
                                     "MASTER_PORT=1"};
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view text = *variable;
    const bool isPlace = text.starts_with("TORCHELASTIC_") ||
                         std::any_of(kPlace.begin(), kPlace.end(),
                                     [&](std::string_view name) { return text.starts_with(name); });
    if (!isPlace) result.emplace_back(text);
  }
  return result;
}

class CheckedProgram {
 public:
  CheckedProgram(const std::vector<std::string>& command, int ranks)
      : process_(command, environmentOfFirstRank(ranks), inbox_.maskBefore()) {}

  int signal() const { return signal_; }
  const std::string& output() const { return output_; }
  bool succeeded() const { return process_.succeeded(); }
  std::string ending() const { return process_.ending(); }

  void wait() {
    while (!process_.hasEnded()) {
      std::array<pollfd, 2> fds = {pollfd{inbox_.fd(), POLLIN, 0},
                                   pollfd{process_.output(), POLLIN, 0}};
      poll(fds.data(), fds.size(), kPollMs);
      takeSignals();
      readSome();
    }
    while (readSome()) {
    }
    process_.signal(SIGKILL);  // what it has started
  }

 private:
  void takeSignals() {
    for (int number = inbox_.take(); number != 0; number = inbox_.take()) {
      if (number != SIGINT && number != SIGTERM && number != SIGHUP) continue;
      process_.signal(signal_ == 0 ? SIGTERM : SIGKILL);
      if (signal_ == 0) killAt_ = monotonicNow() + kKillAfter;
      signal_ = signal_ == 0 ? number : signal_;
    }
    if (monotonicNow() >= killAt_) process_.signal(SIGKILL);
  }

  /// Whether there may be more.
  bool readSome() {
    if (process_.output() < 0) return false;
    std::array<char, 64 * 1024> buffer;
    const ssize_t n = read(process_.output(), buffer.data(), buffer.size());
    if (n < 0) return errno == EINTR;
    if (n == 0) {
      process_.closeOutput();
      return false;
    }
    const std::size_t room = kMostOutput - std::min(kMostOutput, output_.size());
    output_.append(buffer.data(), std::min(room, static_cast<std::size_t>(n)));
    return room > 0;
  }

  SignalInbox inbox_;
  RankProcess process_;
  std::string output_;
  int signal_ = 0;
  Nanoseconds killAt_ = kNsMax;
};

}  // namespace

ProgramCheck checkProgram(const std::vector<std::string>& command, int ranks) {
  std::vector<std::string> dry = command;
  dry.emplace_back("--dry-run");
  CheckedProgram program(dry, ranks);
  program.wait();
  if (program.signal() != 0 || program.succeeded()) return {program.signal(), program.output()};
  std::string why = program.output();
  while (why.ends_with('\n')) why.pop_back();
  const std::vector<std::string> errors = linesWith("error: ", why);
  if (!errors.empty()) throw Error(errors.back());
  throw Error(command.front() + " --dry-run " + program.ending() +
              (why.empty() ? "; it printed nothing" : ":\n" + why));
}

std::vector<std::string> linesWith(const std::string& start, const std::string& text) {
  std::vector<std::string> found;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(start)) found.push_back(line.substr(start.size()));
  }
  return found;
}

}  // namespace pipetrace
