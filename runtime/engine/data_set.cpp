#include "runtime/engine/data_set.h"

#include <algorithm>
#include <string>
#include <utility>

#include "trace/error.h"

namespace pipetrace {
namespace {

void requireData(const DataSet& data) {
  if (!data.batch) throw Error("the data has no function that makes a batch");
  if (data.batchSize < 1) throw Error("a batch needs at least one row");
}

}  // namespace

DataSet dataSetOf(Batch all, std::int64_t batchSize) {
  if (all.empty()) throw Error("the data has no tensor");
  const std::int64_t rows = all.begin()->second.size(0);
  for (const auto& [name, tensor] : all) {
    if (tensor.size(0) == rows) continue;
    throw Error("the data has " + std::to_string(rows) + " rows of " + all.begin()->first +
                ", but " + std::to_string(tensor.size(0)) + " of " + name);
  }
  return {.rows = rows,
          .batchSize = batchSize,
          .batch = [all = std::move(all)](std::int64_t first, std::int64_t count) {
            Batch batch;
            for (const auto& [name, tensor] : all) batch[name] = tensor.narrow(0, first, count);
            return batch;
          }};
}

DataSet dataSetOfSteps(std::function<Batch(int step, int replica)> batch, int steps,
                       std::int64_t batchSize, int replicas) {
  return {.rows = steps * batchSize * replicas,
          .batchSize = batchSize,
          .batch = [batch = std::move(batch), batchSize, replicas](std::int64_t first,
                                                                   std::int64_t count) {
            if (first % batchSize != 0 || count != batchSize) {
              throw Error("data that are made by steps have no rows of their own: " +
                          std::to_string(count) + " rows from " + std::to_string(first) +
                          " on are no step of " + std::to_string(batchSize) + " rows");
            }
            const auto part = static_cast<int>(first / batchSize);
            return batch(part / replicas, part % replicas);
          }};
}

DataSteps DataSteps::ofTraining(const DataSet& data, int replicas, int microBatches) {
  requireData(data);
  DataSteps steps;
  steps.replicas_ = replicas;
  const std::int64_t whole = data.batchSize * replicas;
  if (data.batchSize < microBatches) {
    throw Error("a batch of " + std::to_string(data.batchSize) + " rows cannot be split into " +
                std::to_string(microBatches) + " micro-batches");
  }
  steps.whole_ = whole;
  steps.count_ = data.rows / whole;
  steps.rows_ = steps.count_ * whole;
  const std::int64_t ofReplica = (data.rows - steps.rows_) / replicas;
  if (ofReplica >= microBatches) {
    ++steps.count_;
    steps.rows_ += ofReplica * replicas;
  }
  steps.leftOut_ = data.rows - steps.rows_;
  if (steps.count_ == 0) {
    throw Error("the data has " + std::to_string(data.rows) +
                " rows, fewer than a step takes: " + std::to_string(replicas * microBatches));
  }
  return steps;
}

DataSteps DataSteps::ofEvaluation(const DataSet& data, int replicas) {
  requireData(data);
  if (data.rows < replicas) {
    throw Error("the data has " + std::to_string(data.rows) + " rows, and there are " +
                std::to_string(replicas) + " replicas, each of which needs one");
  }
  DataSteps steps;
  steps.replicas_ = replicas;
  const std::int64_t whole = data.batchSize * replicas;
  steps.count_ = std::min((data.rows + whole - 1) / whole, data.rows / replicas);
  steps.rows_ = data.rows;
  return steps;
}

RowRange DataSteps::rowsOf(int step) const {
  const auto firstOf = [this](std::int64_t at) {
    if (whole_ > 0) return std::min(at * whole_, rows_);
    // rows * at / count, without a number that is too large.
    return at * (rows_ / count_) + at * (rows_ % count_) / count_;
  };
  const std::int64_t first = firstOf(step);
  return {first, firstOf(step + 1) - first};
}

RowRange DataSteps::rowsOf(int step, int replica) const {
  const RowRange all = rowsOf(step);
  const std::int64_t first = all.count * replica / replicas_;
  return {all.first + first, all.count * (replica + 1) / replicas_ - first};
}

}  // namespace pipetrace
