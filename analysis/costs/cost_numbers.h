#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <string>
#include <string_view>

#include "trace/nanoseconds.h"

namespace pipetrace {

/// Reads the number of a key in a costs file, from its digits: a time in ms for keys that end in
/// "_ms", else a whole number. It is not negative. Calls `fail`, which throws, with what is wrong:
/// "is 1e3, which is no time …".
std::int64_t costIn(std::string_view key, const std::string& text,
                    const std::function<void(const std::string& what)>& fail);

/// Milliseconds as text, such as "10" or "0.25".
std::string milliseconds(Nanoseconds time);

/// "costs.json: invalid JSON at line 1, column 2: …", of a parse error of nlohmann::json.
std::string invalidJson(const std::string& name, const std::exception& error);

}  // namespace pipetrace
