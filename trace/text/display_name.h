#pragma once

#include <string>

#include "trace/timeline.h"

namespace pipetrace {

/// The text that a viewer writes on an event: the event's name, or FallbackName where it has none.
std::string displayName(const Timeline& timeline, const Event& event);

/// The pipeline literature's short form: "F3", "B3", "I3", "W3"; empty for kinds that have none.
std::string shortName(const Event& event);

/// The name of an action of a plan, as schedule files write it: the stage and the short form, such
/// as "1F2". Only the short form where the stage is not known.
std::string actionName(const Event& event);
std::string actionName(int stage, const std::string& shortForm);

}  // namespace pipetrace
