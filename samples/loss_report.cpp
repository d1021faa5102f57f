#include "samples/loss_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <numeric>

namespace pipetrace {

void LossReport::add(int step, double loss) {
  losses_.push_back(loss);
  fmt::print("step {} loss {:.4f}\n", step, loss);
  std::fflush(stdout);
}

void LossReport::close() const {
  const auto count = std::min<std::ptrdiff_t>(10, static_cast<std::ptrdiff_t>(losses_.size() / 2));
  if (count == 0) return;
  const double first = std::accumulate(losses_.begin(), losses_.begin() + count, 0.0);
  const double last = std::accumulate(losses_.end() - count, losses_.end(), 0.0);
  const auto steps = static_cast<double>(count);
  fmt::print("mean loss of the first {0} steps {1:.4f}, of the last {0} {2:.4f} ({3:.2f} of it)\n",
             count, first / steps, last / steps, last / first);
  std::fflush(stdout);
}

}  // namespace pipetrace
