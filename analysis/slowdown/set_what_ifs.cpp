#include "analysis/slowdown/set_what_ifs.h"

#include <cmath>
#include <numeric>
#include <utility>

namespace pipetrace {

void SetWhatIfs::runFirst(std::size_t step, const RerunOrder& order) {
  if (count() == 0) return;
  if (areFew()) {
    byStep_[step] = SetTimes(order, count(), setOf_).lengths();
    return;
  }
  std::vector<double>& deviations = byStep_[step];
  deviations.assign(count(), 0);
  for (const auto* const works : {&order.works(), &order.messages()}) {
    for (const RerunOrder::Work& work : *works) {
      const std::size_t set = setOf_(work);
      if (set < count()) deviations[set] += std::abs(work.measured - work.ideal);
    }
  }
}

bool SetWhatIfs::needsSecond(double ideal) {
  ideal_ = ideal;
  if (areFew()) {
    std::iota(whatIfOf_.begin(), whatIfOf_.end(), std::size_t{0});
    return false;
  }
  deviations_ = takeMeans();
  for (std::size_t set = 0; set < count(); ++set) {
    whatIfOf_[set] = deviations_[set] < kLow * ideal ? kNoWhatIf : whatIfs_++;
  }
  return whatIfs_ > 0;
}

void SetWhatIfs::runSecond(std::size_t step, const RerunOrder& order) {
  const auto whatIfOf = [&](const RerunOrder::Work& work) {
    const std::size_t set = setOf_(work);
    return set < count() ? whatIfOf_[set] : kNoWhatIf;
  };
  byStep_[step] = SetTimes(order, whatIfs_, whatIfOf).lengths();
}

void SetWhatIfs::finish() {
  if (areFew() || whatIfs_ > 0) lengths_ = takeMeans();
}

/// In the order of steps: the sums are the same for any number of threads.
std::vector<double> SetWhatIfs::takeMeans() {
  const auto steps = static_cast<double>(byStep_.size());
  std::vector<double> means(byStep_.front().size());
  for (std::vector<double>& ofStep : byStep_) {
    for (std::size_t i = 0; i < means.size(); ++i) means[i] += ofStep[i] / steps;
    ofStep = {};
  }
  return means;
}

}  // namespace pipetrace
