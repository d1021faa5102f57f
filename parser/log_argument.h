#pragma once

#include <string_view>

#include "trace/argument.h"
#include "trace/string_table.h"

namespace pipetrace {

/// Makes an argument from a key and its value in a log. It is a number where the number prints as
/// the value stands there, so that nothing is lost; else, or where it was `quoted`, a text.
Argument argumentFromLog(std::string_view key, std::string_view value, bool quoted,
                         StringTable& strings);

}  // namespace pipetrace
