#pragma once

#include <string>

#include "trace/timeline.h"

namespace pipetrace {

/// What a viewer writes on an event: its own name if it has one, else its MadeUpName.
std::string displayName(const Timeline& timeline, const Event& event);

/// The pipeline literature's short form: "F3", "B3", "I3", "W3"; empty for kinds that have none.
std::string shortName(const Event& event);

}  // namespace pipetrace
