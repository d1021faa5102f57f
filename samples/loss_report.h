#pragma once

#include <string>
#include <utility>
#include <vector>

namespace pipetrace {

/// Prints the losses of a run as they come, and at the end how far they fell.
class LossReport {
 public:
  /// A step trains on that number of `itemName` ("tokens"). 0: lines have no speed.
  explicit LossReport(double itemsPerStep = 0, std::string itemName = "")
      : itemsPerStep_(itemsPerStep), itemName_(std::move(itemName)) {}

  /// "step 12 loss 2.3105, 9876 tokens/s", flushed, so that a launcher shows it at once. `seconds`:
  /// what the step took. `note` ends the line. A loss that is no finite number is in no mean.
  void add(int step, double loss, double seconds, const std::string& note = "");
  /// The means of the first and the last steps (10, or half of them if there are fewer than 20).
  void close() const;
  const std::vector<double>& losses() const { return losses_; }

 private:
  double itemsPerStep_;
  std::string itemName_;
  std::vector<double> losses_;
};

}  // namespace pipetrace
