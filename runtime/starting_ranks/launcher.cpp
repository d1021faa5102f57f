#include "runtime/starting_ranks/launcher.h"

#include <poll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <utility>

#include "profiler/clock/wall_clock.h"
#include "runtime/starting_ranks/child_process.h"
#include "runtime/starting_ranks/hosts/host_list.h"
#include "runtime/starting_ranks/hosts/hosts_start.h"
#include "runtime/starting_ranks/launch_log_folder.h"
#include "runtime/starting_ranks/local_port.h"
#include "runtime/starting_ranks/local_ranks.h"
#include "runtime/starting_ranks/signal_inbox.h"
#include "trace/error.h"
#include "trace/files/shared_folder.h"

namespace pipetrace {
namespace {

constexpr int kPollMs = 500;
// Ranks on several hosts need some time to learn what happened. Where a process has ended they
// learn it at once, and where a host has gone only after their limit of silence.
constexpr Nanoseconds kWordOfEnd = 3 * kNsPerSecond;
constexpr Nanoseconds kWordOfSilence = 8 * kNsPerSecond;
// An agent that has not ended its ranks so long after SIGKILL is given up.
constexpr Nanoseconds kAgentPatience = 5 * kNsPerSecond;

class Launch {
 public:
  explicit Launch(const LaunchOptions& options);
  ~Launch();
  Launch(const Launch&) = delete;
  Launch& operator=(const Launch&) = delete;
  LaunchResult run();

 private:
  void start();
  std::vector<RankPlace> placesHere();
  void pollOnce();
  void takeSignals();
  void passOn(int number);
  void checkEnded();
  void checkLost();
  void endOthers(Nanoseconds after);
  void keepTimes();
  void signalAll(int number) const;
  void showTheRest();
  bool isUrgent() const { return ending_ || interrupted_ != 0; }
  std::string reason() const;
  LaunchResult result() const;

