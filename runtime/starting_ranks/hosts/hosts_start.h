#pragma once

#include <future>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/starting_ranks/hosts/agent_connection.h"
#include "runtime/starting_ranks/hosts/reachable_address.h"
#include "runtime/starting_ranks/local_port.h"
#include "runtime/starting_ranks/ranks_on_host.h"
#include "runtime/starting_ranks/signal_inbox.h"

namespace pipetrace {

/// How the ranks of a run come to several hosts. First an agent is started on each other host, all
/// say that they can start the program, and an address of rank 0's host is found that all reach.
/// Then, by start(), the ranks begin.
class HostsStart {
 public:
  struct Run {
    std::vector<std::string> command{};
    int masterPort = 0;  ///< 0: one that is free on rank 0's host
    bool recording = false;
    int restart = 0;  ///< LaunchOptions::restart
  };

  /// Starts the remote shells. Throws Error.
  HostsStart(const HostOptions& options, Run run, const SignalInbox& inbox, RanksDisplay& display);
  /// Ends the agents that start() has not taken.
  ~HostsStart();
  HostsStart(const HostsStart&) = delete;
  HostsStart& operator=(const HostsStart&) = delete;

  /// Brings all to the point where the ranks can begin. Returns the signal (SIGINT, SIGTERM,
  /// SIGHUP) that came meanwhile and ended that; 0: none. Throws Error that names the host which
  /// cannot.
  int prepare();
  /// After prepare(): tells all agents to start their ranks. The logs come to `logFolder`.
  std::vector<std::unique_ptr<RanksOnHost>> start(const std::string& logFolder);
  /// After prepare(): the ranks of this host, with their master and without a log folder.
  const std::vector<RankPlace>& placesHere() const { return here_; }

 private:
  struct Agent {
    std::unique_ptr<AgentConnection> connection{};
    std::vector<RankPlace> places{};
    std::optional<HostMessage> answer{};  // to the last order
  };

  std::vector<RankPlace> placesOf(const HostOfRun& host) const;
  bool await(HostMessage::Kind kind);
  void throwNoAnswer() const;
  bool haveAnswered(HostMessage::Kind kind);
  void take(Agent& agent, HostMessage::Kind kind);
  void waitForNews();
  void requireSameVersion(const Agent& agent) const;
  void sendPrepare();
  bool findMaster();
  std::vector<std::string> reachedByAll(const HostMessage& meeting);
  bool isInterrupted();

  const HostOptions options_;
  const Run run_;
  const SignalInbox& inbox_;
  RanksDisplay& display_;
  const std::vector<HostOfRun> hosts_;
  std::vector<Agent> agents_;
  std::vector<RankPlace> here_;
  std::optional<MeetingPoint> meeting_;  // where rank 0 is here
  std::optional<LocalPort> port_;
  HostMessage master_;
  std::future<std::vector<std::string>> reachedFromHere_;
  int signal_ = 0;
};

}  // namespace pipetrace
