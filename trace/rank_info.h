#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trace/nanoseconds.h"

namespace pipetrace {

/// One `Profiler Clock:` line: rank 0's clock = this rank's clock + offset, to within bound.
struct ClockReading {
  Nanoseconds when = 0;
  Nanoseconds offset = 0;
  Nanoseconds bound = 0;
};

/// Something that ranks of a group share, as far as its name says.
enum class GroupAxis : std::uint8_t {
  kUnknown,   ///< the name says nothing: what the group is used for decides
  kPipeline,  ///< they pass one batch along
  kTensor,    ///< they share the work of a stage
  kContext,   ///< they share the work of a stage: each has a part of the sequence
  kExpert,    ///< each has some of the experts
  kData,      ///< they train the same stage with other data
  kOther,     ///< a group for some other purpose, or of several axes at once
};

/// "tensor-parallel"; empty for kUnknown, kOther and kPipeline.
constexpr std::string_view axisWords(GroupAxis axis) {
  switch (axis) {
    case GroupAxis::kTensor: return "tensor-parallel";
    case GroupAxis::kContext: return "context-parallel";
    case GroupAxis::kExpert: return "expert-parallel";
    case GroupAxis::kData: return "data-parallel";
    case GroupAxis::kUnknown:
    case GroupAxis::kPipeline:
    case GroupAxis::kOther: break;
  }
  return {};
}

/// Ranks that a program made a group of, to talk to each other.
struct CommunicationGroup {
  std::vector<int> ranks;  ///< of the run, in the order of the group; what tells groups apart
  GroupAxis axis = GroupAxis::kUnknown;
  bool reduces = false;            ///< collectives of the rank add up in it
  bool reducesInForwards = false;  ///< ... inside each forward

  bool operator==(const CommunicationGroup&) const = default;
};

/// A rank and its run, as the rank's log describes them (`Profiler Meta:`, `Profiler Clock:`,
/// `Profiler End:`). Fields that the log did not give are empty. log/rank_info_fields.h lists all.
struct RankInfo {
  int rank = 0;
  std::optional<int> worldSize;
  std::string host;
  std::string device;
  std::optional<int> numStages;  ///< virtual stages: pipeline ranks * chunks
  std::optional<int> numChunks;
  std::optional<int> numMicroBatches;
  /// The ranks of each stage in the first replica (toText() of stage_ranks_text.h), where a stage
  /// of a pipeline is on several ranks that share its micro-batches.
  std::string ranksOfStage;
  /// The ranks of its pipeline in their order, "0/4" (toText() as above), where groups name them.
  std::string pipelineRanks;
  /// The blocks of the model that each stage has, "12,13,13,11"; those of them that run again
  /// before their backward, "3,0,0,0", where any do.
  std::string blocks;
  std::string recomputedBlocks;
  std::optional<int> firstStep;  ///< the first step of a log whose jobs name no steps
  std::string schedule;
  std::optional<int> dataParallelIndex;
  std::optional<int> tensorParallelIndex;
  std::string clock;
  std::string lines;  ///< lanes on which messages run one after the other, with ";" between them
  std::optional<double> flopsPerStep;
  std::optional<double> tokensPerStep;
  std::vector<ClockReading> clockReadings;
  /// When its later parts begin, ascending, where it was recorded in several (profiler cycles). All
  /// ranks of a run have as many; of a part that a rank lacks, it is the run's.
  std::vector<Nanoseconds> partBegins;
  std::vector<CommunicationGroup> groups;  ///< those that it is in, as far as its file names them
  // Times that a reader found to be impossible, and changed.
  std::int64_t eventsWithoutTime = 0;  ///< left out: they were at 0, or far before their launch
  std::int64_t overruns = 0;           ///< work on a stream, cut where the next one began there
  Nanoseconds overrunTime = 0;         ///< how much was cut
  /// By how much at least its clock was apart from another rank's, before times were moved by the
  /// order of jobs; 0: they were not.
  Nanoseconds clockApart = 0;
  // Jobs of a trace in which nobody annotated them.
  std::int64_t jobsFound = 0;    ///< compute jobs that it found by their operators and messages
  std::int64_t jobsByOrder = 0;  ///< those of them whose numbers follow from their order alone
  /// Those of ranks on which no message parts a forward from its backward. Their kernels parted
  /// them, or a forward has its backward in it.
  std::int64_t jobsInPairs = 0;
  std::int64_t runsUnplaced = 0;  ///< runs of work that may be jobs, and were not placed
  Nanoseconds unplacedTime = 0;   ///< how long those last
  int runs = 1;                   ///< the number of runs in its log; this is one of them
  bool isRecording = false;       ///< its recorder was still running when the log was read
  bool isSelected = false;  ///< comes from a profile that was made of some of the run's ranks only

  bool hasEnd = false;  ///< the log has a `Profiler End:` line: it is whole
  std::int64_t written = 0;
  std::int64_t dropped = 0;
  std::int64_t errors = 0;        ///< among them:
  std::int64_t misuses = 0;       ///< wrong calls of the program, such as an end without a begin
  std::int64_t failedWrites = 0;  ///< lines that could not be written to the log
  std::int64_t lateStarts = 0;    ///< emulated jobs that began later than planned
  Nanoseconds ownCost = 0;        ///< time that recording took of the training threads
  Nanoseconds logThreadCost = 0;  ///< processor time of the thread that wrote the log
};

}  // namespace pipetrace
