#pragma once

#include <string>
#include <string_view>

#include "analysis/costs/given_costs.h"

namespace pipetrace {

/// Reads a costs file (docs/schedules.md): one JSON object, whose keys end in their unit. The keys
/// of what a stage costs (forward_ms, backward_ms, backward_input_ms, backward_weight_ms,
/// forward_backward_ms, activation_bytes, freed_by_input_bytes, weights_bytes, message_bytes) hold
/// one number for all virtual stages or an array with one for each; transfer_ms, lr_ms,
/// optimizer_ms and bandwidth_gbs (1e9 bytes a second) hold a number. Times are read digit by
/// digit, to the nanosecond. `//` and `/* */` comments are passed over.
///
/// Throws Error with `name`, and with line and column for what is no JSON, with the key for what is
/// no cost: an unknown or doubled key, a negative number, a bandwidth of 0, a time with an
/// exponent, bytes that are not whole, a null in an array.
GivenCosts readCostsFile(std::string_view text, const std::string& name);

/// The costs as a file that readCostsFile() reads back to the same.
std::string toCostsFile(const GivenCosts& given);

}  // namespace pipetrace
