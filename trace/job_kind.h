#pragma once

#include <cstdint>
#include <string_view>

namespace pipetrace {

/// What a job is. The compute lane's kinds come first, then transfers, collectives, and the rest.
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
  kKernel,
  kBubble,  ///< appended by analysis; never in a log
  kOther,   ///< a type this version does not know; its text is the event's name
};

inline constexpr int kJobKindCount = static_cast<int>(JobKind::kOther) + 1;

/// The `type = …` text of the job log, e.g. "backward_input". "other" for kOther.
std::string_view logName(JobKind kind);

/// The inverse of logName, with PaddlePaddle's `backward_b` and `backward_w` as well. kOther for
/// anything unknown.
JobKind jobKindFromLogName(std::string_view name);

/// Forward, backward, their halves, fused pairs, recompute: the work that a bubble is the lack of.
constexpr bool isCompute(JobKind kind) {
  return kind >= JobKind::kForward && kind <= JobKind::kRecompute;
}
/// What runs on the compute lane, `lr`, `optimizer`, `data` and `default` included.
constexpr bool isComputeLane(JobKind kind) { return kind <= JobKind::kDefault; }
constexpr bool isSend(JobKind kind) {
  return kind == JobKind::kSendForward || kind == JobKind::kSendBackward;
}
constexpr bool isRecv(JobKind kind) {
  return kind == JobKind::kRecvForward || kind == JobKind::kRecvBackward;
}
/// Point-to-point messages between stages.
constexpr bool isTransfer(JobKind kind) { return isSend(kind) || isRecv(kind); }
constexpr bool isCollective(JobKind kind) {
  return kind == JobKind::kAllReduce || kind == JobKind::kAllGather ||
         kind == JobKind::kReduceScatter;
}

}  // namespace pipetrace
