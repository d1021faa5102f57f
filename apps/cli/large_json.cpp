#include "apps/cli/large_json.h"

#include <fmt/format.h>

namespace pipetrace {

std::string adviceOnSize(const std::string& path, std::int64_t bytes, std::int64_t limit) {
  if (bytes < limit) return {};
  constexpr double kGiga = 1e9;
  return fmt::format(
      "{}: note: it is {:.1f} GB, and Perfetto's UI stops near 2 GB; --steps A:B and --ranks LIST "
      "write a part of the run, --no-flows leaves the arrows out, and as NAME.pftrace it is "
      "smaller\n",
      path, static_cast<double>(bytes) / kGiga);
}

}  // namespace pipetrace
