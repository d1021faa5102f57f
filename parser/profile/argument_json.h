#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trace/timeline.h"

namespace pipetrace {

/// The arguments of an event as one JSON object, in their order; empty when it has none. A key that
/// came before is written as `arg.<position>.<key>`. A number that is not finite is written as
/// `real.<position>.<key>` with the text "inf", "-inf" or "nan".
std::string argumentsToJson(const Timeline& timeline, const Event& event);

/// The inverse. False, with nothing appended, when `json` is no object of numbers and texts.
bool argumentsFromJson(std::string_view json, StringTable& strings, std::vector<Argument>& list);

/// The key after `prefix` and a position (`arg.2.key`); nothing when the key has another form.
std::optional<std::string_view> escapedKey(std::string_view key, std::string_view prefix);

}  // namespace pipetrace
