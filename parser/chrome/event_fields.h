#pragma once

#include "parser/chrome/event.h"
#include "trace/timeline.h"

namespace pipetrace {

/// The event that a Chrome event with a name, a category and arguments describes: the inverse of
/// what ChromeEventText makes of it, times apart. `kind` is what its category says. Strings and
/// arguments go into `timeline`.
Event eventFromChrome(const ChromeEvent& source, JobKind kind, Timeline& timeline);

}  // namespace pipetrace
