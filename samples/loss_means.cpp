#include "samples/loss_means.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>

namespace pipetrace {

std::string meansOf(const std::vector<double>& losses) {
  std::vector<double> finite;
  std::copy_if(losses.begin(), losses.end(), std::back_inserter(finite),
               [](double loss) { return std::isfinite(loss); });
  const auto count = std::min<std::ptrdiff_t>(10, static_cast<std::ptrdiff_t>(finite.size() / 2));
  if (count == 0) return "";
  const double first = std::accumulate(finite.begin(), finite.begin() + count, 0.0);
  const double last = std::accumulate(finite.end() - count, finite.end(), 0.0);
  const auto steps = static_cast<double>(count);
  const std::string which = count == 1 ? "step" : fmt::format("{} steps", count);
  const std::string share = first > 0 ? fmt::format(" ({:.2f} of it)", last / first) : "";
  return fmt::format("mean loss of the first {0} {1:.4f}, of the last {0} {2:.4f}{3}", which,
                     first / steps, last / steps, share);
}

}  // namespace pipetrace
