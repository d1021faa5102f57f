#include "analysis/run/topology/given_topology.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "analysis/run_contents.h"
#include "trace/error.h"
#include "trace/text/number_text.h"
#include "trace/text/ranks_text.h"
#include "trace/topology.h"

namespace pipetrace {
namespace {

/// Whether the groups of the ranks say how they are arranged, rather than `Profiler Meta:`.
bool isByGroups(const Timeline& timeline) {
  return std::any_of(timeline.ranks.begin(), timeline.ranks.end(),
                     [](const auto& rank) { return !rank.second.pipelineRanks.empty(); });
}

/// The value to use: that of the logs or of the option. Throws Error where they differ.
std::optional<int> agreed(const Timeline& timeline, const std::optional<int>& logs,
                          const std::optional<int>& option, const char* name) {
  if (logs && option && logs != option) {
    const std::string said = std::string(name) + " " + std::to_string(*option) + " contradicts ";
    const std::string value = std::to_string(*logs);
    if (isByGroups(timeline)) {
      throw Error(said + "the groups of ranks in the input, which say " + value +
                  "; leave the option out");
    }
    throw Error(said + "the logs, which say " + value +
                "; leave the option out, or correct `Profiler Meta:`");
  }
  return logs ? logs : option;
}

std::vector<int> ranksWithEvents(const Timeline& timeline) {
  std::vector<int> ranks;
  for (const Track& track : timeline.tracks) {
    const bool isNew = ranks.empty() || ranks.back() != track.rank;  // tracks are sorted by rank
    if (isNew && !track.events.empty()) ranks.push_back(track.rank);
  }
  return ranks;
}

/// The largest number of chunks that a rank names. All ranks of a run have the same number.
int chunksNamedIn(const Timeline& timeline) {
  int chunks = 1;
  for (const Track& track : timeline.tracks) {
    for (const Event& event : track.events) chunks = std::max(chunks, event.chunk + 1);
  }
  return chunks;
}

/// The ranks by the lowest stage that their jobs name, ascending. Empty where a rank names
/// none, or stages have different numbers of ranks.
std::map<int, std::vector<int>> ranksByStage(const Timeline& timeline,
                                             const std::vector<int>& ranks) {
  std::map<int, int> lowest;  // by rank
  for (const Track& track : timeline.tracks) {
    for (const Event& event : track.events) {
      if (!isCompute(event.kind) || event.stage < 0) continue;
      const auto [found, isNew] = lowest.try_emplace(track.rank, event.stage);
      if (!isNew) found->second = std::min(found->second, event.stage);
    }
  }
  std::map<int, std::vector<int>> result;
  for (const int rank : ranks) {
    const auto found = lowest.find(rank);
    if (found == lowest.end()) return {};
    result[found->second].push_back(rank);
  }
  const bool areAlike = std::all_of(result.begin(), result.end(), [&](const auto& stage) {
    return stage.second.size() == result.begin()->second.size();
  });
  return areAlike ? result : std::map<int, std::vector<int>>();
}

/// Ranks and pipelines, as numbers that belong together.
struct Shape {
  int pipelineRanks = 1;
  int replicas = 1;
  int tensorRanks = 1;

  int pipelines() const { return replicas * tensorRanks; }
};

/// The pipeline of each rank, numbered as Topology does.
std::map<int, int> pipelinesOf(const Timeline& timeline, const std::vector<int>& ranks,
                               const Shape& shape) {
  std::map<int, int> result;
  const auto byMessages = topologyOf(timeline).replicas();
  const bool fits = std::ssize(byMessages) == shape.pipelines() &&
                    std::all_of(byMessages.begin(), byMessages.end(), [&](const auto& group) {
                      return std::ssize(group.second) == shape.pipelineRanks;
                    });
  if (fits) {
    for (const auto& [pipeline, members] : byMessages) {
      for (const int rank : members) result[rank] = pipeline;
    }
    return result;
  }
  const auto stages = ranksByStage(timeline, ranks);
  if (std::ssize(stages) == shape.pipelineRanks) {
    for (const auto& [stage, members] : stages) {
      for (std::size_t i = 0; i < members.size(); ++i) result[members[i]] = static_cast<int>(i);
    }
    return result;
  }
  const int ofReplica = shape.pipelineRanks * shape.tensorRanks;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    const int number = static_cast<int>(i);
    result[ranks[i]] = number / ofReplica * shape.tensorRanks + number % shape.tensorRanks;
  }
  return result;
}

class Completion {
 public:
  Completion(Timeline& timeline, const GivenTopology& given, Diagnostics& diagnostics)
      : timeline_(timeline), diagnostics_(diagnostics), ranks_(ranksWithEvents(timeline)) {
    StatedTopology logs = statedTopology(timeline);
    isOption_ = (given.pipelineRanks && !logs.pipelineRanks) ||
                (given.replicas && !logs.replicas) || (given.tensorRanks && !logs.tensorRanks);
    chunks_ = agreed(timeline, logs.chunks, given.chunks, "--vpp");
    pipelineRanks_ = agreed(timeline, logs.pipelineRanks, given.pipelineRanks, "--pp");
    tensorRanks_ = agreed(timeline, logs.tensorRanks, given.tensorRanks, "--tp");
    if (!logs.tensorRanks && tensorRanks_ && logs.replicas) divide(logs.replicas, given.replicas);
    replicas_ = agreed(timeline, logs.replicas, given.replicas, "--dp");
  }

