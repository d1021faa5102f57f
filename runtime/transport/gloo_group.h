#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <vector>

#include "runtime/lanes/event_count.h"
#include "runtime/transport/gloo_pairs.h"
#include "trace/error.h"
#include "trace/nanoseconds.h"

namespace pipetrace {

/// The process group as lanes use it: sends and receives that abort() ends.
///
/// Threads: any.
class GlooGroup {
 public:
  using WorkPtr = c10::intrusive_ptr<c10d::Work>;

  /// `pairs`: of a group whose ranks are connected on demand.
  GlooGroup(c10::intrusive_ptr<c10d::ProcessGroupGloo> group, Nanoseconds waitTimeout,
            std::unique_ptr<GlooPairs> pairs = nullptr);

  int rank() const { return group_->getRank(); }
  int size() const { return group_->getSize(); }

  /// Begins to connect with a rank that this one will send to or receive from. Threads: one at a
  /// time.
  void open(int peer);
  /// Waits until the ranks that were opened can be reached.
  void awaitOpen();
  /// Bytes that have gone to the ranks that were opened and come from them so far. The group needs
  /// `pairs`.
  std::uint64_t bytesMoved() const { return pairs_->traffic().bytesMoved(); }

  /// Both keep the tensor until the work is dropped. Throw Error after abort().
  WorkPtr send(const at::Tensor& tensor, int to, int tag);
  WorkPtr receive(const at::Tensor& tensor, int from, int tag);
  /// Waits. Throws what went wrong.
  void await(const WorkPtr& work);

  /// Ends all waits, also those at the event counts of lanes.
  void abort(const std::string& reason) noexcept;
  void throwIfAborted() const;

  /// Where the compute thread sleeps.
  EventCount& eventCount() { return eventCount_; }
  /// abort() stops the event count too, which must outlive the group, or be removed.
  void addEventCount(EventCount& eventCount);
  void removeEventCount(EventCount& eventCount) noexcept;

  /// Runs `action`. Its exceptions become Error "rank 1 gave up <doing>: …". Those of a connection
  /// become PeerLost, which names `peer`; a lack of memory is this rank's own.
  void guarded(const std::string& doing, int peer, const std::function<void()>& action) const;

  /// Waits until all ranks are here. Throws PeerLost if one is gone, Error after abort().
  void barrier();

 private:
  void awaitPair(int peer);

  const c10::intrusive_ptr<c10d::ProcessGroupGloo> group_;
  const std::chrono::milliseconds waitTimeout_;
  const std::unique_ptr<GlooPairs> pairs_;
  std::vector<int> open_;
  EventCount eventCount_;
  mutable std::mutex mutex_;
  std::vector<WorkPtr> inFlight_;
  std::vector<EventCount*> eventCounts_;
  std::string abortReason_;
};

}  // namespace pipetrace
