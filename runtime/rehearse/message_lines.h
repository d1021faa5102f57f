#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "runtime/lanes/message_key.h"
#include "schedule/check/checked_plan.h"
#include "schedule/comm_streams.h"
#include "schedule/costs.h"
#include "trace/nanoseconds.h"

namespace pipetrace {

/// When the messages of a rehearsal move on lines (CommStreams). Both ends of a message ask here,
/// so they agree. No clock is read: ranks say in advance when a job will have ended, and the times
/// of a message are known as soon as they follow from that.
///
/// The rules are those of simulate(). A message begins when its data is there, its receiver has
/// begun the step, and it is its turn on the lines of both its ends. It holds them until it has
/// arrived. Lines go on from one step to the next.
///
/// Times are CLOCK_MONOTONIC, in ns. Steps count from 0, one by one.
///
/// Threads: one for each rank; stop() from any.
class MessageLines {
 public:
  struct Times {
    Nanoseconds sent = 0;    ///< made, and its turn on the sender's line
    Nanoseconds posted = 0;  ///< its receiver's step has begun, and its turn on the receiver's line
    Nanoseconds end = 0;     ///< it is there
  };
  /// Hears for which rank another one waits, as long as it does. Must not call back.
  using OnWait = std::function<void(int rank)>;

  /// Keeps neither. simulate() must be able to run `plan` on these lines.
  MessageLines(const CheckedPlan& plan, const Costs& costs, CommStreams commStreams);

  /// The rank begins its next step at that time.
  void beginStep(int rank, Nanoseconds time);
  /// The message is made at that time.
  void made(const MessageKey& key, Nanoseconds time);

  /// The times of a message; empty: not known yet. Each end takes them once, then they are
  /// forgotten.
  std::optional<Times> take(const MessageKey& key);
  /// `rank`, an end of the message, waits until its times are known. Throws PeerLost after stop().
  void await(int rank, const MessageKey& key, const OnWait& onWait);

  /// Ends all waits, and those that would follow.
  void stop(const std::string& reason) noexcept;

 private:
  static constexpr int kNone = -1;

  struct Line {
    std::vector<int> order;  // messages of a step
    std::size_t moved = 0;   // over all steps
    Nanoseconds free = kNsMin;

    int next() const { return order[moved % order.size()]; }
  };
  struct Moved {
    Times times;
    int taken = 0;  // by how many of its ends
  };
  struct Moving {
    int sender = kNone;
    int receiver = kNone;
    int sendLine = kNone;  // kNone: a line of its own
    int receiveLine = kNone;
    Nanoseconds length = 0;
    int steps = 0;                  // in which it has moved
    std::vector<Nanoseconds> made;  // of the steps from there on
    std::vector<Moved> known;       // of the last steps before that
  };
  struct Rank {
    int steps = 0;  // begun
    Nanoseconds begin = 0;
    std::vector<int> receives;
    int message = kNone;  // for which it waits
    int awaited = kNone;  // the rank that holds that up
    std::condition_variable changed;
  };

  std::size_t placeOf(const MessageKey& key) const;
  Moving& at(int message) { return messages_[static_cast<std::size_t>(message)]; }
  const Moving& at(int message) const { return messages_[static_cast<std::size_t>(message)]; }
  Rank& rankAt(int rank) { return ranks_[static_cast<std::size_t>(rank)]; }
  Line* lineAt(int line) {
    return line == kNone ? nullptr : &lines_[static_cast<std::size_t>(line)];
  }
  int inFrontOf(int message, int line) const;
  bool canMove(int message) const;
  void move(int message);
  void moveAll(std::vector<int> messages);
  int awaitedRank(int message) const;
  void tellWaiting(int rank);

  const int numMicroBatches_;
  std::mutex mutex_;
  std::vector<Moving> messages_;  // by placeOf()
  std::vector<Line> lines_;
  std::vector<Rank> ranks_;
  std::optional<std::string> stopped_;
};

}  // namespace pipetrace
