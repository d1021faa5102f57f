#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <utility>
#include <vector>

#include "runtime/control/start/run_start.h"
#include "trace/nanoseconds.h"

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

/// A process group whose ranks are connected when they first need each other, so that a run of a
/// thousand ranks opens no million connections.
class LazyGroup : public c10d::ProcessGroupGloo {
 public:
  /// `options` has a device made for that (lazyInit).
  LazyGroup(const c10::intrusive_ptr<c10d::Store>& store, int rank, int size,
            const c10::intrusive_ptr<Options>& options);

  /// Begins to connect with a rank whose group exists. Each of the two does this, once, and the
  /// connection is there soon after both have.
  void beginToConnect(int peer);
  /// Where the group's device takes connections, as Gloo writes it. After beginToConnect().
  std::string ownAddress(int peer);
  /// Ends the connection with a rank that has begun to connect, too. Gloo's own end would wait as
  /// long as there is a message that nobody receives.
  void disconnect(int peer);
};

/// Connects pairs of ranks on demand. Gloo itself would wait in the first send or receive until the
/// other side begins, and nothing could end that. So both leave a word in the store, and waits for
/// the other's can be ended.
class GlooPairs {
 public:
  /// May throw, to end a wait.
  using Check = std::function<void()>;

  /// This rank's group exists from now on, for others to connect to. A peer that does not come
  /// within `timeout` is lost. `newPorts`: GlooTraffic's.
  GlooPairs(c10::intrusive_ptr<LazyGroup> group, std::shared_ptr<KeyValue> store,
            Nanoseconds timeout, std::set<int> newPorts);
  /// Ends the connections. Nobody may wait any more.
  ~GlooPairs();
  GlooPairs(const GlooPairs&) = delete;
  GlooPairs& operator=(const GlooPairs&) = delete;

  /// Begins to connect with the peer, unless it has begun. Throws PeerLost. Threads: one at a time.
  void open(int peer, const Check& check);
  /// Waits until the peer has begun, too. Throws PeerLost. Any thread, after open().
  void await(int peer, const Check& check);

  /// Counts bytes on the connections with the ranks that were opened. Any thread.
  const GlooTraffic& traffic() const { return traffic_; }

 private:
  void awaitWord(const std::string& key, int peer, const Check& check) const;

  const c10::intrusive_ptr<LazyGroup> group_;
  const std::shared_ptr<KeyValue> store_;
  const Nanoseconds timeout_;
  GlooTraffic traffic_;
  std::set<int> open_;
  std::vector<std::atomic<bool>> hasBegun_;  // by peer
};

/// Gloo's thread and its socket, for a LazyGroup.
struct GlooDevice {
  std::shared_ptr<gloo::transport::Device> device;
  std::set<int> newPorts;  ///< where it waits for connections, and what GlooTraffic says
};

/// Makes one at an address of this host. Throws what Gloo throws if it is not one.
///
/// Threads that others of this process begin meanwhile are taken for its own.
GlooDevice makeGlooDevice(const std::string& address);

}  // namespace pipetrace
