#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "analysis/rerun/run_work.h"
#include "analysis/slowdown/set_times.h"

namespace pipetrace {

/// The what-ifs of many sets over the steps of a run: in each, the operations of one set are as
/// long as measured, and all others as long as ideal.
///
/// If one pass runs all of them, they are simulated. Else a set whose operations deviate little has
/// a bound in place of a simulation. No path of a step gets longer or shorter by more than the sum
/// of |measured − ideal| over the operations of the set. So where that sum is below kLow of the
/// ideal length, over all steps, it says enough.
class SetWhatIfs {
 public:
  static constexpr double kLow = 0.001;

  /// `sets` and `setOf` as of SetTimes. `steps`: how many there are, at least one.
  SetWhatIfs(std::size_t sets, SetTimes::SetOf setOf, std::size_t steps);

  std::size_t count() const { return whatIfOf_.size(); }
  bool areFew() const { return count() <= SetTimes::kAtOnce; }

  /// Finds the sets that need no simulation, where they are many. `ideal`: how long a step with
  /// ideal durations is about, ns. Comes before run(). Uses that many threads, which makes no
  /// difference to the result.
  void findBounds(const JobGraph& graph, const RunWork& runWork, double ideal, int threads);
  /// Runs a step (by its index). Several threads may run different steps at once.
  void run(std::size_t step, const RerunOrder& order);
  /// After all steps. `ideal`: the mean length of a step with ideal durations, ns.
  void finish(double ideal);

  /// Whether the length of a set is a bound: it is at most that.
  bool isBound(std::size_t set) const { return whatIfOf_[set] == kNoWhatIf; }
  /// The mean length of a step in the what-if of a set, ns. Not before finish().
  double length(std::size_t set) const {
    return isBound(set) ? ideal_ + deviations_[set] : lengths_[whatIfOf_[set]];
  }

 private:
  static constexpr std::size_t kNoWhatIf = ~std::size_t{0};

  void addDeviations(const JobGraph& graph, const RunWork& runWork, std::uint32_t rank,
                     std::vector<double>& deviations) const;

  SetTimes::SetOf setOf_;
  std::vector<double> deviations_;     // by set, mean of a step, ns; none where they are few
  std::vector<std::size_t> whatIfOf_;  // by set; kNoWhatIf: a bound
  std::size_t whatIfs_ = 0;
  std::vector<double> lengths_;              // by what-if, mean of a step, ns
  std::vector<std::vector<double>> byStep_;  // those of the steps
  double ideal_ = 0;
};

}  // namespace pipetrace
