#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Stream.h>

#include <atomic>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <utility>
#include <vector>

#include "runtime/device/rank_device.h"
#include "runtime/errors/error_text.h"
#include "runtime/lanes/lane.h"
#include "runtime/lanes/message_header.h"
#include "runtime/lanes/message_key.h"
#include "runtime/stage_work.h"
#include "runtime/transport/forwarding_transport.h"
#include "runtime/transport/message.h"
#include "trace/error.h"

namespace pipetrace {

/// Messages of a rank on a device, which a c10d backend moves one after the other in the order of
/// these calls. No wait of the host: works block the stream of the line.
///
/// Threads: the compute thread; abort() from any.
class MessageLine {
 public:
  /// `stream`: of the line. `device` must outlive it.
  MessageLine(c10::intrusive_ptr<c10d::Backend> backend, RankDevice& device,
              const c10::Stream& stream);
  /// Ends the backend. After abort() it waits for the end of that.
  ~MessageLine();
  MessageLine(const MessageLine&) = delete;
  MessageLine& operator=(const MessageLine&) = delete;

  /// Null: nobody watches it.
  void useWatch(LineWatch* watch) { watch_ = watch; }

  /// The message leaves when it is made, and the line has come to it.
  void send(const Message& message, int to, int tag);
  /// A receive that is under way.
  struct Receiving {
    at::Tensor tensor;  ///< undefined, if that is the message
    std::shared_ptr<const DeviceEvent> made;
  };
  /// The tensor is memory of LibTorch's allocator on the line's stream. So the memory of a tensor
  /// that is let go is used again in the order of the streams, as with any other tensor. A ring of
  /// buffers would be as long as the most messages on their way, and kept between steps.
  Receiving receive(const TensorShape& shape, int from, int tag);
  /// The message, for jobs that are queued from now on.
  Message arrived(const Receiving& receiving);
  /// Waits until all messages so far have been moved.
  void awaitAll();

  /// Ends all works, on a thread of its own: a backend may take its time.
  void abort(const std::string& reason) noexcept;

  /// Runs `action`. Its exceptions become those of a lane (rethrowAsPeerLost()) of `rank`. `doing`
  /// gives the text. After abort() it throws Error with that reason.
  template <typename Text, typename Action>
  auto guarded(int rank, const Text& doing, int peer, const Action& action) const {
    try {
      throwIfAborted();
      return action();
    } catch (...) {
      rethrow(rank, doing(), peer);
    }
  }

 private:
  void throwIfAborted() const;
  [[noreturn]] void rethrow(int rank, const std::string& doing, int peer) const;
  template <typename Issue>
  void move(const at::Tensor& tensor, const Issue& issue);

  const c10::intrusive_ptr<c10d::Backend> backend_;
  RankDevice& device_;
  const c10::Stream stream_;
  LineWatch* watch_ = nullptr;
  std::atomic<bool> isAborted_ = false;
  mutable std::mutex mutex_;
  std::string abortReason_;
  std::thread aborting_;
};

/// The shapes of a lane's messages without headers. Both ends see those of a run's first step, and
/// have the same rule for all others. A length that was the number of the micro-batch's rows
/// follows it; all others stay.
class LineShapes {
 public:
  /// A message of the first step, whose micro-batch has that many rows; 0: nobody knows.
  void note(const MessageKey& key, const TensorShape& shape, std::int64_t rows);

  /// The shape of a message of a later step. Throws Error for one that the first step did not have.
  TensorShape of(const MessageKey& key, std::int64_t rows) const;
  /// Throws Error for a message with another shape than of().
  void require(const MessageKey& key, const TensorShape& shape, std::int64_t rows) const;

 private:
  struct Known {
    TensorShape shape;
    bool followsRows = false;
  };
  std::map<std::pair<int, int>, Known> known_;  // by stage and micro-batch
};

/// The step that a transport with lines is in. In the first one messages go over the host, and
/// their shapes become known.
struct LineSteps {
  MicroBatchRows rows;
  bool hasBegun = false;
  int first = 0;

