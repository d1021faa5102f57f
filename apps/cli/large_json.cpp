#include "apps/cli/large_json.h"

#include <fmt/format.h>

namespace pipetrace {

std::string adviceOnSize(const std::string& path, std::int64_t bytes, std::int64_t limit) {
  if (bytes < limit) return {};
  constexpr double kGiga = 1e9;
  return fmt::format(
      "{}: note: it is {:.1f} GB, and Perfetto's UI stops near 2 GB. To get a smaller file, write "
      "a "
      "part of the run (--steps A:B, --ranks LIST), leave the arrows out (--no-flows), or write "
      "NAME.pftrace\n",
      path, static_cast<double>(bytes) / kGiga);
}

}  // namespace pipetrace
