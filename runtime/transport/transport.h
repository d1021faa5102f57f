#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "runtime/lanes/lane.h"
#include "runtime/transport/message.h"
#include "schedule/comm_streams.h"

namespace pipetrace {

class LineWatch;
class RankDevice;

/// Moves messages between the ranks of one pipeline. Each kind from one rank to one other has a
/// lane (LaneName). Its receives are posted in the order of its sends, as check.h asks of a plan,
/// so messages need no names to be matched.
///
/// Threads: one, the rank's compute thread; abort() from any.
class Transport {
 public:
  static constexpr int kNoRank = -1;

  virtual ~Transport() = default;

  virtual int rank() const = 0;
  virtual int worldSize() const = 0;

  /// The clock that stamps sends and arrivals. Give it before lanes are opened; without one (an
  /// empty one) there are no stamps. It is called on any thread until the lanes are gone.
  void useClock(StampClock clock) { clock_ = std::move(clock); }

  /// The device on which the rank computes: its messages have tensors there, which are made when
  /// Message::made has passed. Give it before lanes are opened, which it must outlive. Throws Error
  /// if the transport cannot move such messages.
  virtual void useDevice(RankDevice& /*device*/) {}
  /// Sets who sees messages that the device moves in line; null: nobody.
  virtual void useWatch(LineWatch* /*watch*/) {}
  /// Whether a lane's messages of that step are such.
  virtual bool isInLine(const LaneName& /*name*/, int /*step*/) const { return false; }

  /// Opens an end of a lane, once. `messages`: the most that are on their way at a time, the same
  /// at both ends. Throws Error for a peer that is no other rank. The transport must outlive the
  /// lane.
  virtual std::unique_ptr<SendLane<Message>> openSend(int to, const LaneName& name,
                                                      std::size_t messages) = 0;
  virtual std::unique_ptr<ReceiveLane<Message>> openReceive(int from, const LaneName& name,
                                                            std::size_t messages) = 0;

  /// Waits until the ranks of the lanes that were opened can be reached. Called once, by every
  /// rank, after its last lane was opened, this spares the first messages that wait. Throws
  /// PeerLost.
  virtual void awaitLanes() {}

  /// The rank from which this one hears how many rows a step's batch has; kNoRank: it need not
  /// know.
  virtual int rowsFrom() const { return kNoRank; }
  /// Where rowsFrom() is a rank: opens a step, before its first message. `rows`: of the batch, as
  /// far as this rank knows, else 0. Waits for that other rank. Throws Error for another number
  /// than there.
  virtual void beginStep(int /*step*/, std::int64_t /*rows*/) {}

  /// Whether a send waits until the other rank has posted its receive.
  virtual bool sendsBlock() const { return false; }

  /// The lines on which messages wait for each other, as on NCCL's communicators.
  virtual CommStreams commStreams() const { return CommStreams::kAsReached; }

  /// Gives up this rank: wakes its own waits with an Error that says `reason`. Peers that wait for
  /// this rank get an Error too, at the latest when this transport is destroyed.
  virtual void abort(const std::string& reason) noexcept = 0;

  /// Ends in order: waits until all ranks are here, so that no message is cut off. Throws PeerLost
  /// if one is gone.
  virtual void finish() = 0;

 protected:
  const StampClock& clock() const { return clock_; }

 private:
  StampClock clock_;
};

}  // namespace pipetrace
