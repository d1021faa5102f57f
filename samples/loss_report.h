#pragma once

#include <vector>

namespace pipetrace {

/// Prints the losses of a run as they come, and at the end how far they fell.
class LossReport {
 public:
  /// "step 12 loss 2.3105", flushed, so that a launcher shows it at once.
  void add(int step, double loss);
  /// The means of the first and the last steps (10, or half of them if there are fewer than 20).
  void close() const;
  const std::vector<double>& losses() const { return losses_; }

 private:
  std::vector<double> losses_;
};

}  // namespace pipetrace
