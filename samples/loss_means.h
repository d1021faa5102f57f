#pragma once

#include <string>
#include <vector>

namespace pipetrace {

/// Says how far losses have fallen: "mean loss of the first 10 steps 4.1, of the last 10 steps 2.3
/// (0.56 of it)". It takes the halves if there are fewer than 20. Losses that are no finite numbers
/// do not count. "" for fewer than two.
std::string meansOf(const std::vector<double>& losses);

}  // namespace pipetrace
