#pragma once

#include <string_view>

/// The words of the job log (docs/log-format.md), which its writer and its readers share.
namespace pipetrace::log_format {

inline constexpr std::string_view kFilePrefix = "workerlog.";  ///< + rank
inline constexpr std::string_view kCompressedEnding = ".zst";  ///< of a log in frames of zstd
inline constexpr std::string_view kMachinePrefix = "machine";  ///< + index: one host's folder
inline constexpr std::string_view kNcclLane = "nccl";  ///< what NCCL did, on a lane of its own
inline constexpr int kVersion = 1;

// Each line of the format holds one of these marks. Readers ignore everything before it.
inline constexpr std::string_view kMark = "Profiler ";
inline constexpr std::string_view kInfo = "Profiler Info: ";
inline constexpr std::string_view kStream = "Profiler Stream: ";
inline constexpr std::string_view kMeta = "Profiler Meta: ";
inline constexpr std::string_view kClock = "Profiler Clock: ";
inline constexpr std::string_view kKernel = "Profiler Kernel: ";
inline constexpr std::string_view kCounter = "Profiler Counter: ";
inline constexpr std::string_view kEnd = "Profiler End: ";

// Keys of `Profiler Info:`, the first five of them PaddlePaddle's.
inline constexpr std::string_view kJob = "Job (";
inline constexpr std::string_view kType = "type";
inline constexpr std::string_view kMicroBatch = "micro_batch_id";
inline constexpr std::string_view kJobStart = "job_start_time";
inline constexpr std::string_view kJobEnd = "job_end_time";
inline constexpr std::string_view kId = "id";
inline constexpr std::string_view kStep = "step";
inline constexpr std::string_view kStage = "stage";
inline constexpr std::string_view kChunk = "chunk";
inline constexpr std::string_view kStreamKey = "stream";
inline constexpr std::string_view kAction = "action";
inline constexpr std::string_view kPart = "part";
inline constexpr std::string_view kPhase = "phase";
inline constexpr std::string_view kVersionKey = "version";  ///< of the weights; of the log in Meta

// Keys of `Profiler Stream:` that Info lacks.
inline constexpr std::string_view kStart = "start_time";
inline constexpr std::string_view kEndTime = "end_time";
inline constexpr std::string_view kPeer = "peer";
inline constexpr std::string_view kBytes = "bytes";
inline constexpr std::string_view kMembers = "members";
inline constexpr std::string_view kJobKey = "job";
inline constexpr std::string_view kUntimed = "untimed";  ///< 1: times are those of queuing
// Keys of `Profiler Stream:` that only NCCL's operations have.
inline constexpr std::string_view kCommunicator = "communicator";
inline constexpr std::string_view kCommunicatorPeer = "peer_in_communicator";
inline constexpr std::string_view kSequence = "sequence";
inline constexpr std::string_view kAlgorithm = "algorithm";
inline constexpr std::string_view kProtocol = "protocol";

// Keys of `Profiler Meta:`; trace/log/rank_info_fields.h has the others, and those of `Profiler
// End:`.
inline constexpr std::string_view kRank = "rank";
inline constexpr std::string_view kRing = "ring";

// Keys of `Profiler Clock:` and `Profiler Counter:`.
inline constexpr std::string_view kTime = "time";
inline constexpr std::string_view kOffset = "offset_ns";
inline constexpr std::string_view kBound = "bound_ns";
inline constexpr std::string_view kName = "name";
inline constexpr std::string_view kValue = "value";
inline constexpr std::string_view kUnit = "unit";

}  // namespace pipetrace::log_format
