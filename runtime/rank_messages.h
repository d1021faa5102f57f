#pragma once

#include <array>
#include <memory>
#include <optional>
#include <vector>

#include "runtime/control/control_channel.h"
#include "runtime/device/rank_device.h"
#include "runtime/program/plan_words.h"
#include "runtime/program/rank_program.h"
#include "runtime/record/device_transfers.h"
#include "runtime/record/recorded_streams.h"
#include "runtime/stage_work.h"
#include "runtime/transport/transport.h"

namespace pipetrace {

/// The messages of one rank's program: sends and receives them through a transport, and records
/// them. A send lasts from when the transport gets it until the transport is done with it. A
/// receive lasts from when it is posted until the message is there. Where transfers are planned,
/// the plan says so instead. On a device with streams its times are those of DeviceTransfers.
///
/// Threads: the compute thread. Nothing is allocated once every lane has had a message.
class RankMessages {
 public:
  /// All must outlive it. `control` hears what the rank waits for; null: nobody does. `device`:
  /// where the rank's jobs are queued; null: they have ended when they return. The transport
  /// has the recorder's clock for as long as this lives. Throws Error for a transport that cannot
  /// open the lanes.
  RankMessages(const RankProgram& program, Transport& transport, RecordedStreams recorded,
               PlannedTransfers* planned, ControlChannel* control, RankDevice* device);

  int rank() const { return transport_.rank(); }
  /// The message's key in that step.
  MessageKey keyOf(int transfer, int step) const;

  /// Opens a step, before its first message (Transport::beginStep()).
  void beginStep(int step, std::int64_t rows);

  /// Posts the receive of a transfer. `job` is the id of the job that needs it.
  void post(int transfer, int step, std::int64_t job);
  /// Waits for the message of a receive that was posted. Work that is queued on the device from
  /// then on may use the message.
  Message take(int transfer, int step);
  /// With a device, right after the job that makes a message was queued: its end is the time at
  /// which the message is sent.
  void made(int transfer, int step, std::int64_t job, const Message& message);
  /// `job` is the id of the job that made the message. Where the plan has credits, it waits for
  /// one.
  void send(int transfer, int step, std::int64_t job, Message message);

  /// Says that the message of a receive was used, where the plan has credits.
  void acknowledge(int transfer);
  /// Whether the next send() of the transfer's lane takes an acknowledgement.
  bool needsCredit(int transfer) const;

  using Round = RankProgram::Round;
  /// Whether sums may leave before the last action of a step.
  bool canReduceEarly(int step) const;
  /// Sends each other copy of a stage its message of a round, by peer, and posts the receives of
  /// theirs. All ranks come to their rounds in the order of RankProgram::exchanges.
  void startRound(const RankProgram::Exchange& round, int step, std::vector<Message> toPeers);
  /// Whether finishRound() would not wait.
  bool hasCome(const RankProgram::Exchange& round);
  struct Exchanged {
    std::vector<Message> messages;  ///< by peer
    std::uint64_t stamp = 0;        ///< when the last came; 0: the transport does not say
  };
  /// Waits for the messages of the others.
  Exchanged finishRound(const RankProgram::Exchange& round, int step);
  /// Says how many rows this replica's batch has, and hears it of the others. Throws Error where
  /// they differ.
  void compareRows(int step, std::int64_t rows);
  /// Sends numbers of the host's (MessageKindRow::isOfHost); and waits for some, and says for
  /// `what`.
  void sendOnHost(const RankProgram::Sum& to, int step, Message message);
  Message receiveOnHost(const RankProgram::Sum& from, int step, Awaited what);
  /// Sends a sum; and waits for one.
  void sendSum(const RankProgram::Sum& sum, int step, Message message);
  Message receiveSum(const RankProgram::Sum& sum, int step);

  /// Records the sends that are done; and waits for all of them.
  void collectSends();
  void settleSends();
  /// The same, after the last step: takes the acknowledgements that are still to come.
  void awaitSends();

 private:
  /// An end of a lane: one of the two is null.
  struct End {
    std::unique_ptr<SendLane<Message>> send;
    std::unique_ptr<ReceiveLane<Message>> receive;
    /// Sends that are not recorded yet, a ring of as many as there are messages in two steps.
    struct Pending {
      Job job;
      MessageKey key;
      std::uint64_t begin = 0;
    };
    std::vector<Pending> pending;
    std::size_t first = 0;
    std::size_t count = 0;
    std::uint64_t sent = 0;  ///< messages of lanes with acknowledgements
  };
  /// A transfer's state in this step.
  struct State {
    Job job;  ///< as it is recorded
    std::uint64_t number = 0;
    std::uint64_t postedAt = 0;  ///< a mark; planned transfers: a time
  };

  /// A round that has begun.
  struct Rounds {
    std::vector<std::uint64_t> numbers;               ///< of the receives, by peer
    std::vector<ReceiveLane<Message>::Arrival> come;  ///< those that have come already
  };

  /// Gives a transport a clock and a watch, and takes them back: what they refer to may go then.
  class Lent {
   public:
    Lent(Transport& transport, StampClock clock);
    ~Lent();
    Lent(const Lent&) = delete;
    Lent& operator=(const Lent&) = delete;

   private:
    Transport& transport_;
  };

  bool isInLine(std::size_t transfer, int step) const;
  bool records() const { return recorded_.recorder != nullptr; }
  std::uint64_t now(const Job& job) const { return recorded_.recorder->mark(recorded_.of(job)); }
  void record(const Job& job, std::uint64_t begin, std::uint64_t end, std::int64_t bytes);
  void record(const Job& job, const PlannedTransfers::Span& span);
  void collect(End& end);
  bool collectFirst(End& end);
  void awaitTimes(std::uint64_t number, const MessageKey& key);
  const std::vector<RankProgram::StageReplicas::Peer>& peersOf(int reduction) const;
  RankProgram::Sum inRound(RankProgram::Sum sum, const RankProgram::Exchange& round) const;
  Rounds& of(const RankProgram::Exchange& round);
  std::uint64_t postSum(const RankProgram::Sum& sum, int step);
  ReceiveLane<Message>::Arrival takeSum(const RankProgram::Sum& sum, std::uint64_t number,
                                        int step);
  void awaitCredit(int transfer);
  template <typename Wait>
  auto waitFor(int peer, std::uint64_t number, const Wait& wait);

  const RankProgram& program_;
  Transport& transport_;
  const RecordedStreams recorded_;
  PlannedTransfers* const planned_;
  ControlChannel* const control_;
  RankDevice* const device_;
  std::optional<DeviceTransfers> onDevice_;    // with a device
  const Lent lent_;                            // the lanes' threads read it: it goes after them
  std::vector<End> ends_;                      // by lane
  std::vector<State> states_;                  // by transfer
  std::array<std::vector<Rounds>, 2> rounds_;  // by round and reduction
};

/// Waits, and tells the control channel meanwhile what for. It stays told if the wait fails.
template <typename Wait>
auto RankMessages::waitFor(int peer, std::uint64_t number, const Wait& wait) {
  if (control_ != nullptr) control_->waitingFor(peer, number);
  auto result = wait();
  if (control_ != nullptr) control_->waited();
  return result;
}

}  // namespace pipetrace
