#include "runtime/sums/scalar_all_reduce.h"

#include <algorithm>

#include "runtime/program/plan_words.h"
#include "runtime/record/record_job.h"
#include "runtime/transport/message.h"

namespace pipetrace {
namespace {

/// The numbers of stages, one after the other, each with their count before them. They begin with
/// the number of stages, so no message is empty.
std::vector<double> packed(const std::vector<std::vector<double>>& ofStages) {
  std::vector<double> all{static_cast<double>(ofStages.size())};
  for (const std::vector<double>& numbers : ofStages) {
    all.push_back(static_cast<double>(numbers.size()));
    all.insert(all.end(), numbers.begin(), numbers.end());
  }
  return all;
}

}  // namespace

ScalarAllReduce::ScalarAllReduce(const RankProgram& program, ScalarTerms& work,
                                 RankMessages& messages, const RecordedStreams& recorded,
                                 PlannedTransfers* planned, RankDevice* device)
    : program_(program),
      work_(work),
      messages_(messages),
      recorded_(recorded),
      planned_(planned),
      device_(device) {
  if (program_.scalarAllReduce && recorded_.isOn()) {
    members_ = recorded_.recorder->text(program_.scalarAllReduce->members);
  }
}

void ScalarAllReduce::run(int step) {
  if (!program_.scalarAllReduce) return;
  const RankProgram::ScalarAllReduce& own = *program_.scalarAllReduce;
  RecordedCollective recorded{.job = {.kind = JobKind::kAllReduce,
                                      .microBatch = kNotGiven,
                                      .step = recorded_.inLog(step),
                                      .action = members_}};
  if (planned_ != nullptr) {
    recorded.begin = plannedMarkOf(recorded_, planned_->now());
    const Nanoseconds end = plannedEnd(own, step);
    planned_->awaitReduction(end);
    recorded.end = static_cast<DeviceStream::Mark>(end);
    return recordCollective(recorded_, recorded);
  }
  recorded.begin = markOf(recorded_, device_);
  const double sum = sumOfAll(own, step);
  recorded.end = markOf(recorded_, device_);
  recorded.bytes = sizeof(double);
  recordCollective(recorded_, recorded);
  work_.takeScalarSum(sum);
}

double ScalarAllReduce::sumOfAll(const RankProgram::ScalarAllReduce& own, int step) {
  const std::vector<std::vector<double>> terms = work_.scalarAllReduceTerms(own.stages);
  if (own.root) {
    messages_.sendOnHost(own.root->send, step, messageOf(packed(terms)));
    return numbersOf(messages_.receiveOnHost(own.root->receive, step, Awaited::kScalarAllReduce))
        .at(0);
  }
  std::map<int, std::vector<double>> byStage;
  for (std::size_t i = 0; i < own.stages.size(); ++i) byStage[own.stages[i]] = terms.at(i);
  for (const RankProgram::ScalarAllReduce::Other& other : own.others) {
    const std::vector<double> all =
        numbersOf(messages_.receiveOnHost(other.ends.receive, step, Awaited::kScalarAllReduce));
    auto next = all.begin() + 1;
    for (const int stage : other.stages) {
      const auto count = static_cast<std::ptrdiff_t>(*next++);
      byStage[stage].assign(next, next + count);
      next += count;
    }
  }
  double sum = 0;
  for (const auto& [stage, numbers] : byStage) {
    for (const double number : numbers) sum += number;
  }
  for (const RankProgram::ScalarAllReduce::Other& other : own.others) {
    messages_.sendOnHost(other.ends.send, step, messageOf({sum}));
  }
  return sum;
}

/// As Reductions has it in the simulation.
Nanoseconds ScalarAllReduce::plannedEnd(const RankProgram::ScalarAllReduce& own, int step) {
  Nanoseconds end = planned_->now();
  if (own.root) {
    messages_.sendOnHost(own.root->send, step, {.deadline = end});
    return messages_.receiveOnHost(own.root->receive, step, Awaited::kScalarAllReduce).deadline;
  }
  for (const RankProgram::ScalarAllReduce::Other& other : own.others) {
    end = std::max(
        end, messages_.receiveOnHost(other.ends.receive, step, Awaited::kScalarAllReduce).deadline);
  }
  end += planned_->scalarAllReduceTime();
  for (const RankProgram::ScalarAllReduce::Other& other : own.others) {
    messages_.sendOnHost(other.ends.send, step, {.deadline = end});
  }
  return end;
}

}  // namespace pipetrace