  void run() {
    if (tensorRanks_ && !pipelineRanks_ && !replicas_) inferPipelineRanks();
    const bool fits = completeNumbers();
    if (!chunks_ && fits && pipelineRanks_) chunks_ = chunksNamedIn(timeline_);
    for (const int rank : ranks_) {
      RankInfo& info = timeline_.ranks.at(rank);
      if (!info.numChunks && chunks_) info.numChunks = chunks_;
      if (!fits || !pipelineRanks_) continue;
      const std::int64_t stages = std::int64_t{*pipelineRanks_} * *info.numChunks;
      if (!info.numStages && stages <= kMostStages) info.numStages = static_cast<int>(stages);
    }
    if (fits && pipelineRanks_ && replicas_) {
      giveIndices();
      checkStages();
    }
  }

 private:
  static constexpr std::int64_t kMostStages = 1'000'000;

  int tensorRanks() const { return tensorRanks_.value_or(1); }

  /// Divides the pipelines that the logs name among the tensor-parallel ranks, unless the logs
  /// count replicas, as the number of ranks shows.
  void divide(std::optional<int>& named, const std::optional<int>& given) {
    const std::int64_t count = std::ssize(ranks_);
    const std::int64_t ranks = std::int64_t{pipelineRanks_.value_or(0)} * *named;
    const bool countsReplicas = ranks > 0 ? ranks * tensorRanks() == count : named == given;
    if (countsReplicas || *named % tensorRanks() != 0) return;
    named = *named / tensorRanks();
  }

  void inferPipelineRanks() {
    const std::int64_t count = std::ssize(ranks_);
    const auto groups = topologyOf(timeline_).replicas();
    const auto stages = ranksByStage(timeline_, ranks_);
    std::int64_t pipelines = tensorRanks();
    if (groups.size() > 1) {
      pipelines = std::ssize(groups);
    } else if (!stages.empty() && std::ssize(stages) < count) {
      pipelines = count / std::ssize(stages);
    }
    if (count % pipelines == 0) pipelineRanks_ = static_cast<int>(count / pipelines);
  }

  /// Whether the numbers fit the ranks.
  bool completeNumbers() {
    const std::int64_t count = std::ssize(ranks_);
    if (pipelineRanks_ && !replicas_) {
      const std::int64_t ofReplica = std::int64_t{*pipelineRanks_} * tensorRanks();
      if (count % ofReplica != 0) {
        return refuse(countText(*pipelineRanks_, "rank") + " per pipeline" + byTensorRanks() +
                      " do not divide the " + countText(count, "rank") + " of the input");
      }
      replicas_ = static_cast<int>(count / ofReplica);
    } else if (replicas_ && !pipelineRanks_) {
      const std::int64_t pipelines = std::int64_t{*replicas_} * tensorRanks();
      if (count % pipelines != 0) {
        return refuse(countText(*replicas_, "pipeline") + byTensorRanks() + " do not divide the " +
                      countText(count, "rank") + " of the input");
      }
      pipelineRanks_ = static_cast<int>(count / pipelines);
    } else if (pipelineRanks_ &&
               std::int64_t{*pipelineRanks_} * *replicas_ * tensorRanks() != count) {
      return refuse(countText(*replicas_, "pipeline") + " of " +
                    countText(*pipelineRanks_, "rank") + byTensorRanks() + " are not the " +
                    countText(count, "rank") + " of the input");
    } else if (!pipelineRanks_ && tensorRanks_) {
      return refuse(countText(*tensorRanks_, "tensor-parallel rank") + " do not divide the " +
                    countText(count, "rank") + " of the input");
    }
    return true;
  }

  std::string byTensorRanks() const {
    return tensorRanks_ ? " times " + countText(*tensorRanks_, "tensor-parallel rank") : "";
  }

  /// Throws Error where an option does not fit. Warns where the numbers are those of the logs
  /// alone, of which some may not be there, and returns false.
  bool refuse(const std::string& what) {
    if (isOption_) {
      throw Error(what + "; correct --pp, --dp or --tp, or read the logs of all ranks together");
    }
    diagnostics_.add({.message = what + ", as the logs say; that is not used",
                      .advice = "read the logs of all ranks together"});
    return false;
  }

