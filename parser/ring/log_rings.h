#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "parser/byte_source.h"
#include "parser/ring/ring_snapshot.h"

namespace pipetrace {

/// The ring files beside a log whose process may still be writing both. Take what they hold, read
/// the log (on) to its end, settle(), and so on as long as that says so: then ring files and log
/// are those of one moment.
class LogRings {
 public:
  explicit LogRings(const std::string& logPath);

  /// Takes what the ring file of this name, in the folder of the log, holds now. Nothing if there
  /// is none. Throws Error when it cannot be read.
  void take(const std::string& name);
  /// RingSnapshot::settle() for all.
  bool settle();

  bool empty() const { return rings_.empty(); }
  /// Of a ring file that was taken; null: it was not.
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
