#include "apps/cli/shared_options.h"

#include <algorithm>
#include <array>

namespace pipetrace {

bool isOldSpelling(std::string_view name) {
  static constexpr std::array<std::string_view, 1> kOld = {"--stages"};
  return std::find(kOld.begin(), kOld.end(), name) != kOld.end();
}

}  // namespace pipetrace
