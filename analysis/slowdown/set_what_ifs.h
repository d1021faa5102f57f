#pragma once

#include <cstddef>
#include <vector>

#include "analysis/slowdown/set_times.h"

namespace pipetrace {

/// The what-ifs of many sets over the steps of a run: in each, the works of one set are as long as
/// measured, and all others as long as ideal. They are run in two parts, as far as there is a
/// second one.
///
/// If one pass runs all of them, they are simulated. Else a set whose works deviate little has a
/// bound in place of a simulation. No path of a step gets longer or shorter by more than the sum of
/// |measured − ideal| over the works of the set. So where that sum is below kLow of the ideal
/// length, over all steps, it says enough.
class SetWhatIfs {
 public:
  static constexpr double kLow = 0.001;

  /// `sets` and `setOf` as of SetTimes. `steps`: how many there are, at least one.
  SetWhatIfs(std::size_t sets, SetTimes::SetOf setOf, std::size_t steps)
      : setOf_(std::move(setOf)), deviations_(sets), whatIfOf_(sets), byStep_(steps) {}

  std::size_t count() const { return whatIfOf_.size(); }

  /// Runs a step (by its index). Several threads may run different steps at once.
  void runFirst(std::size_t step, const RerunOrder& order);
  /// After all steps. `ideal`: the mean length of a step in which all is ideal, ns. True: all steps
  /// are to run a second time.
  bool needsSecond(double ideal);
  /// As runFirst().
  void runSecond(std::size_t step, const RerunOrder& order);
  /// After the last run of all steps.
  void finish();

  /// Whether the length of a set is a bound: it is at most that.
  bool isBound(std::size_t set) const { return whatIfOf_[set] == kNoWhatIf; }
  /// The mean length of a step in the what-if of a set, ns. Not before finish().
  double length(std::size_t set) const {
    return isBound(set) ? ideal_ + deviations_[set] : lengths_[whatIfOf_[set]];
  }

 private:
  static constexpr std::size_t kNoWhatIf = ~std::size_t{0};

  bool areFew() const { return count() <= SetTimes::kAtOnce; }
  std::vector<double> takeMeans();

  SetTimes::SetOf setOf_;
  std::vector<double> deviations_;     // by set, mean of a step, ns
  std::vector<std::size_t> whatIfOf_;  // by set; kNoWhatIf: a bound
  std::size_t whatIfs_ = 0;
  std::vector<double> lengths_;              // by what-if, mean of a step, ns
  std::vector<std::vector<double>> byStep_;  // of the run under way
  double ideal_ = 0;
};

}  // namespace pipetrace
