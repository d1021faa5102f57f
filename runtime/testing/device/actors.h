#pragma once

#include <c10/core/Stream.h>

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <thread>

#include "runtime/testing/device/test_device.h"
#include "runtime/testing/device/vector_clock.h"

namespace pipetrace::test_device {

inline constexpr auto kType = c10::DeviceType::PrivateUse1;
inline constexpr int kNobody = -1;

/// Something that an actor did. The texts live as long as the process.
struct Operation {
  int actor = kNobody;
  std::uint64_t epoch = 0;
  const std::string* name = nullptr;
  const std::string* label = nullptr;
};

/// The actors: streams, and host threads that use them. Each has a clock, and a number that is good
/// until forgetAll(). A host thread has a clock of its own, or else a wait of any thread would hide
/// that others do not wait, now and then. Threads: under the lock of the device's state.
class Actors {
 public:
  int of(c10::Stream stream);
  int ofThisThread();

  const std::string& nameOf(int actor) const { return actor_(actor).name; }
  /// All that is completed when the actor's next operation begins.
  const VectorClock& knownBy(int actor) const { return actor_(actor).known; }
  /// The same of all streams of a device together.
  VectorClock knownByDevice(c10::DeviceIndex device) const;

  /// Work that the calling thread enqueues on a stream comes after everything that the thread knows
  /// to be completed. Gives what is completed when that work begins.
  const VectorClock& order(int stream);
  Operation enqueue(int stream, const std::string& name);
  Operation doOnHost(const std::string& name);

  void learn(int actor, const VectorClock& clock) { actor_(actor).known.join(clock); }
  /// After a finding: from here on `actor` has waited for all that the calling thread knows to be
  /// enqueued where `other` was done. So a missing wait is found once.
  void pretendWait(int actor, const Operation& other);

  /// A thread's knowledge of what is completed and what is enqueued, to hand to another.
  struct Knowledge {
    VectorClock completed;
    VectorClock enqueued;
  };
  Knowledge knowledgeOfThisThread();
  void learnEnqueued(const VectorClock& clock) { actor_(ofThisThread()).enqueued.join(clock); }

  HostWaits& waitsOfThisThread() { return actor_(ofThisThread()).waits; }
  /// The waits of one thread, or of all.
  HostWaits waits(const std::thread::id* thread) const;
  void forgetWaits();

  /// Everything so far counts as completed, and known to all.
  void forgetAll();
  /// How often that was done. Numbers and clocks of an earlier generation say nothing.
  std::uint64_t generation() const { return generation_; }

 private:
  struct Actor {
    std::string name;
    VectorClock known;
    // Host threads alone have these.
    std::thread::id thread;
    VectorClock enqueued;
    HostWaits waits;
  };

  const Actor& actor_(int actor) const { return actors_[static_cast<std::size_t>(actor)]; }
  Actor& actor_(int actor) { return actors_[static_cast<std::size_t>(actor)]; }
  int add(std::string name);

  std::deque<Actor> actors_;
  std::map<std::pair<c10::DeviceIndex, c10::StreamId>, int> streams_;
  int threads_ = 0;
  std::uint64_t generation_ = 1;
};

}  // namespace pipetrace::test_device
