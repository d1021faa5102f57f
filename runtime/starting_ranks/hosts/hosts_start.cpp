#include "runtime/starting_ranks/hosts/hosts_start.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <string_view>
#include <utility>

#include "profiler/clock/wall_clock.h"
#include "runtime/starting_ranks/hosts/remote_ranks.h"
#include "trace/error.h"

namespace pipetrace {
namespace {

using Kind = HostMessage::Kind;

constexpr int kStartLookMs = 100;

/// An error of a host, with what its remote shell and its agent have printed.
Error hostError(AgentConnection& agent, const std::string& what) {
  const std::string lines = agent.lastLines();
  if (lines.empty()) return Error(what);
  return Error(what + "; last lines from there:\n" + lines.substr(0, lines.size() - 1));
}

std::string secondsOf(Nanoseconds time) {
  std::string text = std::to_string(time / kNsPerSecond);
  if (time % kNsPerSecond != 0) text += "." + std::to_string(time % kNsPerSecond / kNsPerMs / 100);
  return text + " s";
}

/// The variables of this process that ranks on other hosts get, too.
std::vector<std::string> sharedVariables() {
  std::vector<std::string> shared;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view text = *variable;
    if (text.starts_with("PIPETRACE") || text.starts_with("OMP_NUM_THREADS=")) {
      shared.emplace_back(text);
    }
  }
  return shared;
}

/// Those of both, in the order of the first.
std::vector<std::string> common(const std::vector<std::string>& some,
                                const std::vector<std::string>& others) {
  std::vector<std::string> both;
  std::copy_if(some.begin(), some.end(), std::back_inserter(both), [&](const std::string& one) {
    return std::find(others.begin(), others.end(), one) != others.end();
  });
  return both;
}

std::string listed(const std::vector<std::string>& texts) {
  std::string list;
  for (const std::string& text : texts) list += (list.empty() ? "" : ", ") + text;
  return list.empty() ? "none" : list;
}

}  // namespace

HostsStart::HostsStart(const HostOptions& options, Run run, const SignalInbox& inbox,
                       RanksDisplay& display)
    : options_(options),
      run_(std::move(run)),
      inbox_(inbox),
      display_(display),
      hosts_(hostsOf(options.ranks)) {
  if (hosts_.size() > 1 && isLocalhost(options.masterAddress)) {
    throw Error("the master's address " + options.masterAddress +
                " is another host on every host; give an address of " + hosts_[0].host +
                " that the others reach, or none to find one");
  }
  for (const HostOfRun& host : hosts_) {
    if (host.isHere) {
      here_ = placesOf(host);
    } else {
      agents_.push_back({.connection = std::make_unique<AgentConnection>(
                             host, agentCommand(options_, host.host), inbox_.maskBefore()),
                         .places = placesOf(host)});
    }
  }
}

HostsStart::~HostsStart() {
  std::vector<AgentConnection*> left;
  for (const Agent& agent : agents_) {
    if (agent.connection) left.push_back(agent.connection.get());
  }
  signal_ = 0;
  endAgents(left, [this] { return isInterrupted(); });
}

std::vector<RankPlace> HostsStart::placesOf(const HostOfRun& host) const {
  std::vector<RankPlace> places = placesOn(host, static_cast<int>(options_.ranks.size()));
  for (RankPlace& place : places) {
    place.recording = run_.recording;
    place.restart = run_.restart;
  }
  return places;
}

int HostsStart::prepare() {
  if (!await(Kind::kHello)) return signal_;
  for (const Agent& agent : agents_) requireSameVersion(agent);
  sendPrepare();
  if (!await(Kind::kPrepared) || !findMaster()) return signal_;
  for (RankPlace& place : here_) {
    place.masterAddress = master_.address;
    place.masterPort = master_.port;
  }
  return 0;
}

bool HostsStart::isInterrupted() {
  for (int number = inbox_.take(); number != 0; number = inbox_.take()) {
    if (number == SIGINT || number == SIGTERM || number == SIGHUP) signal_ = number;
  }
  return signal_ != 0;
}

/// Waits for this word of all agents that have not said it. False: a signal has come.
bool HostsStart::await(Kind kind) {
  const Nanoseconds end = monotonicNow() + options_.startTimeout;
  while (!haveAnswered(kind)) {
    if (monotonicNow() > end) throwNoAnswer();
    waitForNews();
    if (isInterrupted()) return false;
    if (meeting_) meeting_->answer();
    for (Agent& agent : agents_) take(agent, kind);
  }
  return true;
}

/// Throws Error that names all hosts without an answer, if there are some.
void HostsStart::throwNoAnswer() const {
  AgentConnection* first = nullptr;
  std::vector<std::string> others;
  for (const Agent& agent : agents_) {
    if (agent.answer) continue;
    if (first != nullptr) others.push_back(agent.connection->name());
    if (first == nullptr) first = agent.connection.get();
  }
  if (first == nullptr) return;
  const std::string what =
      first->name() + " did not answer within " + secondsOf(options_.startTimeout);
  if (others.empty()) throw hostError(*first, what);
  throw hostError(*first, what + ", nor did " + listed(others));
}

bool HostsStart::haveAnswered(Kind kind) {
  const bool agents = std::all_of(agents_.begin(), agents_.end(),
                                  [](const Agent& agent) { return agent.answer.has_value(); });
  return agents &&
         (kind != Kind::kReached || !reachedFromHere_.valid() ||
          reachedFromHere_.wait_for(std::chrono::seconds(0)) == std::future_status::ready);
}

