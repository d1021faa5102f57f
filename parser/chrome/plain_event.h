#pragma once

#include <cstddef>
#include <string_view>

#include "parser/chrome/event.h"

namespace pipetrace {

/// Reads by hand the event that `text` begins with, if it is plain, as nearly all are: one object
/// of texts without escapes, of numbers without exponents and of words, with one object of the same
/// under "args". Returns its length; 0, with `event` of no use, for any other, and where the text
/// ends before it. Whatever it reads, parseChromeEvent() reads the same.
std::size_t readPlainChromeEvent(std::string_view text, ChromeEvent& event);

}  // namespace pipetrace
