#pragma once

#include "parser/chrome/event.h"
#include "trace/timeline.h"

namespace pipetrace {

/// Makes an event from the name, category and arguments of a Chrome event: the inverse of
/// ChromeEventText, times apart. `kind` is the kind that the category names. Strings and arguments
/// go into `timeline`.
Event eventFromChrome(const ChromeEvent& source, JobKind kind, Timeline& timeline);

}  // namespace pipetrace