  void giveIndices() {
    const Shape shape{*pipelineRanks_, *replicas_, tensorRanks()};
    if (shape.tensorRanks > 1) divideIndices(shape);
    const bool areReplicasNamed = std::all_of(ranks_.begin(), ranks_.end(), [&](int rank) {
      return timeline_.ranks.at(rank).dataParallelIndex.has_value();
    });
    if (shape.tensorRanks > 1 && areReplicasNamed) return giveTensorIndices(shape);
    for (const auto& [rank, pipeline] : pipelinesOf(timeline_, ranks_, shape)) {
      RankInfo& info = timeline_.ranks.at(rank);
      if (!info.dataParallelIndex) info.dataParallelIndex = pipeline / shape.tensorRanks;
      if (tensorRanks_ && !info.tensorParallelIndex) {
        info.tensorParallelIndex = pipeline % shape.tensorRanks;
      }
    }
  }

  /// Throws Error where jobs of one pipeline name other stages than those of another.
  void checkStages() const {
    std::map<std::pair<int, int>, std::set<std::int32_t>> stages;  // of pipelines
    std::map<std::pair<int, int>, std::vector<int>> members;
    for (const Track& track : timeline_.tracks) {
      const RankInfo& info = timeline_.ranks.at(track.rank);
      const std::pair pipeline{info.dataParallelIndex.value_or(0),
                               info.tensorParallelIndex.value_or(0)};
      for (const Event& event : track.events) {
        if (!isCompute(event.kind)) continue;
        if (event.stage == kNotGiven) return;
        stages[pipeline].insert(event.stage);
        std::vector<int>& ranks = members[pipeline];
        if (ranks.empty() || ranks.back() != track.rank) ranks.push_back(track.rank);
      }
    }
    for (const auto& [pipeline, own] : stages) {
      const auto& [first, others] = *stages.begin();
      const bool areParts =  // where a log lacks jobs
          std::includes(own.begin(), own.end(), others.begin(), others.end()) ||
          std::includes(others.begin(), others.end(), own.begin(), own.end());
      if (areParts) continue;
      throw Error("--pp " + std::to_string(*pipelineRanks_) + " contradicts the jobs: ranks " +
                  numbersText(members.at(first)) + " would be a pipeline with stages " +
                  numbersText({others.begin(), others.end()}) + ", and ranks " +
                  numbersText(members.at(pipeline)) + " one with stages " +
                  numbersText({own.begin(), own.end()}) + "; leave the option out");
    }
  }

  /// Where the data-parallel indices of the logs count pipelines, the n-th is that of the n-th pair
  /// of indices.
  void divideIndices(const Shape& shape) {
    std::map<int, int> numbers;  // by the index in the logs
    for (const int rank : ranks_) {
      const auto& index = timeline_.ranks.at(rank).dataParallelIndex;
      if (index) numbers[*index];
    }
    if (std::ssize(numbers) != shape.pipelines()) return;
    int next = 0;
    for (auto& [index, number] : numbers) number = next++;
    for (const int rank : ranks_) {
      RankInfo& info = timeline_.ranks.at(rank);
      if (!info.dataParallelIndex) continue;
      const int number = numbers.at(*info.dataParallelIndex);
      info.dataParallelIndex = number / shape.tensorRanks;
      info.tensorParallelIndex = number % shape.tensorRanks;
    }
  }

  /// The ranks of a replica whose data-parallel index the logs name, divided among the
  /// tensor-parallel indices.
  void giveTensorIndices(const Shape& shape) {
    std::map<int, std::vector<int>> replicas;
    for (const int rank : ranks_) {
      replicas[*timeline_.ranks.at(rank).dataParallelIndex].push_back(rank);
    }
    const Shape ofReplica{shape.pipelineRanks, 1, shape.tensorRanks};
    for (const auto& [replica, members] : replicas) {
      for (const auto& [rank, pipeline] : pipelinesOf(timeline_, members, ofReplica)) {
        auto& index = timeline_.ranks.at(rank).tensorParallelIndex;
        if (!index) index = pipeline % shape.tensorRanks;
      }
    }
  }

  Timeline& timeline_;
  Diagnostics& diagnostics_;
  const std::vector<int> ranks_;
  bool isOption_ = false;  // an option gives what the logs do not
  std::optional<int> pipelineRanks_;
  std::optional<int> replicas_;
  std::optional<int> chunks_;
  std::optional<int> tensorRanks_;
};

}  // namespace

void giveTopology(Timeline& timeline, const GivenTopology& given, Diagnostics& diagnostics) {
  if (!given.pipelineRanks && !given.replicas && !given.chunks && !given.tensorRanks) return;
  Completion(timeline, given, diagnostics).run();
}

}  // namespace pipetrace
