#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "trace/timeline.h"

namespace pipetrace {

/// The arguments of an event as one JSON object, in their order; empty when it has none. A key that
/// was there already is written as `arg.<position>.<key>`, a number that is not finite as
/// `real.<position>.<key>` with the text "inf", "-inf" or "nan".
std::string argumentsToJson(const Timeline& timeline, const Event& event);

/// The inverse. False, and nothing appended, when `json` is no object of numbers and texts.
bool argumentsFromJson(std::string_view json, StringTable& strings, std::vector<Argument>& list);

}  // namespace pipetrace
