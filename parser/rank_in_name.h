#pragma once

#include <optional>
#include <string_view>

namespace pipetrace {

/// The rank in the name of a file that has one behind the last "rank": `app_rank3.json`,
/// `trace.rank-12.log`. Folders do not count.
std::optional<int> rankInName(std::string_view path);

}  // namespace pipetrace
