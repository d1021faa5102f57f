#pragma once

#include <string_view>

namespace pipetrace {

/// Whether `a` comes before `b` when runs of digits count as numbers: machine2 before machine10. A
/// strict order: texts that differ only in leading zeros are ordered by their bytes.
bool naturallyBefore(std::string_view a, std::string_view b);

}  // namespace pipetrace
