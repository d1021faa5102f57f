#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace pipetrace {

/// The kinds of events. The number of a kind is in ring files and in profiler/pipetrace.h, so it
/// never changes: a new kind comes before kReshard. It needs its row below and, if programs record
/// it, a constant in profiler/pipetrace.h.
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
  kCheckpoint,  ///< the copy of weights that a checkpoint is written from
  kKernel,
  kBubble,     ///< appended by analysis; never in a log
  kOther,      ///< a type that this version does not know; the event's name is its text
  kAllToAll,   ///< each rank sends other data to each other rank, as experts do
  kBroadcast,  ///< one rank sends data to the others
  kReshard,    ///< of plans alone: parameters that were gathered are freed. No event has it
};

inline constexpr int kJobKindCount = static_cast<int>(JobKind::kReshard);  ///< of those of events

/// A kind of job is of one group, by what it is and where it runs.
enum class JobGroup : std::uint8_t {
  kCompute,     ///< on the compute lane: a rank without such a job is in a bubble
  kBeside,      ///< on the compute lane as well, but no work of the pipeline
  kSend,        ///< one end of a message between stages
  kRecv,        ///< the other end
  kCollective,  ///< of several ranks
  kDevice,      ///< on other lanes than the compute lane
  kReported,    ///< the same, and not recorded by the program: a driver or a library reports it
  kMadeUp,      ///< never in a log
  kUnknown,
};

/// The work that a job does for the step before or after it.
enum class BetweenSteps : std::uint8_t { kNothing, kLoadsData, kSavesState };

/// All that must be known of a kind of job.
struct JobKindRow {
  JobKind kind;
  std::string_view name;             ///< after `type = ` in the job log, and in profiles
  std::string_view paddleName = {};  ///< what PaddlePaddle calls it, where that is another name
  JobGroup group;
  bool isForward = false;  ///< of a transfer: it moves an activation, and no gradient
  BetweenSteps betweenSteps = BetweenSteps::kNothing;
  bool isInPaddleProfiles = true;     ///< PaddlePaddle's own profiles have it
  std::string_view plural = {};       ///< several such jobs in a sentence; empty: "jobs"
  std::string_view brief = {};        ///< what text charts write on it; they explain its letter
  std::string_view cell = {};         ///< the word of its cells in plans; empty: no single cell
  std::string_view chromeColor = {};  ///< Catapult's name of its colour; empty: Catapult chooses
  /// 0xRRGGBB in the themes paper, paddle and colour-blind, each light and dark.
  std::array<std::uint32_t, 6> colors = {};
};

