#pragma once

#include <string_view>

#include "trace/event.h"

namespace pipetrace {

/// The `cname` of an event: one of the names that Catapult reserves (it throws on any other, and
/// Perfetto takes no notice). Empty: let the viewer choose.
std::string_view chromeColor(const Event& event);

}  // namespace pipetrace
