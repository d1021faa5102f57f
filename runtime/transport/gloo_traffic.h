#pragma once

#include <cstdint>
#include <mutex>
#include <set>
#include <string>
#include <utility>

namespace pipetrace {

/// How many bytes have gone and come over Gloo's connections. Gloo itself says nothing of a message
/// before all of it is there.
///
/// Threads: any.
class GlooTraffic {
 public:
  /// `ownPorts`: where the device of this rank's group waits for connections.
  explicit GlooTraffic(std::set<int> ownPorts) : own_(std::move(ownPorts)) {}

  /// This rank's ports, for meet() of the others.
  std::string ownPorts() const;
  /// Connections with a rank that has these ports count from now on.
  void meet(const std::string& itsPorts);
  /// Bytes that have gone and come so far, all ranks together.
  std::uint64_t bytesMoved() const;

 private:
  const std::set<int> own_;
  mutable std::mutex mutex_;
  std::set<int> others_;
};

}  // namespace pipetrace
