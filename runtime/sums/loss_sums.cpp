#include "runtime/sums/loss_sums.h"

#include "runtime/sums/host_numbers.h"

namespace pipetrace {

void addUpLosses(const RankProgram& program, StepFigures& work, std::int64_t rowsOfRank,
                 RankMessages& messages, int step) {
  if (!program.lossSum) return;
  std::vector<double> sums = work.sharesOfStep();
  const auto rows = static_cast<double>(rowsOfRank);
  if (program.lossSum->to) {
    sums.push_back(rows);
    return messages.sendOnHost(*program.lossSum->to, step, messageOf(sums));
  }
  for (double& sum : sums) sum *= rows;
  double allRows = rows;
  for (const RankProgram::LossSum::Other& other : program.lossSum->from) {
    const std::vector<double> said =
        numbersOf(messages.receiveOnHost(other.message, step, Awaited::kLosses));
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += said.at(i) * said.back();
    if (other.opensReplica) allRows += said.back();
  }
  for (double& sum : sums) sum /= allRows;
  work.takeSums(sums);
}

}  // namespace pipetrace
