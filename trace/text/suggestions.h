#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace pipetrace {

/// The name that was most likely meant, or an empty text. Up to four letters, one may be off, and
/// in longer names two. A letter is off when it is added, left out, changed, or swapped with its
/// neighbour. The first of several such names counts.
std::string nearestName(std::string_view typed, const std::vector<std::string>& names);

/// The option that was most likely meant by `typed` ("--out"), or an empty text. `names` are with
/// their dashes, too, but dashes do not count. The shortest name that begins with what was typed
/// comes first, then the nearest name. Then come the longest name that is some words of it
/// (--num-ranks) and the shortest name of which it is some words (--batches).
std::string nearestOption(std::string_view typed, const std::vector<std::string>& names);

}  // namespace pipetrace
