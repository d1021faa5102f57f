#pragma once

#include "parser/chrome_event.h"
#include "trace/timeline.h"

namespace pipetrace {

/// The event that a Chrome event with a name, a category and arguments describes: the inverse of
/// what appendChromeEvent() makes of it, times apart. Strings and arguments go into `timeline`.
Event eventFromChrome(const ChromeEvent& source, Timeline& timeline);

}  // namespace pipetrace
