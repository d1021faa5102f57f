#include "parser/foreign/names/programs/programs.h"

namespace pipetrace {

/// Records of its dynamic pipeline, timers, and ranges of its profiler. Where a call sends and
/// receives, the kind is that of the receive: the next job waits for it.
std::span<const NameRow> paddleNames() {
  static constexpr NameRow kRows[] = {
      {R"(F(?P<micro_batch_id>[0-9]+)(?:_VP(?P<chunk>[0-9]+))?)", JobKind::kForward},
      {R"(B(?P<micro_batch_id>[0-9]+)(?:_VP(?P<chunk>[0-9]+))?)", JobKind::kBackward},
      {R"(send_(?:forward|backward)_recv_forward)", JobKind::kRecvForward},
      {R"(send_(?:forward|backward)_recv_backward)", JobKind::kRecvBackward},
      {R"(Gradient Backward)", JobKind::kBackward},
      {R"(Optimization Step)", JobKind::kOptimizer},
  };
  return kRows;
}

}  // namespace pipetrace
