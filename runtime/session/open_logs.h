#pragma once

#include <mutex>
#include <set>

#include "profiler/recorder.h"

namespace pipetrace {

/// The recorders of this process that are open now.
///
/// Threads: any.
class OpenLogs {
 public:
  void add(Recorder& recorder) {
    const std::lock_guard lock(mutex_);
    recorders_.insert(&recorder);
  }
  void remove(Recorder& recorder) {
    const std::lock_guard lock(mutex_);
    recorders_.erase(&recorder);
  }
  /// Writes out what they hold, while their ranks' own threads stand still.
  void flush() {
    const std::lock_guard lock(mutex_);
    for (Recorder* const recorder : recorders_) recorder->flush();
  }

 private:
  std::mutex mutex_;
  std::set<Recorder*> recorders_;
};

/// Is among the open logs while it lives.
class OpenLog {
 public:
  OpenLog(OpenLogs& logs, Recorder& recorder) : logs_(logs), recorder_(recorder) {
    logs_.add(recorder_);
  }
  ~OpenLog() { logs_.remove(recorder_); }
  OpenLog(const OpenLog&) = delete;
  OpenLog& operator=(const OpenLog&) = delete;

 private:
  OpenLogs& logs_;
  Recorder& recorder_;
};

}  // namespace pipetrace
