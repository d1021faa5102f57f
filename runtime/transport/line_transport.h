#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <utility>
#include <vector>

#include "runtime/transport/forwarding_transport.h"
#include "runtime/transport/message_line.h"

namespace pipetrace {

struct LineTransportOptions {
  /// With the ranks of the run. It moves a rank's messages one after the other in the order of the
  /// calls, and its works block streams, as NCCL's do.
  c10::intrusive_ptr<c10d::Backend> backend;
  int microBatches = 1;  ///< of a step
  int rowsFrom = 0;      ///< the rank with the last stage, which always has the batch
};

/// Messages between devices on a line of each rank, without headers. `host` moves all others: those
/// of the first step, by which both ends learn the shapes; sums, acknowledgements, and the tensors
/// beside the plan's own. The plan does not order these, so nobody has proved that they run in
/// line.
///
/// In each step the rank of the last stage says to all others over `host` how many rows the batch
/// has. For ranks on the CPU it is `host`.
///
/// It needs a control channel, whose failures abort this transport. A rank that is gone ends no
/// wait of a device.
class LineTransport : public ForwardingTransport {
 public:
  /// `host` must outlive it.
  LineTransport(Transport& host, LineTransportOptions options);
  ~LineTransport() override;

  void useDevice(RankDevice& device) override;
  std::unique_ptr<SendLane<Message>> openSend(int to, const LaneName& name,
                                              std::size_t messages) override;
  std::unique_ptr<ReceiveLane<Message>> openReceive(int from, const LaneName& name,
                                                    std::size_t messages) override;
  void awaitLanes() override;
  int rowsFrom() const override;
  void beginStep(int step, std::int64_t rows) override;
  CommStreams commStreams() const override { return CommStreams::kRank; }
  void abort(const std::string& reason) noexcept override;

 private:
  std::int64_t hearRows(int step, std::int64_t own);

  const LineTransportOptions options_;
  std::mutex mutex_;                        // of line_ and abortReason_
  std::unique_ptr<MessageLine> line_;       // with a device
  std::optional<std::string> abortReason_;  // before there was a line
  std::vector<std::unique_ptr<SendLane<Message>>> rowsTo_;
  std::unique_ptr<ReceiveLane<Message>> rowsFrom_;
};

}  // namespace pipetrace
