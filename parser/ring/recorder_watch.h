#pragma once

#include <string>
#include <string_view>

namespace pipetrace {

/// Watches, from without, whether the recorder of a log that grows is gone. Only what is sure
/// counts: the recorder was seen to hold the log and does no more, or its ring file is there and
/// names a process of this host that is none any more. A log that was never locked, as those of
/// PaddlePaddle, is never given up.
class RecorderWatch {
 public:
  explicit RecorderWatch(std::string logPath) : path_(std::move(logPath)) {}

  /// Takes what the last `Profiler Meta:` line in these lines of the log says, if there is one.
  void addLines(std::string_view lines);

  /// Looks once. What the log holds afterwards is all that the recorder has written, if it is gone.
  void look();

  /// It has closed the log, or ended without.
  bool isGone() const { return isGone_; }

  /// Its end cannot be seen from here: it is on another host, and holds no lock that we see.
  bool isOutOfSight() const;

 private:
  bool hasEndedByRing() const;

  std::string path_;
  std::string host_;
  std::string ringFile_;
  bool wasHeld_ = false;
  bool isGone_ = false;
};

}  // namespace pipetrace
