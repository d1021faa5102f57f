#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "parser/byte_source.h"

namespace pipetrace {

/// The bytes of a ring file (trace/log/ring_format.h) whose process may go on recording while they
/// are read. Each job, sample and pair of times in them is whole, or is not in them.
///
/// A job goes from the ring into the log, and only then is its slot used again. So a log that is
/// read to its end after the ring holds the jobs that have left the ring. A job in both is known by
/// its times, which a job that has just ended does not have yet: settle() looks for them.
class RingSnapshot {
 public:
  /// Reads the file as it is now. `source` must outlive it. Throws Error when it cannot be read.
  explicit RingSnapshot(ByteSource& source);

  std::string_view bytes() const { return bytes_; }

  /// Looks again at the jobs that have no times, after the log has been read. Those that have got
  /// some keep them. Those that have left the ring are left out here, too: they are in the log, but
  /// perhaps after the part that was read. True: there were such jobs; read the log on to its end
  /// and call this again. False: no job without times is in the log as it was read.
  bool settle();

 private:
  std::string take();

  ByteSource& source_;
  bool isPlain_ = false;
  std::string bytes_;
};

/// The ring files beside a log whose process may still write both. Call take(), read the log to its
/// end, and call settle(). As long as settle() is true, read the log on to its end and call it
/// again. Then ring files and log are those of one moment.
class LogRings {
 public:
  explicit LogRings(const std::string& logPath);

  /// Reads the contents of the ring file of this name, in the folder of the log. Does nothing if
  /// there is none. Throws Error when it cannot be read.
  void take(const std::string& name);
  /// Calls RingSnapshot::settle() for all.
  bool settle();

  bool empty() const { return rings_.empty(); }
  /// The snapshot of a ring file; null if it was not taken.
  const RingSnapshot* find(const std::string& name) const;
  std::string pathOf(const std::string& name) const;

 private:
  struct Ring {
    explicit Ring(const std::string& path) : source(path), snapshot(source) {}
    ByteSource source;
    RingSnapshot snapshot;
  };

  const std::string folder_;
  std::map<std::string, std::unique_ptr<Ring>> rings_;
};

}  // namespace pipetrace
