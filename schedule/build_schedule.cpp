#include "schedule/build_schedule.h"

#include <limits>

#include "schedule/builders/builders.h"
#include "schedule/builders/placements.h"
#include "schedule/search/auto_schedule.h"
#include "trace/error.h"
#include "trace/text/count_text.h"

namespace pipetrace {
namespace {

constexpr int kAnyNumber = std::numeric_limits<int>::max();

/// Chunks are settled when this is called.
using Build = Plan (*)(const PlanSize&, const AutoInput&);

struct Entry {
  ScheduleInfo info;
  Build build;
};

template <Plan (*kBuilder)(int, int)>
Plan unchunked(const PlanSize& size, const AutoInput&) {
  return kBuilder(size.ranks, size.microBatches);
}
template <Plan (*kBuilder)(int, int, int)>
Plan chunked(const PlanSize& size, const AutoInput&) {
  return kBuilder(size.ranks, size.microBatches, size.chunks);
}

Plan searched(const PlanSize& size, const AutoInput& input) {
  Costs costs = input.costs;
  if (costs.stages.empty()) {
    constexpr StageCosts kEqualHalves{
        .forward = 1, .backward = 2, .backwardInput = 1, .backwardWeight = 1};
    costs.stages.assign(
        static_cast<std::size_t>(size.ranks) * static_cast<std::size_t>(size.chunks), kEqualHalves);
  }
  return autoSchedule(size.ranks, size.microBatches, size.chunks, costs,
                      {.memoryLimit = input.memoryLimit});
}

// Aliases: torch.distributed.pipelining's classes and the names that get_schedule_class() knows;
// PaddlePaddle's pipeline passes and the classes of its dynamic mode; Megatron-LM's functions. Also
// the zero-bubble repository's options, classes of DeepSpeed and Colossal-AI, and MindSpore's and
// MindSpeed's options. Spellings that differ only in case, '-', '_' and blanks need not be listed.
const std::vector<Entry>& entries() {
  static const std::vector<Entry> kEntries = {
      // GPipe in torch runs backwards in order: its class is our FThenB.
      {{.name = "FThenB",
        .aliases = {"ScheduleGPipe", "AFAB", "AllForwardAllBackward", "PipelineFThenBPass"},
        .summary = "all forwards, then all backwards, oldest first"},
       unchunked<fThenB>},
      {{.name = "GPipe",
        .aliases = {"Fill-Drain"},
        .summary = "all forwards, then all backwards, newest first"},
       unchunked<gPipe>},
      {{.name = "1F1B",
        .aliases = {"Schedule1F1B", "OneFOneB", "PipeDream-Flush", "DAPPLE",
                    "forward_backward_pipelining_without_interleaving", "TrainSchedule",
                    "OneForwardOneBackwardSchedule", "PipelineParallel", "Pipeline1F1BPass"},
        .summary = "one forward, one backward: as few activations as there are ranks to come"},
       unchunked<oneFOneB>},
      {{.name = "Eager1F1B",
        .aliases = {"Eager-1F1B", "PipelineEager1F1BPass"},
        .summary = "1F1B with a longer warm-up, so that transfers hide behind work"},
       unchunked<eagerOneFOneB>},
      {{
           .name = "Interleaved1F1B",
           .aliases = {"ScheduleInterleaved1F1B", "VPP", "Interleaved", "1F1B-Interleaved",
                       "forward_backward_pipelining_with_interleaving", "InterleavedSchedule",
                       "PipelineParallelWithInterleave", "PipelineVirtualPipelinePass"},
           .usualChunks = 2,
           .mostChunks = kAnyNumber,
           .summary = "1F1B over several chunks a rank: a smaller bubble for more transfers",
       },
       chunked<interleavedOneFOneB>},
      {{.name = "LoopedBFS",
        .aliases = {"ScheduleLoopedBFS", "Breadth-First"},
        .usualChunks = 2,
        .mostChunks = kAnyNumber,
        .summary = "all micro-batches through one chunk, then through the next"},
       chunked<loopedBfs>},
      {{.name = "ZB-H1",
        .aliases = {"ZB1P", "ZBH1", "PipelineZeroBubblePipelinePass"},
        .summary = "1F1B with split backward passes: weight halves fill the drain",
        .splitsBackward = true},
       unchunked<zbH1>},
      {{.name = "ZB-H2",
        .aliases = {"ZB2P"},
        .summary = "a longer warm-up than ZB-H1: no bubble in the span, for twice the activations",
        .splitsBackward = true},
       unchunked<zbH2>},
      {{.name = "InterleavedZeroBubble",
        .aliases = {"ScheduleInterleavedZeroBubble", "Interleaved-ZB", "Interleaved-ZB1P"},
        .usualChunks = 2,
        .mostChunks = kAnyNumber,
        .summary = "ZB-H1 over several chunks a rank",
        .splitsBackward = true},
       chunked<interleavedZeroBubble>},
      {{.name = "ZBV",
        .aliases = {"ScheduleZBVZeroBubble", "ZBVZeroBubble", "V-ZB", "ZB-V", "ZBVPP",
                    "Zero-Bubble-V", "ZeroBubbleVPipeScheduler",
                    "PipelineZeroBubbleVirtualPipelinePass"},
        .usualChunks = 2,
        .leastChunks = 2,
        .mostChunks = 2,
        .summary = "V-shaped: no bubble in the span, with 1F1B's most activations",
        .splitsBackward = true},
       unchunked<zbV>},
      {{.name = "V-Half",
        .aliases = {"ZBV-Half"},
        .usualChunks = 2,
        .leastChunks = 2,
        .mostChunks = 2,
        .summary = "V-shaped: about half of 1F1B's most activations",
        .splitsBackward = true},
       unchunked<vHalf>},
      {{.name = "V-Min",
        .aliases = {"ZBV-Min"},
        .usualChunks = 2,
        .leastChunks = 2,
        .mostChunks = 2,
        .summary = "V-shaped: about a third of 1F1B's most activations",
        .splitsBackward = true},
       unchunked<vMin>},
      {{.name = "DualPipe",
        .aliases = {},
        .summary = "both directions at once, forward and backward passes fused, weights twice",
        .splitsBackward = true},
       unchunked<dualPipe>},
      {{.name = "DualPipeV",
        .aliases = {"ScheduleDualPipeV", "DualPipeVParallel", "Cut-in-half"},
        .usualChunks = 2,
        .leastChunks = 2,
        .mostChunks = 2,
        .summary = "DualPipe cut in half: V-shaped, weights once",
        .splitsBackward = true},
       unchunked<dualPipeV>},
      {{.name = "PipeDream",
        .aliases = {"Async1F1B", "Async-1F1B"},
        .summary = "1F1B without a flush, weights change after every backward pass",
        .isAsynchronous = true},
       unchunked<pipeDream>},
      {{.name = "PipeDream-2BW",
        .aliases = {"2BW"},
        .summary = "1F1B without a flush, two versions of the weights",
        .isAsynchronous = true},
       unchunked<pipeDream2bw>},
      {{.name = "ForwardOnly",
        .aliases = {"ScheduleForwardOnly", "InferenceSchedule", "Inference", "Evaluation", "Eval"},
        .mostChunks = kAnyNumber,
        .summary = "forwards alone, for evaluation and inference",
        .isForwardOnly = true},
       chunked<forwardOnly>},
      {{.name = "auto",
        .aliases = {"automatic"},
        .mostChunks = kAnyNumber,
        .summary = "the shortest plan that a search finds for given times and a memory limit",
        .splitsBackward = true,
        .dependsOnCosts = true},
       searched},
  };
  return kEntries;
}

std::string reduced(std::string_view name) {
  std::string text;
  for (const char c : name) {
    if (c == '-' || c == '_' || c == ' ') continue;
    text += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return text;
}

bool isCalled(const ScheduleInfo& info, std::string_view key) {
  if (key.empty()) return false;
  if (reduced(info.name) == key) return true;
  for (const std::string_view alias : info.aliases) {
    if (reduced(alias) == key) return true;
  }
  return false;
}

const Entry* findEntry(std::string_view name) {
  const std::string key = reduced(name);
  for (const Entry& entry : entries()) {
    if (isCalled(entry.info, key)) return &entry;
  }
  return nullptr;
}

const Entry& entryOf(std::string_view name) {
  if (const Entry* const entry = findEntry(name)) return *entry;
  std::string text = "no schedule is called \"" + std::string(name) + "\"; choose one of";
  const char* separator = " ";
  for (const std::string& known : scheduleNames()) {
    text += separator + known;
    separator = ", ";
  }
  throw Error(text);
}

/// The schedules to try instead of a one-chunk schedule with more chunks.
std::string chunkedKinOf(std::string_view name) {
  if (name == "FThenB" || name == "GPipe") return "LoopedBFS";
  if (name.starts_with("ZB-H")) return "InterleavedZeroBubble, or the V-shaped ZBV";
  if (name == "DualPipe") return "DualPipeV";
  if (name.starts_with("PipeDream")) return "Interleaved1F1B, which flushes";
  return "Interleaved1F1B";
}

int chunksOf(const ScheduleInfo& info, int asked) {
  if (asked == 0) return info.usualChunks;
  if (asked >= info.leastChunks && asked <= info.mostChunks) return asked;
  const std::string text = "cannot plan " + std::string(info.name) + " with " +
                           countText(asked, "chunk") + " per rank: it has ";
  if (asked < 1) throw Error(text + "at least one");
  if (info.mostChunks > 1) throw Error(text + std::to_string(info.usualChunks));
  throw Error(text + "one; with more, try " + chunkedKinOf(info.name));
}

}  // namespace

Plan buildSchedule(std::string_view name, const PlanSize& size, const AutoInput& input) {
  return entryOf(name).build(settledSize(name, size), input);
}

Plan buildOnStageRanks(std::string_view name, const std::vector<std::vector<int>>& ranksOfStage,
                       int microBatches, const std::vector<int>& depths) {
  const std::string known(scheduleInfo(name).name);
  const auto build = [&](OrderOfRow order) {
    return onStageRanks(order, known, ranksOfStage, microBatches, depths);
  };
  if (known == "FThenB") return build(OrderOfRow::kOldestFirst);
  if (known == "GPipe") return build(OrderOfRow::kNewestFirst);
  if (known == "1F1B") return build(OrderOfRow::kOneFOneB);
  if (known == "PipeDream") return pipeDreamOnStageRanks(ranksOfStage, microBatches, depths);
  if (known == "PipeDream-2BW") {
    return pipeDream2bwOnStageRanks(ranksOfStage, microBatches, depths);
  }
  throw Error("cannot plan " + known +
              " with the ranks or depths of each stage; that is for 1F1B, FThenB, GPipe, "
              "PipeDream and PipeDream-2BW");
}

StageMap stageMapOptions(std::string_view stageRanks, std::string_view stageDepths, int ranks) {
  StageMap map;
  if (!stageRanks.empty()) map.ranks = stageRanksOption(stageRanks);
  for (int rank = 0; rank < ranks && stageRanks.empty(); ++rank) map.ranks.push_back({rank});
  if (!stageDepths.empty()) map.depths = stageDepthsOption(stageDepths);
  return map;
}

bool isSchedule(std::string_view name) { return findEntry(name) != nullptr; }

const ScheduleInfo& scheduleInfo(std::string_view name) { return entryOf(name).info; }

PlanSize settledSize(std::string_view name, const PlanSize& size) {
  const ScheduleInfo& info = entryOf(name).info;
  PlanSize settled = size;
  settled.chunks = chunksOf(info, size.chunks);
  requirePlanSize(info.name, settled.ranks, settled.microBatches, settled.chunks);
  return settled;
}

const std::vector<ScheduleInfo>& knownSchedules() {
  static const std::vector<ScheduleInfo> kKnown = [] {
    std::vector<ScheduleInfo> known;
    for (const Entry& entry : entries()) known.push_back(entry.info);
    return known;
  }();
  return kKnown;
}

std::vector<std::string> scheduleNames() {
  std::vector<std::string> names;
  for (const Entry& entry : entries()) names.emplace_back(entry.info.name);
  return names;
}

}  // namespace pipetrace