void HostsStart::waitForNews() {
  std::vector<pollfd> fds = {{inbox_.fd(), POLLIN, 0}, {display_.pollFd(), POLLOUT, 0}};
  if (meeting_) fds.push_back({meeting_->pollFd(), POLLIN, 0});
  for (const Agent& agent : agents_) agent.connection->addTo(fds);
  poll(fds.data(), fds.size(), kStartLookMs);
  display_.show(fds[1].revents != 0, false);
  display_.settle();
}

void HostsStart::take(Agent& agent, Kind kind) {
  agent.connection->work(display_);
  while (auto received = agent.connection->next()) {
    if (received->message.kind == Kind::kRefused) {
      throw Error("host " + agent.connection->host().host + ": " + received->message.text);
    }
    if (received->message.kind == kind) agent.answer = std::move(received->message);
  }
  const std::string& loss = agent.connection->loss();
  if (!loss.empty()) throw hostError(*agent.connection, loss);
}

void HostsStart::requireSameVersion(const Agent& agent) const {
  const HostMessage& hello = *agent.answer;
  if (hello.version == options_.version && hello.protocol == kHostProtocol) return;
  const auto own = [](const std::string& version, int protocol) {
    return "pipe-run " + version + " (protocol " + std::to_string(protocol) + ")";
  };
  throw Error("host " + agent.connection->host().host + " has " +
              own(hello.version, hello.protocol) + ", and this host has " +
              own(options_.version, kHostProtocol) + "; install the same version on all hosts");
}

void HostsStart::sendPrepare() {
  if (hosts_[0].isHere) {
    meeting_.emplace(run_.masterPort);
  }
  HostMessage order{.kind = Kind::kPrepare,
                    .command = run_.command,
                    .directory = std::filesystem::current_path().string(),
                    .environment = sharedVariables(),
                    .port = run_.masterPort};
  for (Agent& agent : agents_) {
    order.places = agent.places;
    order.meets = agent.connection->host().ranks[0] == 0;
    agent.answer.reset();
    agent.connection->send(order);
  }
}

/// Chooses where rank 0 serves. False: a signal has come.
bool HostsStart::findMaster() {
  HostMessage meeting{.kind = Kind::kReach};
  if (meeting_) {
    meeting.addresses = meeting_->addresses();
    meeting.port = meeting_->port();
    meeting.token = meeting_->token();
  } else {
    const HostMessage& first = *agents_[0].answer;
    meeting.addresses = first.addresses;
    meeting.port = first.port;
    meeting.token = first.token;
  }
  if (!options_.masterAddress.empty()) meeting.addresses = {options_.masterAddress};
  if (hosts_.size() == 1) meeting.addresses = {"127.0.0.1"};
  const std::vector<std::string> reached =
      hosts_.size() == 1 ? meeting.addresses : reachedByAll(meeting);
  if (signal_ != 0) return false;
  master_ = {.kind = Kind::kStart, .port = meeting.port, .address = reached[0]};
  if (meeting_) {
    meeting_.reset();
    port_.emplace(master_.port, master_.address);
  }
  return true;
}

/// Throws Error if there is none. Returns none as well after a signal.
std::vector<std::string> HostsStart::reachedByAll(const HostMessage& meeting) {
  const bool asksHere = !hosts_[0].isHere && !here_.empty();
  if (asksHere) {
    reachedFromHere_ = std::async(std::launch::async, [meeting] {
      return reachedOf(meeting.addresses, meeting.port, meeting.token);
    });
  }
  std::vector<HostMessage> prepared;
  for (Agent& agent : agents_) {
    prepared.push_back(*agent.answer);
    if (agent.connection->host().ranks[0] == 0) continue;
    agent.answer.reset();
    agent.connection->send(meeting);
  }
  if (!await(Kind::kReached)) return {};
  std::vector<std::string> reached = meeting.addresses;
  std::string who;
  const auto add = [&](const std::string& host, const std::vector<std::string>& its) {
    reached = common(reached, its);
    who += "; " + host + " reaches " + listed(its);
  };
  if (asksHere) add("this host", reachedFromHere_.get());
  for (std::size_t i = 0; i < agents_.size(); ++i) {
    const HostOfRun& host = agents_[i].connection->host();
    if (host.ranks[0] != 0) add("host " + host.host, agents_[i].answer->addresses);
    agents_[i].answer = prepared[i];  // which says where its logs are
  }
  if (!reached.empty()) return reached;
  throw Error("no address of host " + hosts_[0].host + ", where rank 0 is, is reached by all (" +
              listed(meeting.addresses) + ", port " + std::to_string(meeting.port) + ")" + who);
}

std::vector<std::unique_ptr<RanksOnHost>> HostsStart::start(const std::string& logFolder) {
  std::vector<std::unique_ptr<RanksOnHost>> groups;
  std::vector<AgentConnection*> started;
  for (Agent& agent : agents_) {
    started.push_back(agent.connection.get());
    groups.push_back(
        std::make_unique<RemoteRanks>(std::move(agent.connection), logFolder, agent.answer->text));
  }
  for (AgentConnection* const agent : started) agent->send(master_);
  return groups;
}

}  // namespace pipetrace
