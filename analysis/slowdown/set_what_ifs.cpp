#include "analysis/slowdown/set_what_ifs.h"

#include <cmath>
#include <numeric>

#include "trace/threads/in_parallel.h"

namespace pipetrace {

SetWhatIfs::SetWhatIfs(std::size_t sets, SetTimes::SetOf setOf, std::size_t steps)
    : setOf_(std::move(setOf)), whatIfOf_(sets), whatIfs_(sets), byStep_(steps) {
  std::iota(whatIfOf_.begin(), whatIfOf_.end(), std::size_t{0});
}

void SetWhatIfs::findBounds(const JobGraph& graph, const RunWork& runWork, double ideal,
                            int threads) {
  if (areFew()) return;
  // The same parts for any number of threads, so that sums are the same, too.
  constexpr std::size_t kParts = 16;
  std::vector<std::vector<double>> byPart(kParts);
  const std::size_t ranks = graph.ranks().size();
  inParallel(threads, kParts, [&](std::size_t part) {
    byPart[part].assign(count(), 0);
    for (std::size_t r = part * ranks / kParts; r < (part + 1) * ranks / kParts; ++r) {
      addDeviations(graph, runWork, static_cast<std::uint32_t>(r), byPart[part]);
    }
  });
  deviations_.assign(count(), 0);
  whatIfs_ = 0;
  for (std::size_t set = 0; set < count(); ++set) {
    for (const std::vector<double>& part : byPart) deviations_[set] += part[set];
    deviations_[set] /= static_cast<double>(byStep_.size());
    whatIfOf_[set] = deviations_[set] < kLow * ideal ? kNoWhatIf : whatIfs_++;
  }
}

/// Adds those of a rank's operations and of the messages that its jobs wait for.
void SetWhatIfs::addDeviations(const JobGraph& graph, const RunWork& runWork, std::uint32_t rank,
                               std::vector<double>& deviations) const {
  const auto add = [&](RunWork::Id id) {
    const RerunOrder::Work work = RerunOrder::workOf(runWork, id);
    const std::size_t set = setOf_(work);
    if (set < count()) deviations[set] += std::abs(work.measured - work.ideal);
  };
  for (std::size_t step = 0; step < runWork.stepCount(); ++step) {
    for (const RunWork::Id id : runWork.chain(step, rank)) {
      add(id);
      if (runWork.isCollective(id)) continue;
      for (const RunWork::Id input : graph.node(id).inputs) {
        if (input != RunWork::kNone && graph.node(input).isMessage) add(input);
      }
    }
    for (const RunWork::Collective& each : runWork.collectives(step, rank)) {
      if (!each.isChained) add(runWork.idOf(each));
    }
  }
}

void SetWhatIfs::run(std::size_t step, const RerunOrder& order) {
  if (whatIfs_ == 0) return;
  const auto whatIfOf = [&](const RerunOrder::Work& work) {
    const std::size_t set = setOf_(work);
    return set < count() ? whatIfOf_[set] : kNoWhatIf;
  };
  byStep_[step] = SetTimes(order, whatIfs_, whatIfOf).lengths();
}

/// In the order of steps: the sums are the same for any number of threads.
void SetWhatIfs::finish(double ideal) {
  ideal_ = ideal;
  lengths_.assign(whatIfs_, 0);
  for (std::vector<double>& ofStep : byStep_) {
    for (std::size_t i = 0; i < ofStep.size(); ++i) {
      lengths_[i] += ofStep[i] / static_cast<double>(byStep_.size());
    }
    ofStep = {};
  }
}

}  // namespace pipetrace
