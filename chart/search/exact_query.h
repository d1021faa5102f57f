#pragma once

#include <string>
#include <string_view>

#include "trace/timeline.h"

namespace pipetrace {

/// A query that finds exactly this event of the run: "rank:3 step:12 kind:forward mb:2". It is as
/// short as the run allows. A bubble is found by its class and a time at which it lasts, whether
/// the timeline has it or not. Takes time linear in the events of the rank. The timeline must be
/// sorted. Events that are the same in all that a query knows are found together.
std::string exactQuery(const Timeline& timeline, int rank, std::string_view lane,
                       const Event& event);

}  // namespace pipetrace
