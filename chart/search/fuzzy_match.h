#pragma once

#include <optional>
#include <string_view>

namespace pipetrace {

/// How well a text fits what someone typed, in a list to choose from; nothing if it does not. All
/// letters that were typed are in the text, in their order: "zo ou" fits "Zoom out". Larger is
/// better: letters side by side and at the beginnings of words count more, and short texts win.
/// Upper and lower case are the same. An empty `typed` fits all texts equally.
std::optional<int> fuzzyMatch(std::string_view typed, std::string_view text);

}  // namespace pipetrace
