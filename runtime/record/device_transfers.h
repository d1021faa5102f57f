#pragma once

#include <array>
#include <cstdint>

#include "runtime/device/rank_device.h"
#include "runtime/record/recorded_streams.h"
#include "runtime/transport/message.h"

namespace pipetrace {

/// Records the messages of a rank on a device, in device time. A message is sent when the job that
/// made it has ended. A receive begins when it is posted, or when the one before it in its
/// direction has ended, and ends when the message is there. Messages in line begin when it is their
/// turn and, at their sender, when they are made. They end when they have been moved.
///
/// Threads: the compute thread.
class DeviceTransfers : public LineWatch {
 public:
  /// `recorded` and `device` must outlive it. Without a recorder it records nothing.
  DeviceTransfers(const RankDevice& device, const RecordedStreams& recorded)
      : device_(device), recorded_(recorded) {}

  /// The next message that the transport is given is that one.
  void isNext(const Job& transfer) { next_ = transfer; }
  void begins() override;
  void ended(std::int64_t bytes) override;

  // The rest is for messages that are not in line.
  void posted(const Job& transfer);
  /// After `message.made` the tensor is there.
  void arrived(const Job& transfer, const Message& message);
  /// Right after the job that makes the message was queued.
  void made(const Job& transfer, std::int64_t bytes);

 private:
  /// The receives of a direction.
  struct Receives {
    int posted = 0;                ///< and not ended
    DeviceStream::Mark begin = 0;  ///< of the one that ends next
  };

  bool records() const { return recorded_.isOn(); }
  Receives& receivesOf(const Job& transfer) {
    return receives_[isForwardTransfer(transfer.kind) ? 0 : 1];
  }

  const RankDevice& device_;
  const RecordedStreams& recorded_;
  std::array<Receives, 2> receives_;
  Job next_;
};

}  // namespace pipetrace
