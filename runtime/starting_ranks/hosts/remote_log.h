#pragma once

#include <string>

#include "profiler/process/log_file.h"
#include "runtime/starting_ranks/hosts/file_tail.h"
#include "runtime/starting_ranks/rank_output.h"
#include "runtime/starting_ranks/ranks_display.h"

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

}  // namespace pipetrace
