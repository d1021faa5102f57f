#include "runtime/starting_ranks/hosts/remote_ranks.h"

#include <fcntl.h>
#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <string_view>
#include <thread>
#include <utility>

#include "profiler/clock/wall_clock.h"
#include "runtime/starting_ranks/launch_log_folder.h"
#include "runtime/starting_ranks/local_ranks.h"
#include "trace/files/shared_folder.h"
#include "trace/files/write_all.h"
#include "trace/log/log_format.h"
#include "trace/sockets/owned_fd.h"
#include "trace/text/ranks_text.h"

namespace pipetrace {

namespace {

using Kind = HostMessage::Kind;

// An agent takes 5 s to end its ranks, and a remote shell without one needs no time.
constexpr Nanoseconds kAgentEnd = 8 * kNsPerSecond;
constexpr Nanoseconds kEmptyShellEnd = kNsPerSecond;
constexpr Nanoseconds kFarewell = kNsPerSecond;
constexpr std::chrono::milliseconds kEndPause{10};

}  // namespace

RemoteRanks::RemoteRanks(std::unique_ptr<AgentConnection> agent, std::string logFolder,
                         std::string agentFolder)
    : agent_(std::move(agent)),
      logFolder_(std::move(logFolder)),
      agentFolder_(std::move(agentFolder)) {
  for (const int rank : agent_->host().ranks) {
    logs_.try_emplace(rank, rank, rankLogPath(logFolder_, rank));
  }
}

RemoteRanks::~RemoteRanks() {
  if (isDone_) agent_->flush(kFarewell);
  endAgents({agent_.get()});
}

void RemoteRanks::addTo(std::vector<pollfd>& waiting, bool /*hasRoom*/) const {
  if (!isDone_ && !isLost_) agent_->addTo(waiting);
}

std::vector<RankEnd> RemoteRanks::newEnds(RanksDisplay& display) {
  std::vector<RankEnd> ends;
  if (isDone_ || isLost_) return ends;
  agent_->work(display);
  while (const auto received = agent_->next()) {
    take(*received, ends);
    if (isDone_) return ends;
  }
  if (!agent_->loss().empty()) lost();
  return ends;
}

void RemoteRanks::take(const MessageReader::Received& received, std::vector<RankEnd>& ends) {
  const HostMessage& word = received.message;
  switch (word.kind) {
    case Kind::kEnded:
      ends.push_back({.rank = word.rank,
                      .succeeded = word.succeeded,
                      .wasKilled = word.wasKilled,
                      .text = word.text + " on host " + agent_->host().host});
      break;
    case Kind::kLog:
      if (const auto log = logs_.find(word.rank); log != logs_.end())
        log->second.add(received.bytes);
      break;
    case Kind::kFile: store(word.name, received.bytes); break;
    case Kind::kRefused: agent_->lose("cannot start its ranks: " + word.text); break;
    case Kind::kDone:
      for (const std::string& warning : word.warnings) {
        warnings_.push_back("host " + agent_->host().host + ": " + warning);
      }
      endLogs();
      agent_->send({.kind = Kind::kBye});
      isDone_ = true;
      break;
    default: break;  // a beat
  }
}

void RemoteRanks::store(const std::string& name, const std::string& bytes) {
  if (!isRingFile(name)) return;
  const std::string path = logFolder_ + "/" + name;
  const OwnedFd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | kNotThroughLinks, 0666));
  std::string_view rest = bytes;
  if (file.isOpen() && writeAll(file.get(), rest)) return;
  warnings_.push_back("not all of " + path + " could be stored: " + std::strerror(errno));
}

void RemoteRanks::endLogs() {
  for (auto& [rank, log] : logs_) log.end();
}

void RemoteRanks::lost() {
  isLost_ = true;
  endLogs();
  agent_->close();
  warnings_.push_back("the logs of " + ranksText(agent_->host().ranks) +
                      " may lack their end; host " + agent_->host().host + " has its own in " +
                      agentFolder_);
}

