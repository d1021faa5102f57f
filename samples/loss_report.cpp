#include "samples/loss_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>

#include "runtime/engine/say.h"

namespace pipetrace {

void LossReport::add(int step, double loss, double seconds, const std::string& note) {
  if (std::isfinite(loss)) losses_.push_back(loss);
  std::string speed;
  if (itemsPerStep_ > 0 && seconds > 0) {
    speed = fmt::format(", {:.0f} {}/s", itemsPerStep_ / seconds, itemName_);
  }
  sayOnStdout(fmt::format("step {} loss {:.4f}{}{}", step, loss, speed, note));
}

void LossReport::close() const {
  const auto count = std::min<std::ptrdiff_t>(10, static_cast<std::ptrdiff_t>(losses_.size() / 2));
  if (count == 0) return;
  const double first = std::accumulate(losses_.begin(), losses_.begin() + count, 0.0);
  const double last = std::accumulate(losses_.end() - count, losses_.end(), 0.0);
  const auto steps = static_cast<double>(count);
  const std::string which = count == 1 ? "step" : fmt::format("{} steps", count);
  const std::string share = first > 0 ? fmt::format(" ({:.2f} of it)", last / first) : "";
  sayOnStdout(fmt::format("mean loss of the first {0} {1:.4f}, of the last {0} {2:.4f}{3}", which,
                          first / steps, last / steps, share));
}

}  // namespace pipetrace
