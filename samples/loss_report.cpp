#include "samples/loss_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <numeric>
#include <string>

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
  const std::string which = count == 1 ? "step" : fmt::format("{} steps", count);
  const std::string share = first > 0 ? fmt::format(" ({:.2f} of it)", last / first) : "";
  fmt::print("mean loss of the first {0} {1:.4f}, of the last {0} {2:.4f}{3}\n", which,
             first / steps, last / steps, share);
  std::fflush(stdout);
}

}  // namespace pipetrace