  const LaunchOptions options_;
  SignalInbox inbox_;
  RanksDisplay display_;
  std::optional<LocalPort> port_;  // rank 0's, which no other run gets meanwhile
  std::optional<HostsStart> hosts_;
  std::vector<std::unique_ptr<RanksOnHost>> groups_;
  std::optional<RankEnd> failed_;  // the rank that ended the run
  std::string lost_;               // or why a host did
  int interrupted_ = 0;            // the signal that ended the run
  bool ending_ = false;            // the others are to end
  bool told_ = false;              // they have got SIGTERM
  Nanoseconds tellAt_ = kNsMax;    // CLOCK_MONOTONIC, as those below
  Nanoseconds killAt_ = kNsMax;
  Nanoseconds abandonAt_ = kNsMax;
};

Launch::Launch(const LaunchOptions& options) : options_(options), display_(options.display) {
  if (options.hosts.ranks.empty() && options.ranks < 1) {
    throw Error("cannot start " + std::to_string(options.ranks) + " ranks");
  }
  if (options.command.empty()) throw Error("no program to start was given");
  if (options.logDirectory.empty()) throw Error("the log folder has no name");
}

Launch::~Launch() {
  for (const auto& group : groups_) group->abandon();  // all at once, before each is waited for
}

/// Where the ranks on this host run, for a start on several hosts once these are prepared.
std::vector<RankPlace> Launch::placesHere() {
  if (hosts_) return hosts_->placesHere();
  port_.emplace(options_.masterPort);
  std::vector<RankPlace> places = placesOn(thisHostAlone(options_.ranks), options_.ranks);
  for (RankPlace& place : places) {
    place.masterPort = port_->number();
    place.recording = options_.recording;
    place.restart = options_.restart;
  }
  return places;
}

/// Starts no rank where a signal comes before.
void Launch::start() {
  const std::string folder = std::filesystem::absolute(options_.logDirectory).string();
  // Steps that can fail come before the logs of earlier runs are removed.
  if (!options_.hosts.ranks.empty()) {
    hosts_.emplace(options_.hosts,
                   HostsStart::Run{.command = options_.command,
                                   .masterPort = options_.masterPort,
                                   .recording = options_.recording,
                                   .restart = options_.restart},
                   inbox_, display_);
  }
  if (!hosts_ || !hosts_->placesHere().empty()) findProgram(options_.command.front());
  if (hosts_ && (interrupted_ = hosts_->prepare()) != 0) return;
  std::vector<RankPlace> here = placesHere();
  if (options_.restart == 0) clearLogFolder(folder);
  if (hosts_) groups_ = hosts_->start(folder);
  for (RankPlace& place : here) place.logDirectory = folder;
  if (here.empty()) return;
  groups_.push_back(std::make_unique<LocalRanks>(options_.command, here, inbox_.maskBefore()));
}

LaunchResult Launch::run() {
  start();
  const auto isDone = [](const auto& group) { return group->isDone(); };
  while (!std::all_of(groups_.begin(), groups_.end(), isDone)) {
    pollOnce();
    keepTimes();
  }
  if (ending_) signalAll(SIGKILL);  // the processes that the ranks had started
  for (const auto& group : groups_) group->finish(display_);
  showTheRest();
  return result();
}

void Launch::pollOnce() {
  std::vector<pollfd> fds = {{inbox_.fd(), POLLIN, 0}, {display_.pollFd(), POLLOUT, 0}};
  for (const auto& group : groups_) group->addTo(fds, !display_.isFull());
  const Nanoseconds next = std::min({tellAt_, killAt_, abandonAt_});
  const Nanoseconds left = next == kNsMax ? kNsMax : (next - monotonicNow()) / kNsPerMs + 1;
  const int timeout = static_cast<int>(std::clamp<Nanoseconds>(left, 0, kPollMs));
  if (poll(fds.data(), fds.size(), timeout) < 0 && errno != EINTR) {
    throw Error(std::string("cannot wait for the ranks: ") + std::strerror(errno));
  }
  takeSignals();
  checkEnded();
  checkLost();
  display_.show(fds[1].revents != 0, isUrgent());
  for (const auto& group : groups_) group->readOutput(display_);
  display_.settle();
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
  if (!isFirst) abandonAt_ = std::min(abandonAt_, monotonicNow() + kAgentPatience);
}

void Launch::checkEnded() {
  bool someFailed = false;
  for (const auto& group : groups_) {
    for (const RankEnd& end : group->newEnds(display_)) {
      if (end.succeeded) continue;
      someFailed = true;
      // If several failures are found at once, or before the others have ended, a killed rank is
      // the cause: its peers failed because of it.
      const bool isCause = !failed_ || (!told_ && end.wasKilled && !failed_->wasKilled);
      if (isCause && lost_.empty()) failed_ = end;
    }
  }
  if (someFailed) endOthers(groups_.size() > 1 ? kWordOfEnd : 0);
}

void Launch::checkLost() {
  for (const auto& group : groups_) {
    const std::string loss = group->loss();
    if (loss.empty()) continue;
    if (!failed_ && lost_.empty()) lost_ = loss;
    endOthers(kWordOfSilence);
  }
}

void Launch::endOthers(Nanoseconds after) {
  if (std::exchange(ending_, true)) return;
  tellAt_ = monotonicNow() + after;
}

void Launch::keepTimes() {
  const Nanoseconds now = monotonicNow();
  if (now >= tellAt_) {
    signalAll(SIGTERM);
    told_ = true;
    tellAt_ = kNsMax;
    killAt_ = now + options_.killDelay;
  }
  if (now >= killAt_) {
    signalAll(SIGKILL);
    killAt_ = kNsMax;
    abandonAt_ = now + kAgentPatience;
  }
  if (now >= abandonAt_) {
    for (const auto& group : groups_) group->abandon();
    abandonAt_ = kNsMax;
  }
}

void Launch::signalAll(int number) const {
  for (const auto& group : groups_) group->signal(number);
}

void Launch::showTheRest() {
  display_.settle();
  while (display_.pollFd() >= 0) {
    std::array<pollfd, 2> fds = {pollfd{inbox_.fd(), POLLIN, 0},
                                 pollfd{display_.pollFd(), POLLOUT, 0}};
    poll(fds.data(), fds.size(), kPollMs);
    takeSignals();
    display_.show(fds[1].revents != 0, isUrgent());
  }
}

std::string Launch::reason() const {
  if (interrupted_ != 0) return "stopped by " + signalText(interrupted_);
  if (!lost_.empty()) return lost_;
  if (!failed_) return "";
  const std::string name = "rank " + std::to_string(failed_->rank);
  const std::string ending = name + " " + failed_->text;
  std::string lines;
  for (const auto& group : groups_) lines += group->lastLines(failed_->rank);
  if (lines.empty()) return ending + "; it printed nothing";
  if (display_.isInSight(failed_->rank, options_.reasonDisplay)) {
    return ending + "; its last lines are above, after [" + name + "]";
  }
  return ending + "; last lines of its output:\n" + lines;
}

LaunchResult Launch::result() const {
  LaunchResult result;
  if (interrupted_ != 0) {
    result.exitCode = 128 + interrupted_;
  } else if (failed_ || !lost_.empty()) {
    result.exitCode = 2;
  }
  result.reason = reason();
  // A recorder of rank 0 says so itself.
  const std::string shared = options_.recording ? "" : sharedFolderWarning(options_.logDirectory);
  if (!shared.empty()) result.warnings.push_back(shared);
  for (const auto& group : groups_) {
    const std::vector<std::string> warnings = group->warnings();
    result.warnings.insert(result.warnings.end(), warnings.begin(), warnings.end());
  }
  return result;
}

}  // namespace

LaunchResult launch(const LaunchOptions& options) {
  if (!options.endsDescendants) return Launch(options).run();
  adoptOrphans();
  LaunchResult result = Launch(options).run();
  if (result.exitCode != 0) killDescendants();
  return result;
}

}  // namespace pipetrace
