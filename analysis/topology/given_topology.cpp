#include "analysis/topology/given_topology.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "analysis/run_contents.h"
#include "trace/topology.h"

namespace pipetrace {
namespace {

std::string counted(std::int64_t count, const char* what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

/// The value to use: that of the logs if they give one, else the option's.
std::optional<int> agreed(const std::optional<int>& logs, const std::optional<int>& option,
                          const char* name, Diagnostics& diagnostics) {
  if (logs && option && logs != option) {
    diagnostics.add({.message = std::string(name) + " " + std::to_string(*option) +
                                " is not used: the logs say " + std::to_string(*logs),
                     .advice = "leave the option out, or correct `Profiler Meta:`"});
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

/// The replica of each rank.
std::map<int, int> replicasOf(const Timeline& timeline, const std::vector<int>& ranks,
                              int pipelineRanks, int replicas) {
  const auto byMessages = topologyOf(timeline).replicas();
  const bool fits = std::ssize(byMessages) == replicas &&
                    std::all_of(byMessages.begin(), byMessages.end(), [&](const auto& group) {
                      return std::ssize(group.second) == pipelineRanks;
                    });
  std::map<int, int> result;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    result[ranks[i]] = static_cast<int>(i) / pipelineRanks;
  }
  if (!fits) return result;
  for (const auto& [replica, members] : byMessages) {
    for (const int rank : members) result[rank] = replica;
  }
  return result;
}

class Completion {
 public:
  Completion(Timeline& timeline, const GivenTopology& given, Diagnostics& diagnostics)
      : timeline_(timeline), diagnostics_(diagnostics), ranks_(ranksWithEvents(timeline)) {
    const StatedTopology logs = statedTopology(timeline);
    chunks_ = agreed(logs.chunks, given.chunks, "--vpp", diagnostics);
    pipelineRanks_ = agreed(logs.pipelineRanks, given.pipelineRanks, "--pp", diagnostics);
    replicas_ = agreed(logs.replicas, given.replicas, "--dp", diagnostics);
  }

  void run() {
    const bool fits = completeNumbers();
    if (!chunks_ && fits && pipelineRanks_) chunks_ = chunksNamedIn(timeline_);
    for (const int rank : ranks_) {
      RankInfo& info = timeline_.ranks.at(rank);
      if (!info.numChunks && chunks_) info.numChunks = chunks_;
      if (!fits || !pipelineRanks_) continue;
      const std::int64_t stages = std::int64_t{*pipelineRanks_} * *info.numChunks;
      if (!info.numStages && stages <= kMostStages) info.numStages = static_cast<int>(stages);
    }
    if (fits && pipelineRanks_ && replicas_) giveReplicas();
  }

 private:
  static constexpr std::int64_t kMostStages = 1'000'000;

  /// Whether the numbers fit the ranks.
  bool completeNumbers() {
    const std::int64_t count = std::ssize(ranks_);
    if (pipelineRanks_ && !replicas_) {
      if (count % *pipelineRanks_ != 0) {
        return refuse(counted(*pipelineRanks_, "rank") + " per pipeline do not divide the " +
                      counted(count, "rank") + " of the input");
      }
      replicas_ = static_cast<int>(count / *pipelineRanks_);
    } else if (replicas_ && !pipelineRanks_) {
      if (count % *replicas_ != 0) {
        return refuse(counted(*replicas_, "pipeline") + " do not divide the " +
                      counted(count, "rank") + " of the input");
      }
      pipelineRanks_ = static_cast<int>(count / *replicas_);
    } else if (pipelineRanks_ && std::int64_t{*pipelineRanks_} * *replicas_ != count) {
      return refuse(counted(*replicas_, "pipeline") + " of " + counted(*pipelineRanks_, "rank") +
                    " are not the " + counted(count, "rank") + " of the input");
    }
    return true;
  }

  /// Warns that the numbers are not used. Returns false.
  bool refuse(const std::string& what) {
    diagnostics_.add({.message = what + "; --pp and --dp are not used",
                      .advice = "read the logs of all ranks together"});
    return false;
  }

  void giveReplicas() {
    const std::map<int, int> replicas = replicasOf(timeline_, ranks_, *pipelineRanks_, *replicas_);
    for (const auto& [rank, replica] : replicas) {
      RankInfo& info = timeline_.ranks.at(rank);
      if (!info.dataParallelIndex) info.dataParallelIndex = replica;
    }
  }

  Timeline& timeline_;
  Diagnostics& diagnostics_;
  const std::vector<int> ranks_;
  std::optional<int> pipelineRanks_;
  std::optional<int> replicas_;
  std::optional<int> chunks_;
};

}  // namespace

void giveTopology(Timeline& timeline, const GivenTopology& given, Diagnostics& diagnostics) {
  if (!given.pipelineRanks && !given.replicas && !given.chunks) return;
  Completion(timeline, given, diagnostics).run();
}

}  // namespace pipetrace
