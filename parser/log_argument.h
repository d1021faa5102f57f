#pragma once

#include <string_view>

#include "trace/event.h"
#include "trace/strings/string_table.h"

namespace pipetrace {

/// Makes an argument of a key and its value in a log. The value becomes a number if that number
/// prints as the same text, so that nothing is lost. Otherwise, or if it was `quoted`, it is a
/// text.
Argument argumentFromLog(std::string_view key, std::string_view value, bool quoted,
                         StringTable& strings);
/// The same with a key that `strings` has.
Argument argumentFromLog(StringId key, std::string_view value, bool quoted, StringTable& strings);

}  // namespace pipetrace
