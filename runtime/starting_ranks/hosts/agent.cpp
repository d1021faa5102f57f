#include "runtime/starting_ranks/hosts/agent.h"

#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "profiler/clock/wall_clock.h"
#include "runtime/starting_ranks/child_process.h"
#include "runtime/starting_ranks/hosts/file_tail.h"
#include "runtime/starting_ranks/hosts/host_list.h"
#include "runtime/starting_ranks/hosts/message_channel.h"
#include "runtime/starting_ranks/hosts/reachable_address.h"
#include "runtime/starting_ranks/launch_log_folder.h"
#include "runtime/starting_ranks/local_port.h"
#include "runtime/starting_ranks/local_ranks.h"
#include "runtime/starting_ranks/signal_inbox.h"
#include "trace/error.h"

namespace pipetrace {
namespace {

namespace fs = std::filesystem;
using Kind = HostMessage::Kind;

constexpr int kLookAtLogsMs = 100;
constexpr std::size_t kPiece = 256 * 1024;
// More than that waits in the logs, not in memory.
constexpr std::size_t kMostPending = 4 << 20;
constexpr Nanoseconds kKillDelay = 5 * kNsPerSecond;

class HostAgent {
 public:
  HostAgent() { adoptOrphans(); }
  int run(const std::string& version);

 private:
  void wait(bool reads) const;
  bool isStopped() const;
  void obey(const HostMessage& order);
  void prepare(const HostMessage& order);
  void start(const HostMessage& order);
  void tendRanks();
  void takeEnds();
  void sendLogs();
  bool sendPieces(FileTail& tail, HostMessage head);
  void sendRings();
  void endRanks();
  void removeFolder();

