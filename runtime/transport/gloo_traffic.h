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
  /// `newPorts`: where this process waits for connections since the device of this rank's group was
  /// made. Other threads may have opened some of them meanwhile.
  explicit GlooTraffic(std::set<int> newPorts) : new_(std::move(newPorts)) {}

  /// The address at which the device takes connections, as Gloo writes it: "[127.0.0.1]:4711$0".
  /// Unless it has one of the new ports, nothing counts.
  void deviceIsAt(const std::string& address);
  /// This rank's port, for meet() of the others; empty where it is not known.
  std::string ownPort() const;
  /// Connections with a rank that has this port count from now on.
  void meet(const std::string& itsPort);
  /// Bytes that have gone and come so far, all ranks together.
  std::uint64_t bytesMoved() const;

 private:
  const std::set<int> new_;
  mutable std::mutex mutex_;
  int own_ = 0;
  std::set<int> others_;
};

}  // namespace pipetrace
