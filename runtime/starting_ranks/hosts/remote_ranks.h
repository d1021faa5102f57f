#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "profiler/process/log_file.h"
#include "runtime/starting_ranks/hosts/agent_connection.h"
#include "runtime/starting_ranks/hosts/file_tail.h"
#include "runtime/starting_ranks/rank_output.h"
#include "runtime/starting_ranks/ranks_display.h"
#include "runtime/starting_ranks/ranks_on_host.h"

namespace pipetrace {

/// The log at home of a rank on another host: what comes is appended, and what the rank has printed
/// is shown from there, so nothing waits for the display. It is locked as by the recorder itself,
/// so that others can see that it grows. Not thread-safe.
class RemoteLog {
 public:
  /// Throws Error.
  RemoteLog(int rank, const std::string& path);

  void add(const std::string& bytes) { file_.append(bytes); }
  /// Nothing more will come.
  void end();
  /// Shows what the rank has printed, as far as the display has room: all lines but those of the
  /// job log.
  void show(RanksDisplay& display);
  /// Whether all has been shown.
  bool isShown() const { return isShown_; }

  std::string lastLines() const { return shown_.lastLines(); }
  const LogFile& file() const { return file_; }

 private:
  const int rank_;
  LogFile file_;
  FileTail tail_;
  ShownLines shown_;
  bool hasEnded_ = false;
  bool isShown_ = true;
};

/// Ranks on another host, by its agent. Their logs and ring files come to the log folder here.
class RemoteRanks : public RanksOnHost {
 public:
  /// `agent` is prepared to start them. `agentFolder`: where it keeps their logs. Throws Error if
  /// a log cannot be made.
  RemoteRanks(std::unique_ptr<AgentConnection> agent, std::string logFolder,
              std::string agentFolder);
  /// Ends the connection, and so the ranks, if they run.
  ~RemoteRanks() override;

  void addTo(std::vector<pollfd>& waiting, bool hasRoom) const override;
  std::vector<RankEnd> newEnds(RanksDisplay& display) override;
  void readOutput(RanksDisplay& display) override;
  bool isDone() const override;
  void signal(int number) override;
  void finish(RanksDisplay& /*display*/) override {}
  std::string lastLines(int rank) const override;
  std::string loss() const override;
  void abandon() override;
  std::vector<std::string> warnings() const override;

 private:
  void take(const MessageReader::Received& received, std::vector<RankEnd>& ends);
  void store(const std::string& name, const std::string& bytes);
  void endLogs();
  void lost();

  std::unique_ptr<AgentConnection> agent_;
  const std::string logFolder_;
  const std::string agentFolder_;
  std::map<int, RemoteLog> logs_;  // by rank
  std::vector<std::string> warnings_;
  bool isDone_ = false;
  bool isLost_ = false;
};

/// Ends the connections to all agents, and waits until they have ended, which they do within 5 s. A
/// remote shell that does not end is killed. `isUrgent`, called often, says not to wait.
void endAgents(const std::vector<AgentConnection*>& agents,
               const std::function<bool()>& isUrgent = {});

}  // namespace pipetrace
