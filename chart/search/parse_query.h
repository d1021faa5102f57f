#pragma once

#include <string_view>

#include "chart/search/search_query.h"

namespace pipetrace {

/// Reads a query: words and parts like `step:3..5`, with blanks between them. All must hold.
///
/// - `forward`, `"my kernel"`: the name or the kind has this text in it; so has `2F5`, the forward
///   pass of micro-batch 5 on stage 2
/// - `kind:forward`, `class:imbalance`, `phase:evaluate` (or training, predict), `lane:send`,
///   `name:nccl`
/// - `step:12`, `step:3..5`, `rank:0,2,8..`; numbers of mb, stage, chunk, peer, id as well
/// - `longer:2ms`, `shorter:50us`, `at:401.5ms` (after the start of the run)
///
/// Letters may be upper or lower case. Throws Error, which names the bad part and lists what can be
/// written. An empty query allows everything.
SearchQuery parseQuery(std::string_view text);

/// Returns a duration with its unit, as in "2ms" or "1.5 s"; nothing for other texts.
std::optional<Nanoseconds> parseDuration(std::string_view text);

}  // namespace pipetrace
