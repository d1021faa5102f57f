#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "parser/byte_source.h"
#include "parser/ring/ring_snapshot.h"

namespace pipetrace {

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
