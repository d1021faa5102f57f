#pragma once

#include <poll.h>

#include <optional>
#include <string>
#include <vector>

#include "runtime/starting_ranks/child_process.h"
#include "runtime/starting_ranks/hosts/host_list.h"
#include "runtime/starting_ranks/hosts/message_channel.h"
#include "runtime/starting_ranks/rank_output.h"
#include "runtime/starting_ranks/ranks_display.h"

namespace pipetrace {

/// The line for the shell of another host that starts the agent.
std::string agentLine(const HostOptions& options);

/// The command line of /bin/sh that starts the agent of a host.
std::vector<std::string> agentCommand(const HostOptions& options, const std::string& host);

/// The agent of another host, seen from home: the remote shell that runs it, and what it says. No
/// call waits. Not thread-safe.
class AgentConnection {
 public:
  /// Starts the remote shell, in a session of its own, so that it cannot ask anybody for a
  /// password. Throws Error.
  AgentConnection(HostOfRun host, const std::vector<std::string>& command, const sigset_t& signals);
  /// Kills the remote shell if it runs.
  ~AgentConnection() = default;
  AgentConnection(const AgentConnection&) = delete;
  AgentConnection& operator=(const AgentConnection&) = delete;

  const HostOfRun& host() const { return host_; }
  /// "host b (ranks 4 and 5)".
  std::string name() const;

  void addTo(std::vector<pollfd>& waiting) const;
  /// Reads what has come. The display gets what the remote shell and the agent print.
  void work(RanksDisplay& display);
  /// The next message; nothing after what is none. Where none is left, it finds out whether the
  /// host is lost.
  std::optional<MessageReader::Received> next();
  /// Nothing is sent after close().
  void send(const HostMessage& message);
  /// Waits until all that was sent has been written, but no longer than `limit`.
  void flush(Nanoseconds limit);

  /// Why the host is lost, for people; empty: it is not.
  const std::string& loss() const { return loss_; }
  /// Takes it for lost. `why` follows name(): "is too far away".
  void lose(const std::string& why);
  /// Whether the agent has said hello.
  bool hasGreeted() const { return hasGreeted_; }
  /// The last lines of the remote shell and the agent, as of ShownLines.
  std::string lastLines();

  /// Ends the connection, at which the agent ends its ranks and itself. A remote shell with no
  /// agent behind it yet gets SIGTERM, one that is silent SIGKILL.
  void close();
  bool hasEnded() { return shell_->hasEnded(); }
  void kill() const { shell_->signal(SIGKILL); }

 private:
  void readErrors();
  void show(RanksDisplay& display, bool everything);
  void findLoss();

  const HostOfRun host_;
  Pipe orders_;
  Pipe words_;
  Pipe errors_;
  std::optional<ChildProcess> shell_;
  std::optional<MessageSender> sender_;
  MessageReader reader_;
  ShownLines shown_;
  std::string printed_;  // and not shown yet
  std::string loss_;
  bool hasGreeted_ = false;
  bool isOpen_ = true;
  bool isSilent_ = false;
  Nanoseconds closedAt_ = kNsMax;  // when the agent's words ended
};

}  // namespace pipetrace
