#pragma once

#include <cstddef>
#include <string_view>

#include "parser/chrome/event.h"

namespace pipetrace {

/// Reads by hand the event that `text` begins with, if it is plain, as nearly all events are. A
/// plain event is one object of texts without escapes, numbers without exponents and words, with
/// one such object under "args". Returns its length. Returns 0, and leaves `event` unusable, for
/// any other event, and where the text ends before the event. From each text that it reads,
/// parseChromeEvent() reads the same.
std::size_t readPlainChromeEvent(std::string_view text, ChromeEvent& event);

}  // namespace pipetrace
