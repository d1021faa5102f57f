#pragma once

#include <string_view>

#include "trace/argument.h"
#include "trace/string_table.h"

namespace pipetrace {

/// The argument that a key and its value in a log are: a number where it prints as it stands there,
/// so that keeping the number loses nothing; else, or where it was `quoted`, a text.
Argument argumentFromLog(std::string_view key, std::string_view value, bool quoted,
                         StringTable& strings);

}  // namespace pipetrace
