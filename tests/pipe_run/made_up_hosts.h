#pragma once

#include <functional>
#include <string>
#include <vector>

#include "profiler/testing/recorded_log.h"
#include "tests/testing/program_run.h"

namespace pipetrace {

/// Tests: pipe-run on this host and on made-up ones, which a script stands in for: it runs what ssh
/// would run there on this host. All processes of a run have a variable that no others have.
class MadeUpHosts {
 public:
  MadeUpHosts();

  /// The run's folder, whose name has a space and a quote.
  const std::string& folder() const { return folder_; }
  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  std::string logOf(int rank) const;
  /// The folder in which an agent keeps logs; empty: none has one.
  std::string agentFolder() const;
  /// This host's name, for --hosts.
  static std::string here();

  /// Writes a program that is a shell script, and returns its path.
  std::string script(const std::string& name, const std::string& text) const;
  /// A remote shell that does what ssh does: $1 is the host and $2 the line.
  std::string plainShell() const;
  /// One whose connection can be cut: the file `cable` then has the number of a process group,
  /// whose end cuts it. The command on the other side goes on.
  std::string shellWithCable() const;
  /// The number in the file; empty before it is there.
  std::string cable() const;

  /// The arguments of pipe-run for ranks that are shells with `script`.
  std::vector<std::string> arguments(const std::string& hosts, const std::string& remoteShell,
                                     const std::string& script) const;
  ProgramRun run(std::vector<std::string> arguments, ProgramSetting setting = {}) const;

  /// Whether all of the run's processes end within `seconds`.
  bool endWithin(double seconds) const;
  /// How many of them there are.
  int processes() const;

 private:
  RecordedLog scratch_;
  std::string folder_;
  std::string token_;
};

/// Waits until it holds, for `seconds` at most. Returns whether it did.
bool waitUntil(const std::function<bool()>& condition, double seconds = 20);

}  // namespace pipetrace
