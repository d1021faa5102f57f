#pragma once

#include <optional>
#include <string_view>

#include "schedule/action.h"

namespace pipetrace {

/// Far above any plan, and low enough that stages times micro-batches cannot overflow.
inline constexpr int kLargestPlanNumber = 9'999'999;

/// The inverse of toText(Action); nothing for a text that is not exactly that. Numbers go up to
/// kLargestPlanNumber. The cell of a part, "3B7.0", does not say how many there are. Data-parallel
/// work is "0REDUCE_GRAD", "3UNSHARD", "3RESHARD", with or without a micro-batch.
std::optional<Action> parseAction(std::string_view cell);

/// The number at the front of `text`, taken off it: digits only, up to kLargestPlanNumber.
std::optional<int> takeNumber(std::string_view& text);

}  // namespace pipetrace