void RemoteRanks::readOutput(RanksDisplay& display) {
  for (auto& [rank, log] : logs_) log.show(display);
}

bool RemoteRanks::isDone() const {
  return (isDone_ || isLost_) && std::all_of(logs_.begin(), logs_.end(),
                                             [](const auto& one) { return one.second.isShown(); });
}

void RemoteRanks::signal(int number) {
  if (!isDone_) agent_->send({.kind = Kind::kSignal, .number = number});
}

std::string RemoteRanks::lastLines(int rank) const {
  const auto log = logs_.find(rank);
  return log == logs_.end() ? std::string() : log->second.lastLines();
}

std::string RemoteRanks::loss() const {
  const std::string& loss = agent_->loss();
  if (isDone_ || loss.empty()) return {};
  const std::string lines = agent_->lastLines();
  return loss + (lines.empty() ? "" : "; last lines from there:\n" + lines);
}

void RemoteRanks::abandon() {
  if (isDone_ || isLost_) return;
  agent_->lose("does not end its ranks");
  lost();
}

std::vector<std::string> RemoteRanks::warnings() const {
  std::vector<std::string> warnings = warnings_;
  for (const auto& [rank, log] : logs_) {
    const std::string warning = whatIsMissing(log.file());
    if (!warning.empty()) warnings.push_back(warning);
  }
  return warnings;
}

void endAgents(const std::vector<AgentConnection*>& agents, const std::function<bool()>& isUrgent) {
  for (AgentConnection* const agent : agents) agent->close();
  const Nanoseconds begin = monotonicNow();
  const auto isPending = [&](AgentConnection* agent) {
    if (agent->hasEnded()) return false;
    const Nanoseconds limit = agent->hasGreeted() ? kAgentEnd : kEmptyShellEnd;
    if (monotonicNow() - begin < limit && !(isUrgent && isUrgent())) return true;
    agent->kill();
    return false;
  };
  while (std::count_if(agents.begin(), agents.end(), isPending) > 0) {
    std::this_thread::sleep_for(kEndPause);
  }
}

namespace {

constexpr std::size_t kShownPiece = 64 * 1024;

bool isOfJobLog(std::string_view line) {
  const std::size_t at = line.find(log_format::kMark);
  if (at == std::string_view::npos) return false;
  const std::string_view rest = line.substr(at);
  constexpr std::array kMarks = {log_format::kInfo,  log_format::kStream, log_format::kMeta,
                                 log_format::kClock, log_format::kKernel, log_format::kCounter,
                                 log_format::kEnd};
  return std::any_of(kMarks.begin(), kMarks.end(),
                     [&](std::string_view mark) { return rest.starts_with(mark); });
}

/// The lines that the job log does not have; each ends with a newline.
std::string printedIn(std::string_view text) {
  std::string printed;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, std::min(text.find('\n'), text.size() - 1) + 1);
    text.remove_prefix(line.size());
    if (isOfJobLog(line)) continue;
    printed += line;
    if (line.back() != '\n') printed += '\n';
  }
  return printed;
}

}  // namespace

RemoteLog::RemoteLog(int rank, const std::string& path)
    : rank_(rank), file_(path), tail_(path), shown_("rank " + std::to_string(rank)) {
  tail_.skip();  // a restart's log goes on behind what was shown
  file_.claim();
}

void RemoteLog::end() {
  hasEnded_ = true;
  isShown_ = false;
  file_.release();
}

void RemoteLog::show(RanksDisplay& display) {
  while (!display.isFull()) {
    const std::string text = tail_.next(kShownPiece, hasEnded_);
    isShown_ = text.empty();
    if (isShown_) return;
    const std::size_t before = display.pending().size();
    shown_.show(printedIn(text), display.pending());
    display.count(rank_, before);
    display.settle();
  }
}

}  // namespace pipetrace