/// Every kind's row, in the order of the kinds.
inline constexpr std::array<JobKindRow, kJobKindCount + 1> kJobKinds = {
    {{.kind = JobKind::kLr,
      .name = "lr",
      .group = JobGroup::kBeside,
      .brief = "lr",
      .chromeColor = "generic_work",
      .colors = {0xF0DE6E, 0xCEBC54, 0xC79B7D, 0xC79B7D, 0xA0A0A0, 0x8C8C8C}},
     {.kind = JobKind::kForward,
      .name = "forward",
      .group = JobGroup::kCompute,
      .plural = "forwards",
      .brief = "F",
      .cell = "F",
      .chromeColor = "rail_response",
      .colors = {0x3A6EC4, 0x4E82D8, 0x7EC894, 0x7EC894, 0x0072B2, 0x1E82C4}},
     {.kind = JobKind::kBackward,
      .name = "backward",
      .group = JobGroup::kCompute,
      .plural = "backwards",
      .brief = "B",
      .cell = "B",
      .chromeColor = "rail_load",
      .colors = {0x7ECB76, 0x86D07A, 0xEE8E00, 0xEE8E00, 0xE69F00, 0xE69F00}},
     {.kind = JobKind::kBackwardInput,
      .name = "backward_input",
      .paddleName = "backward_b",
      .group = JobGroup::kCompute,
      .plural = "input halves of backwards",
      .brief = "I",
      .cell = "I",
      .chromeColor = "good",
      .colors = {0x58BEC8, 0x60CCD6, 0xCC6600, 0xCC6600, 0xF0E442, 0xF0E442}},
     {.kind = JobKind::kBackwardWeight,
      .name = "backward_weight",
      .paddleName = "backward_w",
      .group = JobGroup::kCompute,
      .plural = "weight halves of backwards",
      .brief = "W",
      .cell = "W",
      .chromeColor = "cq_build_attempt_passed",
      .colors = {0x2E8B57, 0x2C8C58, 0xDEDE4B, 0xDEDE4B, 0xD55E00, 0xD55E00}},
     {.kind = JobKind::kForwardBackward,
      .name = "forward_backward",
      .group = JobGroup::kCompute,
      .plural = "fused pairs",
      .brief = "&",
      .chromeColor = "background_memory_dump",
      .colors = {0x6E3782, 0xB25E96, 0x00B4B4, 0x00B4B4, 0xCC79A7, 0xCC79A7}},
     {.kind = JobKind::kRecompute,
      .name = "recompute",
      .group = JobGroup::kCompute,
      .plural = "recomputations",
      .brief = "R",
      .cell = "R",
      .chromeColor = "thread_state_runnable",
      .colors = {0xB0C7EE, 0xA6BEE8, 0x85A0D2, 0x85A0D2, 0x80B8D8, 0x78ACCC}},
     {.kind = JobKind::kOptimizer,
      .name = "optimizer",
      .group = JobGroup::kBeside,
      .brief = "opt",
      .chromeColor = "startup",
      .colors = {0xE89620, 0xF0A438, 0x4387FD, 0x4387FD, 0x56B4E9, 0x64BEF0}},
     {.kind = JobKind::kData,
      .name = "data",
      .group = JobGroup::kBeside,
      .betweenSteps = BetweenSteps::kLoadsData,
      .brief = "data",
      .colors = {0xC4845C, 0xBE805A, 0xC79B7D, 0xC79B7D, 0x009E73, 0x009E73}},
     {.kind = JobKind::kDefault,
      .name = "default",
      .group = JobGroup::kBeside,
      .colors = {0x8C949E, 0x7E8692, 0xC79B7D, 0xC79B7D, 0x6E6E6E, 0x787878}},
     {.kind = JobKind::kSendForward,
      .name = "send_forward",
      .group = JobGroup::kSend,
      .isForward = true,
      .cell = "SEND_F",
      .chromeColor = "rail_idle",
      .colors = {0x98B2D6, 0x587094, 0xA5D9B5, 0x528262, 0x8CB8D4, 0x386482}},
     {.kind = JobKind::kRecvForward,
      .name = "recv_forward",
      .group = JobGroup::kRecv,
      .isForward = true,
      .cell = "RECV_F",
      .chromeColor = "cq_build_running",
      .colors = {0xBCCEE6, 0x465874, 0xC3E5CD, 0x3E624C, 0xBAD4E4, 0x2E4E64}},
     {.kind = JobKind::kSendBackward,
      .name = "send_backward",
      .group = JobGroup::kSend,
      .cell = "SEND_B",
      .chromeColor = "rail_idle",
      .colors = {0xA6CAA2, 0x587E56, 0xF4BB66, 0x966014, 0xECC87C, 0x8A6824}},
     {.kind = JobKind::kRecvBackward,
      .name = "recv_backward",
      .group = JobGroup::kRecv,
      .cell = "RECV_B",
      .chromeColor = "cq_build_running",
      .colors = {0xC6DEC2, 0x466244, 0xF8D49E, 0x704A18, 0xF4E0B6, 0x685226}},
     {.kind = JobKind::kAllReduce,
      .name = "all_reduce",
      .group = JobGroup::kCollective,
      .chromeColor = "thread_state_unknown",
      .colors = {0xBEA8D0, 0x7A668E, 0xB67D8F, 0xB67D8F, 0xC8ACBE, 0x7E6072}},
     {.kind = JobKind::kAllGather,
      .name = "all_gather",
      .group = JobGroup::kCollective,
      .cell = "UNSHARD",
      .chromeColor = "thread_state_unknown",
      .colors = {0xCEBCDE, 0x6A587C, 0xCDA5B2, 0xCDA5B2, 0xD8C2D0, 0x6C5462}},
     {.kind = JobKind::kReduceScatter,
      .name = "reduce_scatter",
      .group = JobGroup::kCollective,
      .cell = "REDUCE_GRAD",
      .chromeColor = "thread_state_unknown",
      .colors = {0xAE96C4, 0x88729E, 0xA46B7D, 0xA46B7D, 0xB898AC, 0x8E6E82}},
     {.kind = JobKind::kCopy,
      .name = "copy",
      .group = JobGroup::kDevice,
      .colors = {0xCCBEAC, 0x7E7262, 0xBBBBBB, 0xBBBBBB, 0xBEBEB4, 0x6E6E64}},
     {.kind = JobKind::kCheckpoint,
      .name = "checkpoint",
      .group = JobGroup::kBeside,
      .betweenSteps = BetweenSteps::kSavesState,
      .isInPaddleProfiles = false,
      .brief = "ckpt",
      .colors = {0xAA7A96, 0xA67492, 0xC79B7D, 0xC79B7D, 0x785028, 0x785028}},
     {.kind = JobKind::kKernel,
      .name = "kernel",
      .group = JobGroup::kReported,
      .colors = {0x9EA8B4, 0x626A76, 0x7D7D7D, 0x7D7D7D, 0x969EA6, 0x5E666E}},
     {.kind = JobKind::kBubble, .name = "bubble", .group = JobGroup::kMadeUp},
     {.kind = JobKind::kOther,
      .name = "other",
      .group = JobGroup::kUnknown,
      .colors = {0xC0B4BA, 0x746A70, 0xDDDDDD, 0x747474, 0xC4BCC0, 0x726A6E}},
     {.kind = JobKind::kAllToAll,
      .name = "all_to_all",
      .group = JobGroup::kCollective,
      .isInPaddleProfiles = false,
      .chromeColor = "thread_state_unknown",
      .colors = {0x9E84B8, 0x967CAC, 0x92596B, 0x92596B, 0xA8849C, 0x9C7C8E}},
     {.kind = JobKind::kBroadcast,
      .name = "broadcast",
      .group = JobGroup::kCollective,
      .isInPaddleProfiles = false,
      .chromeColor = "thread_state_unknown",
      .colors = {0x8A9A5C, 0x84945A, 0x7D8F4B, 0x7D8F4B, 0x9A9C6C, 0x84865C}},
     {.kind = JobKind::kReshard,
      .name = "other",
      .group = JobGroup::kMadeUp,
      .cell = "RESHARD",
      .colors = {0xC0B4BA, 0x746A70, 0xDDDDDD, 0x747474, 0xC4BCC0, 0x726A6E}}}};

