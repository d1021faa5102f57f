#include "runtime/engine/auto_partition.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <utility>

#include "runtime/costs/measure_costs.h"
#include "runtime/engine/engine_shared.h"
#include "runtime/engine/say.h"
#include "runtime/engine/training_plan.h"
#include "runtime/transport/gloo.h"
#include "runtime/transport/gloo_store.h"
#include "schedule/partition/partition_file.h"
#include "trace/error.h"
#include "trace/files/output_file.h"
#include "trace/text/decimal_time.h"
#include "trace/text/number_text.h"

namespace pipetrace {
namespace {

constexpr const char* kWriter = "--auto-partition";

Nanoseconds timeNow() {
  return std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::string megabytes(std::int64_t bytes) {
  return fixedText(static_cast<double>(bytes) / 1e6, 1) + " MB";
}

void requireFound(const BestPartition& found, std::int64_t limit) {
  if (found.best.excess == 0) return;
  const auto& peaks = found.best.peakMemory;
  const auto fullest = std::max_element(peaks.begin(), peaks.end());
  throw Error(
      std::string("no partition ") + (found.isProven ? "fits into " : "was found that fits into ") +
      megabytes(limit) + " a rank: the best takes " + megabytes(*fullest) + " on rank " +
      std::to_string(fullest - peaks.begin()) + ", " + megabytes(found.best.excess) + " too much");
}

/// Before anything is measured.
void requireWritable(const std::string& file) {
  if (file.empty()) return;
  const std::string failed = "cannot write the partition " + file + ": ";
  std::error_code error;
  if (std::filesystem::is_regular_file(file, error)) {
    bool isOwn = false;
    try {
      isOwn = isPartitionMadeBy(file, kWriter);
    } catch (const Error&) {
      // It is something else.
    }
    if (!isOwn) {
      throw Error(failed + "the file is there, and was not written by " + kWriter +
                  "; name another one, or remove it");
    }
  } else if (std::filesystem::is_directory(file, error)) {
    throw Error(failed + "it is a folder");
  }
  const std::filesystem::path folder = std::filesystem::path(file).parent_path();
  if (!folder.empty() && !std::filesystem::is_directory(folder, error)) {
    throw Error(failed + "there is no folder " + folder.string());
  }
  const OutputFile tried(file);  // throws where it cannot be made; makes none
}

std::string listOf(const BlockPartition& partition) {
  std::string text;
  for (std::size_t s = 0; s < partition.blocks.size(); ++s) {
    text += (s == 0 ? "" : ", ") + std::to_string(partition.blocks[s]);
    const int again = partition.recomputedOf(static_cast<int>(s));
    if (again > 0) text += " (" + std::to_string(again) + " run again)";
  }
  return text;
}

std::string lineOf(const MeasuredPartition& measured, const std::string& file) {
  const BestPartition& found = measured.found;
  std::string text = "best partition: " + listOf(found.best.partition) + " blocks; a step would " +
                     "take " + formatDuration(found.best.step);
  text += found.even.excess > 0 ? ", the even partition does not fit into the limit"
                                : ", with the even partition " + formatDuration(found.even.step);
  text += "; measured in " + formatDuration(measured.measuring) + ", searched in " +
          formatDuration(measured.searching);
  return file.empty() ? text : text + "; written to " + file;
}

}  // namespace

void requireMeasurable(const Strategy& strategy, const std::string& device, int numBlocks,
                       const BestPartitionOptions& how) {
  if (device != "cpu") {
    throw Error("blocks are measured on the CPU, which says nothing of " + device +
                "; write a partition from what they take there (pipe-trace plan --blocks)");
  }
  if (strategy.plan.scheduleFile.empty()) requireSearchable(strategy.plan.scheduleName());
  const CheckedPlan plan = planOf(strategy);
  if (plan->isForwardOnly()) {
    throw Error("the plan " + plan->name + " has no backward pass, so no training can be measured");
  }
  requireSearchable(plan);
  evenPartition(numBlocks, plan->numStages);  // throws
  requireWritable(how.file);
}

MeasuredPartition measuredPartition(const Model& model, const OptimizerMaker& optimizer,
                                    const Strategy& strategy, const EngineOptions& options,
                                    const DataSet& data, const BestPartitionOptions& how) {
  requireMeasurable(strategy, options.device, static_cast<int>(model.blocks.size()), how);
  const CheckedPlan plan = planOf(strategy);
  MeasuredPartition measured;
  const Nanoseconds begin = timeNow();
  measured.blocks = measureBlocks({.model = model,
                                   .seed = options.seed,
                                   .optimizer = optimizer,
                                   .precision = strategy.precision},
                                  firstMicroBatch(*plan, data), how.measured);
  const Nanoseconds search = timeNow();
  if (how.onMeasured) how.onMeasured(measured.blocks);
  measured.measuring = search - begin;
  measured.found = bestPartition(plan, measured.blocks, {.memoryLimit = how.memoryLimit});
  measured.searching = timeNow() - search;
  requireFound(measured.found, how.memoryLimit);
  measured.partition = partitionIn(partitionFile(measured.found.best.partition));
  return measured;
}

void useBestPartition(const Model& model, const OptimizerMaker& optimizer, Strategy& strategy,
                      EngineOptions& options, const DataSet& data,
                      const BestPartitionOptions& how) {
  const auto make = [&] {
    const MeasuredPartition measured =
        measuredPartition(model, optimizer, strategy, options, data, how);
    const std::string text = partitionFile(measured.found.best.partition, kWriter);
    if (!how.file.empty()) writeWholeFile(how.file, text);
    const std::string line = lineOf(measured, how.file);
    options.print ? options.print(line) : sayOnStdout(line);
    return text;
  };
  const std::optional<ProcessEnv> env = placeOf(options);
  std::string text;
  if (env) {
    requireWorldSize(*planOf(strategy), env->worldSize);
    options.store = openRunStore(*env, options.connectTimeout);
    text = broadcastFromRankZero(*env, *options.store, "best-partition", make);
  } else {
    text = make();
  }
  strategy.partition = partitionIn(text);
  strategy.partitionFile.clear();
}

}  // namespace pipetrace