  void begin(int step, std::int64_t rowsOfStep) {
    if (!hasBegun) first = step;
    hasBegun = true;
    rows.rows = rowsOfStep;
  }
  bool isFirst(int step) const { return !hasBegun || step == first; }
};

/// One end of a lane on a line.
struct LineEnd {
  /// The line, which is there once all lanes are open.
  const std::unique_ptr<MessageLine>& line;
  const LineSteps& steps;
  int rank = 0;              ///< of this end
  int peer = 0;              ///< of the other one
  int peerOnLine = 0;        ///< its rank in the line's backend
  std::size_t messages = 1;  ///< the most that are on their way
};

/// The two ends of a lane on a line. Messages of the first step go over `host`, the same lane of
/// the host's transport. They refer to the line and the steps of `end`.
std::unique_ptr<SendLane<Message>> makeLineSendLane(const LineEnd& end,
                                                    std::unique_ptr<SendLane<Message>> host);
std::unique_ptr<ReceiveLane<Message>> makeLineReceiveLane(
    const LineEnd& end, std::unique_ptr<ReceiveLane<Message>> host);

/// A lane of the run, by its two ranks.
struct LaneOfRun {
  int from = 0;
  int to = 0;
  LaneName name = MessageKind::kActivations;

  auto operator<=>(const LaneOfRun&) const = default;
};

struct LineTransportOptions {
  using Backend = c10::intrusive_ptr<c10d::Backend>;

  /// With the ranks of the run. It moves a rank's messages one after the other in the order of the
  /// calls, and its works block streams, as NCCL's do. Null: see `backendOf`.
  Backend backend;
  /// Gives each lane a line of its own, whose backend has two ranks: the sender is 0, and the
  /// receiver 1. It may wait for the other end to make its own. All ranks make theirs in the same
  /// order.
  std::function<Backend(const LaneOfRun& lane, int rankOnLine)> backendOf;
  int microBatches = 1;  ///< of a replica's step
  int replicas = 1;      ///< equal parts of the ranks, one after the other
  int rowsFrom = 0;  ///< the rank of this replica with the last stage, which always has the batch
};

/// Messages between devices on lines, without headers. `host` moves all others: those of the first
/// step, by which both ends learn the shapes; acknowledgements, and the tensors beside the plan's
/// own. The plan does not order these, so nobody has proved that they run in line.
///
/// In each step the rank of the last stage says to all others of its replica over `host` how many
/// rows the batch has. For ranks on the CPU it is `host`.
///
/// It needs a control channel, whose failures abort this transport. A rank that is gone ends no
/// wait of a device.
class LineTransport : public ForwardingTransport {
 public:
  /// `host` must outlive it.
  LineTransport(Transport& host, LineTransportOptions options);
  ~LineTransport() override;

  void useDevice(RankDevice& device) override;
  void useWatch(LineWatch* watch) override;
  bool isInLine(const LaneName& name, int step) const override;
  std::unique_ptr<SendLane<Message>> openSend(int to, const LaneName& name,
                                              std::size_t messages) override;
  std::unique_ptr<ReceiveLane<Message>> openReceive(int from, const LaneName& name,
                                                    std::size_t messages) override;
  void awaitLanes() override;
  int rowsFrom() const override;
  void beginStep(int step, std::int64_t rows) override;
  CommStreams commStreams() const override;
  void abort(const std::string& reason) noexcept override;

 private:
  using Line = std::unique_ptr<MessageLine>;
  /// The line of a lane.
  struct OwnLine {
    LaneOfRun lane;
    Line line;
  };

  bool hasOneLine() const { return options_.backend != nullptr; }
  const Line& lineOf(const LaneOfRun& lane);
  LineEnd endOf(const LaneOfRun& lane, std::size_t messages);
  void keep(Line& place, Line line);
  std::int64_t hearRows(int step, std::int64_t own);

  const LineTransportOptions options_;
  RankDevice* device_ = nullptr;
  LineSteps steps_;
  std::mutex mutex_;                                // of the lines and abortReason_
  Line line_;                                       // of all lanes
  std::vector<std::unique_ptr<OwnLine>> ownLines_;  // or one of each
  std::optional<std::string> abortReason_;
  std::vector<std::unique_ptr<SendLane<Message>>> rowsTo_;
  std::unique_ptr<ReceiveLane<Message>> rowsFrom_;
};

}  // namespace pipetrace