constexpr const JobKindRow& rowOf(JobKind kind) {
  return kJobKinds[static_cast<std::size_t>(kind)];
}

/// Some of the kinds, a bit for each.
class JobKinds {
 public:
  /// Those whose rows fulfil `isOne`.
  template <typename IsOne>
  explicit constexpr JobKinds(IsOne isOne) {
    for (const JobKindRow& row : kJobKinds) {
      if (isOne(row)) bits_ |= std::uint32_t{1} << static_cast<unsigned>(row.kind);
    }
  }
  constexpr bool has(JobKind kind) const {
    return (bits_ >> static_cast<unsigned>(kind) & std::uint32_t{1}) != 0;
  }

 private:
  static_assert(kJobKinds.size() <= 32);
  std::uint32_t bits_ = 0;
};

namespace job_kind_rows {

constexpr bool areComplete() {
  for (std::size_t i = 0; i < kJobKinds.size(); ++i) {
    const JobKindRow& row = kJobKinds[i];
    if (static_cast<std::size_t>(row.kind) != i || row.name.empty()) return false;
    if ('0' <= row.name.back() && row.name.back() <= '9') return false;  // it would be a chunk
    if (row.kind == JobKind::kBubble) continue;  // its colour is that of its class
    for (const std::uint32_t color : row.colors) {
      if (color == 0) return false;
    }
  }
  return true;
}
static_assert(areComplete(), "every kind has its row, in order, with a colour in every theme");

constexpr JobKinds kinds(JobGroup one, JobGroup other) {
  return JobKinds([=](const JobKindRow& row) { return row.group == one || row.group == other; });
}
inline constexpr JobKinds kCompute = kinds(JobGroup::kCompute, JobGroup::kCompute);
inline constexpr JobKinds kComputeLane = kinds(JobGroup::kCompute, JobGroup::kBeside);
inline constexpr JobKinds kSends = kinds(JobGroup::kSend, JobGroup::kSend);
inline constexpr JobKinds kReceives = kinds(JobGroup::kRecv, JobGroup::kRecv);
inline constexpr JobKinds kTransfers = kinds(JobGroup::kSend, JobGroup::kRecv);
inline constexpr JobKinds kCollectives = kinds(JobGroup::kCollective, JobGroup::kCollective);
inline constexpr JobKinds kForwardTransfers([](const JobKindRow& row) { return row.isForward; });
inline constexpr JobKinds kRecorded([](const JobKindRow& row) {
  return row.group <= JobGroup::kDevice;
});

}  // namespace job_kind_rows