  SignalInbox inbox_;
  MessageSender sender_{STDOUT_FILENO};
  MessageReader reader_{STDIN_FILENO, false};
  RanksDisplay display_{-1};  // home shows what ranks print
  std::vector<std::string> command_;
  std::vector<RankPlace> places_;
  std::string folder_;
  std::optional<MeetingPoint> meeting_;
  std::optional<LocalPort> port_;
  std::unique_ptr<LocalRanks> ranks_;
  std::map<int, FileTail> logs_;  // by rank
  std::map<std::string, FileTail> rings_;
  bool endsAll_ = false;  // nothing that the ranks have started shall be left
  bool haveEnded_ = false;
  bool isDone_ = false;  // all has been sent
  bool hasBye_ = false;
};

int HostAgent::run(const std::string& version) {
  sender_.send({.kind = Kind::kHello, .protocol = kHostProtocol, .version = version});
  while (true) {
    wait(true);
    bool isThere = reader_.readSome();
    try {
      while (const auto received = reader_.next()) obey(received->message);
    } catch (const Error& e) {
      sender_.send({.kind = Kind::kRefused, .text = e.what()});
    }
    if (hasBye_) break;
    isThere = isThere && monotonicNow() - reader_.lastHeard() < kHostSilence;
    if (!isThere || isStopped()) {
      endRanks();
      if (!ranks_) removeFolder();
      return 1;
    }
    if (meeting_) meeting_->answer();
    if (ranks_) tendRanks();
  }
  ranks_.reset();
  removeFolder();
  return 0;
}

void HostAgent::wait(bool reads) const {
  std::vector<pollfd> fds = {{inbox_.fd(), POLLIN, 0}};
  if (reads) fds.push_back({STDIN_FILENO, POLLIN, 0});
  if (meeting_) fds.push_back({meeting_->pollFd(), POLLIN, 0});
  if (ranks_) ranks_->addTo(fds, true);
  poll(fds.data(), fds.size(), kLookAtLogsMs);
}

bool HostAgent::isStopped() const {
  bool isStopped = false;
  for (int number = inbox_.take(); number != 0; number = inbox_.take()) {
    isStopped = isStopped || number == SIGINT || number == SIGTERM || number == SIGHUP;
  }
  return isStopped;
}

void HostAgent::obey(const HostMessage& order) {
  switch (order.kind) {
    case Kind::kPrepare: prepare(order); break;
    case Kind::kReach:
      sender_.send({.kind = Kind::kReached,
                    .addresses = reachedOf(order.addresses, order.port, order.token)});
      break;
    case Kind::kStart: start(order); break;
    case Kind::kSignal:
      endsAll_ = true;
      if (ranks_) ranks_->signal(order.number);
      break;
    case Kind::kBye: hasBye_ = true; break;
    default: break;  // a beat
  }
}

void HostAgent::prepare(const HostMessage& order) {
  if (chdir(order.directory.c_str()) != 0) {
    throw Error("cannot go to the folder " + order.directory + ": " + std::strerror(errno));
  }
  for (const std::string& variable : order.environment) {
    const std::size_t equals = variable.find('=');
    setenv(variable.substr(0, equals).c_str(), variable.substr(equals + 1).c_str(), 1);
  }
  findProgram(order.command.at(0));
  std::string folder = (fs::temp_directory_path() / "pipe-run.XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr) {
    throw Error("cannot make a folder for logs, " + folder + ": " + std::strerror(errno));
  }
  folder_ = folder;
  command_ = order.command;
  places_ = order.places;
  HostMessage answer{.kind = Kind::kPrepared, .text = folder_};
  if (order.meets) {
    meeting_.emplace(order.port);
    answer.addresses = meeting_->addresses();
    answer.port = meeting_->port();
    answer.token = meeting_->token();
  }
  sender_.send(answer);
}

void HostAgent::start(const HostMessage& order) {
  if (meeting_) {
    meeting_.reset();
    port_.emplace(order.port, order.address);
  }
  for (RankPlace& place : places_) {
    place.masterAddress = order.address;
    place.masterPort = order.port;
    place.logDirectory = folder_;
    logs_.try_emplace(place.rank, rankLogPath(folder_, place.rank));
  }
  ranks_ = std::make_unique<LocalRanks>(command_, places_, inbox_.maskBefore());
}

void HostAgent::tendRanks() {
  takeEnds();
  ranks_->readOutput(display_);
  display_.settle();
  if (!haveEnded_ && ranks_->isDone()) {
    ranks_->finish(display_);
    display_.settle();
    if (endsAll_) {
      ranks_->signal(SIGKILL);
      killDescendants();
    }
    haveEnded_ = true;
  }
  if (!isDone_) sendLogs();
}

void HostAgent::takeEnds() {
  for (const RankEnd& end : ranks_->newEnds(display_)) {
    endsAll_ = endsAll_ || !end.succeeded;
    sender_.send({.kind = Kind::kEnded,
                  .rank = end.rank,
                  .succeeded = end.succeeded,
                  .wasKilled = end.wasKilled,
                  .text = end.text});
  }
}

/// Sends what is new in a file, as much as there is room for. Whether that was all.
bool HostAgent::sendPieces(FileTail& tail, HostMessage head) {
  while (sender_.pending() < kMostPending) {
    const std::string bytes = tail.next(kPiece, haveEnded_);
    if (bytes.empty()) return true;
    head.bytes = bytes.size();
    sender_.send(head, bytes);
  }
  return false;
}

void HostAgent::sendLogs() {
  bool isAll = haveEnded_;
  for (auto& [rank, tail] : logs_) {
    isAll = sendPieces(tail, {.kind = Kind::kLog, .rank = rank}) && isAll;
  }
  if (isAll) sendRings();
}

/// Ranks that did not close their logs have left these beside them.
void HostAgent::sendRings() {
  std::vector<std::string> warnings = ranks_->warnings();
  std::error_code error;
  for (fs::directory_iterator entry(folder_, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (isRingFile(name)) {
      rings_.try_emplace(name, entry->path().string());
    } else if (!isWorkerLog(name)) {
      warnings.push_back("the ranks have left " + entry->path().string() + ", which stays there");
    }
  }
  for (auto& [name, tail] : rings_) {
    if (!sendPieces(tail, {.kind = Kind::kFile, .name = name})) return;
  }
  sender_.send({.kind = Kind::kDone, .warnings = warnings});
  isDone_ = true;
}

/// Ends the ranks and what they have started; nobody hears of them any more.
void HostAgent::endRanks() {
  if (!ranks_) return;
  ranks_->signal(SIGTERM);
  const Nanoseconds killAt = monotonicNow() + kKillDelay;
  while (!ranks_->isDone() && monotonicNow() < killAt) {
    wait(false);
    isStopped();  // takes what has come
    ranks_->newEnds(display_);
    ranks_->readOutput(display_);
    display_.settle();
  }
  ranks_->signal(SIGKILL);
  killDescendants();
  ranks_->finish(display_);
}

/// Removes the logs and ring files, and the folder if nothing else is in it.
void HostAgent::removeFolder() {
  if (folder_.empty()) return;
  std::error_code ignored;
  for (const auto& [rank, tail] : logs_) fs::remove(rankLogPath(folder_, rank), ignored);
  for (const auto& [name, tail] : rings_) fs::remove(folder_ + "/" + name, ignored);
  fs::remove(folder_, ignored);
}

}  // namespace

int runHostAgent(const std::string& version) { return HostAgent().run(version); }

}  // namespace pipetrace
