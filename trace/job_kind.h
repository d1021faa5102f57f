#pragma once

#include <cstdint>
#include <string_view>

namespace pipetrace {

/// The kinds of events. Those of the compute lane come first, then transfers, collectives, the
/// rest.
enum class JobKind : std::uint8_t {
  kLr,
  kForward,
  kBackward,
  kBackwardInput,
  kBackwardWeight,
  kForwardBackward,  ///< a fused pair, e.g. `(0F7;7B3)OVERLAP_F_B`
  kRecompute,
  kOptimizer,
  kData,
  kDefault,
  kSendForward,
  kRecvForward,
  kSendBackward,
  kRecvBackward,
  kAllReduce,
  kAllGather,
  kReduceScatter,
  kCopy,
  kCheckpoint,  ///< of the compute lane: the copy of weights that a checkpoint is written from
  kKernel,
  kBubble,  ///< appended by analysis; never in a log
  kOther,   ///< a type that this version does not know; the event's name is its text
};

inline constexpr int kJobKindCount = static_cast<int>(JobKind::kOther) + 1;

/// The text after `type = ` in the job log, such as "backward_input"; "other" for kOther.
std::string_view logName(JobKind kind);

/// The inverse of logName(). Knows PaddlePaddle's `backward_b` and `backward_w` as well. Anything
/// else is kOther.
JobKind jobKindFromLogName(std::string_view name);

/// Whether it is a compute job: forward, backward, a half, a fused pair or a recomputation. A rank
/// without one is in a bubble.
constexpr bool isCompute(JobKind kind) {
  return kind >= JobKind::kForward && kind <= JobKind::kRecompute;
}
/// Whether it runs on the compute lane: compute jobs, `lr`, `optimizer`, `data`, `default`
/// and `checkpoint`.
constexpr bool isComputeLane(JobKind kind) {
  return kind <= JobKind::kDefault || kind == JobKind::kCheckpoint;
}
constexpr bool isSend(JobKind kind) {
  return kind == JobKind::kSendForward || kind == JobKind::kSendBackward;
}
constexpr bool isRecv(JobKind kind) {
  return kind == JobKind::kRecvForward || kind == JobKind::kRecvBackward;
}
/// Point-to-point messages between stages.
constexpr bool isTransfer(JobKind kind) { return isSend(kind) || isRecv(kind); }
constexpr bool isForwardTransfer(JobKind kind) {
  return kind == JobKind::kSendForward || kind == JobKind::kRecvForward;
}
constexpr JobKind transferKind(bool isSend, bool isForward) {
  if (isSend) return isForward ? JobKind::kSendForward : JobKind::kSendBackward;
  return isForward ? JobKind::kRecvForward : JobKind::kRecvBackward;
}
constexpr bool isCollective(JobKind kind) {
  return kind == JobKind::kAllReduce || kind == JobKind::kAllGather ||
         kind == JobKind::kReduceScatter;
}

}  // namespace pipetrace