/// The text after `type = ` in the job log, such as "backward_input"; "other" for kOther.
constexpr std::string_view logName(JobKind kind) { return rowOf(kind).name; }

/// The inverse of logName(). Knows PaddlePaddle's `backward_b` and `backward_w` as well. Anything
/// else is kOther.
inline JobKind jobKindFromLogName(std::string_view name) {
  if (name.empty()) return JobKind::kOther;
  for (int i = 0; i < kJobKindCount; ++i) {
    const JobKindRow& row = kJobKinds[static_cast<std::size_t>(i)];
    if (row.name == name || row.paddleName == name) return row.kind;
  }
  return JobKind::kOther;
}

/// The kind with that number in a ring file; kOther for a number that this version does not know.
constexpr JobKind jobKindOfNumber(int number) {
  return number >= 0 && number < kJobKindCount ? static_cast<JobKind>(number) : JobKind::kOther;
}

/// Whether it is a compute job: forward, backward, a half, a fused pair or a recomputation. A rank
/// without one is in a bubble.
constexpr bool isCompute(JobKind kind) { return job_kind_rows::kCompute.has(kind); }
/// Whether it runs on the compute lane: compute jobs, `lr`, `optimizer`, `data`, `default`
/// and `checkpoint`.
constexpr bool isComputeLane(JobKind kind) { return job_kind_rows::kComputeLane.has(kind); }
constexpr bool isSend(JobKind kind) { return job_kind_rows::kSends.has(kind); }
constexpr bool isRecv(JobKind kind) { return job_kind_rows::kReceives.has(kind); }
/// Point-to-point messages between stages.
constexpr bool isTransfer(JobKind kind) { return job_kind_rows::kTransfers.has(kind); }
constexpr bool isForwardTransfer(JobKind kind) {
  return job_kind_rows::kForwardTransfers.has(kind);
}
constexpr JobKind transferKind(bool isSend, bool isForward) {
  if (isSend) return isForward ? JobKind::kSendForward : JobKind::kSendBackward;
  return isForward ? JobKind::kRecvForward : JobKind::kRecvBackward;
}
constexpr bool isCollective(JobKind kind) { return job_kind_rows::kCollectives.has(kind); }
/// A collective that adds up what its ranks have.
constexpr bool isReduction(JobKind kind) {
  return kind == JobKind::kAllReduce || kind == JobKind::kReduceScatter;
}
/// Whether a step waits for it with its first job.
constexpr bool loadsData(JobKind kind) {
  return rowOf(kind).betweenSteps == BetweenSteps::kLoadsData;
}
constexpr bool savesState(JobKind kind) {
  return rowOf(kind).betweenSteps == BetweenSteps::kSavesState;
}
/// Whether programs record it themselves.
constexpr bool isRecorded(JobKind kind) { return job_kind_rows::kRecorded.has(kind); }

}  // namespace pipetrace
