#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "parser/chrome/share.h"

namespace pipetrace {

/// Adds the elements of an array of Chrome events to `share`, from a text that begins with one of
/// them, or with what stands between two. Returns how many bytes they are, with what is between and
/// behind them: all, or up to where something else begins, or an element that does not end there.
/// `line`: of the begin of the text.
std::size_t readChromeElements(std::string_view text, std::int64_t line, ChromeShare& share);

/// Adds one element that begins in that line.
void readChromeElement(std::string_view text, std::int64_t line, ChromeShare& share);

}  // namespace pipetrace
