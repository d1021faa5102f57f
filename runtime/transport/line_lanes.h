#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "runtime/lanes/lane.h"
#include "runtime/micro_batch_rows.h"
#include "runtime/transport/message_line.h"

namespace pipetrace {

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

}  // namespace pipetrace
