#include "runtime/starting_ranks/hosts/agent_connection.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "profiler/clock/wall_clock.h"
#include "trace/error.h"
#include "trace/text/ranks_text.h"
#include "trace/text/shell_word.h"

namespace pipetrace {
namespace {

// A remote shell ends a little after the connection, and then it is known how.
constexpr Nanoseconds kShellEnd = kNsPerSecond / 2;

std::vector<std::string> ownEnvironment() {
  std::vector<std::string> environment;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    environment.emplace_back(*variable);
  }
  return environment;
}

std::string secondsText(Nanoseconds time) {
  const Nanoseconds tenths = time / (kNsPerSecond / 10);
  return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " s";
}

}  // namespace

std::string agentLine(const HostOptions& options) {
  // Without a prefix the shell there is to find this very file; with one, what the container has.
  const std::string agent =
      options.prefix.empty() ? shellWord(options.agent) : options.prefix + " pipe-run";
  return agent + " --host-agent";
}

std::vector<std::string> agentCommand(const HostOptions& options, const std::string& host) {
  return {"/bin/sh", "-c", "exec " + options.remoteShell + " \"$@\"",
          "sh",      host, agentLine(options)};
}

AgentConnection::AgentConnection(HostOfRun host, const std::vector<std::string>& command,
                                 const sigset_t& signals)
    : host_(std::move(host)), reader_(words_.read.get(), true), shown_("host " + host_.host) {
  shell_.emplace(ChildProcess::Settings{
      .command = command,
      .environment = ownEnvironment(),
      .signals = signals,
      .standard = {orders_.read.get(), words_.write.get(), errors_.write.get()},
      .deathSignal = SIGTERM,  // at which an agent on this host ends its ranks
      .ownSession = true});
  orders_.read.reset();
  words_.write.reset();
  errors_.write.reset();
  fcntl(errors_.read.get(), F_SETFL, O_NONBLOCK);
  fcntl(orders_.write.get(), F_SETFL, O_NONBLOCK);
  sender_.emplace(orders_.write.get());
}

std::string AgentConnection::name() const {
  return "host " + host_.host + " (" + ranksText(host_.ranks) + ")";
}

void AgentConnection::addTo(std::vector<pollfd>& waiting) const {
  if (closedAt_ == kNsMax) waiting.push_back({words_.read.get(), POLLIN, 0});
  if (errors_.read.isOpen()) waiting.push_back({errors_.read.get(), POLLIN, 0});
}

void AgentConnection::readErrors() {
  std::array<char, 4096> buffer;
  while (errors_.read.isOpen()) {
    const ssize_t n = read(errors_.read.get(), buffer.data(), buffer.size());
    if (n > 0) {
      printed_.append(buffer.data(), static_cast<std::size_t>(n));
      if (printed_.size() > RankOutput::kLongestLine) break;
    } else if (n == 0 || (errno != EINTR && errno != EAGAIN)) {
      errors_.read.reset();
    } else if (errno == EAGAIN) {
      break;
    }
  }
}

void AgentConnection::show(RanksDisplay& display, bool everything) {
  printed_ += reader_.takeStrayText(everything);
  if ((everything || printed_.size() > RankOutput::kLongestLine) && !printed_.empty() &&
      printed_.back() != '\n') {
    printed_ += '\n';
  }
  // ssh ends its lines as a terminal has them.
  for (std::size_t at = 0; (at = printed_.find("\r\n", at)) != std::string::npos;) {
    printed_.erase(at, 1);
  }
  const std::size_t lines = printed_.rfind('\n') + 1;  // npos + 1 is 0
  shown_.show(std::string_view(printed_).substr(0, lines), display.pending());
  printed_.erase(0, lines);
}

void AgentConnection::work(RanksDisplay& display) {
  readErrors();
  if (closedAt_ == kNsMax && !reader_.readSome()) closedAt_ = monotonicNow();
  if (!display.isFull()) show(display, false);
}

void AgentConnection::findLoss() {
  if (!isOpen_ || !loss_.empty()) return;
  const Nanoseconds now = monotonicNow();
  if (closedAt_ != kNsMax) {
    if (!shell_->hasEnded() && now - closedAt_ < kShellEnd) return;
    readErrors();
    lose(shell_->hasEnded() ? "is lost, as its remote shell " + shell_->ending()
                            : "is lost, as its connection has ended");
  } else if (hasGreeted_ && now - reader_.lastHeard() > kHostSilence) {
    lose("has not been heard of for " + secondsText(now - reader_.lastHeard()));
    isSilent_ = true;
  }
}

std::optional<MessageReader::Received> AgentConnection::next() {
  if (!loss_.empty()) return std::nullopt;
  try {
    std::optional<MessageReader::Received> received = reader_.next();
    if (received) {
      hasGreeted_ = true;
    } else {
      findLoss();
    }
    return received;
  } catch (const Error& e) {
    lose(std::string("is lost: ") + e.what());
    return std::nullopt;
  }
}

void AgentConnection::send(const HostMessage& message) {
  if (sender_) sender_->send(message);
}

void AgentConnection::flush(Nanoseconds limit) {
  if (sender_) sender_->flush(limit);
}

void AgentConnection::lose(const std::string& why) {
  if (loss_.empty()) loss_ = name() + " " + why;
}

std::string AgentConnection::lastLines() {
  RanksDisplay nowhere(-1);
  show(nowhere, true);
  return shown_.lastLines();
}

void AgentConnection::close() {
  if (!std::exchange(isOpen_, false)) return;
  sender_.reset();
  orders_.write.reset();
  if (!hasGreeted_) shell_->signal(SIGTERM);
  if (isSilent_) kill();  // it hears of nothing
}

}  // namespace pipetrace
