#include "analysis/what_if/run_blocks.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <string>
#include <utility>

#include "schedule/partition/measured_blocks.h"
#include "schedule/partition/partition_file.h"
#include "schedule/scale/scale_option.h"
#include "trace/error.h"

namespace pipetrace {
namespace {

/// Blocks that are alike. Only their proportions matter.
BlockTable alikeBlocks(int count) {
  BlockTable table;
  table.blocks.resize(
      static_cast<std::size_t>(count),
      {.forward = 1000, .backward = 2000, .backwardInput = 1000, .backwardWeight = 1000});
  return table;
}

int sumOf(const std::vector<int>& blocks) {
  return std::accumulate(blocks.begin(), blocks.end(), 0);
}

using LinkBytes = std::map<std::pair<int, int>, double>;

/// The mean size of messages by link of ranks; only links that have messages.
LinkBytes bytesOfLinks(const Plan& plan, const std::vector<StageCosts>& stages) {
  LinkBytes bytes;
  std::map<std::pair<int, int>, int> counts;
  for (int stage = 0; stage + 1 < plan.numStages; ++stage) {
    for (const int from : plan.ranksOf(stage)) {
      for (const int to : plan.ranksOf(stage + 1)) {
        if (from == to || !exchangeMessages(plan, from, to)) continue;
        const std::pair<int, int> link = std::minmax(from, to);
        bytes[link] += static_cast<double>(stages[static_cast<std::size_t>(stage)].message);
        ++counts[link];
      }
    }
  }
  for (auto& [link, sum] : bytes) sum /= counts[link];
  return bytes;
}

double meanOf(const LinkBytes& bytes) {
  double sum = 0;
  for (const auto& [link, each] : bytes) sum += each;
  return bytes.empty() ? 0 : sum / static_cast<double>(bytes.size());
}

}  // namespace

std::vector<StageCosts> RunBlocks::stages(const std::vector<StageCosts>& stages, int count,
                                          const std::optional<BlockPartition>& changed) const {
  const MeasuredBlocks blocks(table, partition, stages);
  if (!changed) return blocks.stages(cutBlocks(partition, count));
  requireFits(*changed, table.numBlocks(), count);
  return blocks.stages(*changed);
}

double RunBlocks::inputShareOf(int stage) const {
  const auto begin = partition.blocks.begin();
  const int first = std::accumulate(begin, begin + stage, 0);
  double input = 0;
  double whole = 0;
  for (int block = first; block < first + begin[stage]; ++block) {
    const BlockCosts& costs = table.blocks[static_cast<std::size_t>(block)];
    input += static_cast<double>(costs.backwardInput);
    whole += static_cast<double>(costs.backwardInput + costs.backwardWeight);
  }
  return whole > 0 ? input / whole : 0.5;
}

std::optional<BlockPartition> loggedPartition(const Timeline& timeline) {
  std::optional<BlockPartition> found;
  std::string text;
  for (const auto& [rank, info] : timeline.ranks) {
    if (info.blocks.empty()) continue;
    const std::string own = info.blocks + "/" + info.recomputedBlocks;
    if (!found) {
      text = own;
      found = {.blocks = blockCountsFrom(info.blocks), .recomputed = {}};
      if (!info.recomputedBlocks.empty())
        found->recomputed = blockCountsFrom(info.recomputedBlocks);
    } else if (own != text) {
      throw Error("the logs of the ranks do not agree about the blocks of the stages: rank " +
                  std::to_string(rank) + " says " + info.blocks + ", others " +
                  blockCountsText(found->blocks));
    }
  }
  const bool fits =
      !found || found->recomputed.empty() || found->recomputed.size() == found->blocks.size();
  if (!fits) {
    throw Error("the logs name the blocks of " + std::to_string(found->blocks.size()) +
                " stages, but how many run again of " + std::to_string(found->recomputed.size()));
  }
  return found;
}

RunBlocks runBlocks(const GivenBlocks& given, const Timeline& timeline) {
  RunBlocks blocks;
  const std::optional<BlockPartition> logged = loggedPartition(timeline);
  if (!given.partition && !logged) {
    throw Error(
        "--blocks: the logs do not say how many blocks each stage of the run had; "
        "--run-partition does, such as 12,13,13,11");
  }
  blocks.partition = given.partition ? *given.partition : *logged;
  if (given.partition && logged && given.partition->blocks != logged->blocks) {
    throw Error("--run-partition " + blockCountsText(given.partition->blocks) +
                ": the logs say that the run had " + blockCountsText(logged->blocks));
  }
  const bool takesLogged = blocks.partition.recomputed.empty() && logged;
  if (takesLogged) blocks.partition.recomputed = logged->recomputed;
  const int count = sumOf(blocks.partition.blocks);
  blocks.isMeasured = given.table.has_value();
  blocks.table = given.table ? *given.table : alikeBlocks(count);
  if (blocks.table.numBlocks() == count) return blocks;
  throw Error("--blocks: the table has " + std::to_string(blocks.table.numBlocks()) +
              " blocks, but the stages of the run had " + std::to_string(count) + " (" +
              blockCountsText(blocks.partition.blocks) + ")");
}

void scaleMessages(const Plan& runsPlan, const std::vector<StageCosts>& run, const Plan& plan,
                   double bandwidth, Costs& costs) {
  const auto isKnown = [](const StageCosts& stage) { return stage.message > 0; };
  if (std::none_of(run.begin(), run.end(), isKnown)) return;
  const LinkBytes before = bytesOfLinks(runsPlan, run);
  const double usual = meanOf(before);
  if (usual <= 0) return;
  std::vector<Faults::Link> changed;
  for (const auto& [link, bytes] : bytesOfLinks(plan, costs.stages)) {
    const auto own = before.find(link);
    const double had = own == before.end() || own->second <= 0 ? usual : own->second;
    if (bytes == had || bytes <= 0) continue;
    const auto time = static_cast<double>(costs.transferBetween(link.first, link.second));
    const double longer =
        bandwidth > 0 ? time + (bytes - had) / bandwidth * 1e9 : time * bytes / had;
    changed.push_back({link.first, link.second, std::llround(std::max(0.0, longer))});
  }
  costs.faults.links.insert(costs.faults.links.end(), changed.begin(), changed.end());
}

}  // namespace pipetrace
