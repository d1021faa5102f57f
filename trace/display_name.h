#pragma once

#include <string>

#include "trace/timeline.h"

namespace pipetrace {

/// The text that a viewer writes on an event: the event's name, or MadeUpName where it has none.
std::string displayName(const Timeline& timeline, const Event& event);

/// The pipeline literature's short form: "F3", "B3", "I3", "W3"; empty for kinds that have none.
std::string shortName(const Event& event);

}  // namespace pipetrace
