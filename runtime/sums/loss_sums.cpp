#include "runtime/sums/loss_sums.h"

#include "runtime/sums/host_numbers.h"

namespace pipetrace {

void addUpLosses(const RankProgram& program, StageWork& work, RankMessages& messages, int step) {
  if (!program.lossSum) return;
  const auto rows = static_cast<double>(work.rows());
  if (program.lossSum->to) {
    return messages.sendOnHost(*program.lossSum->to, step, messageOf({work.lossShare(), rows}));
  }
  double sum = work.lossShare() * rows;
  double allRows = rows;
  for (const RankProgram::LossSum::Other& other : program.lossSum->from) {
    const std::vector<double> said =
        numbersOf(messages.receiveOnHost(other.message, step, Awaited::kLosses));
    sum += said.at(0) * said.at(1);
    if (other.opensReplica) allRows += said.at(1);
  }
  work.takeLoss(sum / allRows);
}

}  // namespace pipetrace
