#pragma once

#include <string>
#include <string_view>

#include "analysis/run/costs/given_costs.h"

namespace pipetrace {

/// Reads a costs file (docs/schedules.md): one JSON object, whose keys end in their unit.
/// - Costs of a stage hold one number for all virtual stages, or an array. They are
///   forward_ms, backward_ms, backward_input_ms, backward_weight_ms, forward_backward_ms,
///   recompute_ms, reduce_ms, activation_bytes, freed_by_input_bytes, recomputed_bytes,
///   working_bytes, weights_bytes, message_bytes.
/// - jobs_ms holds an object of single jobs by their cell in the plan, such as {"2F5": 7.5}: their
///   times in every step, in place of those of their stage. Data-parallel ones, such as
///   "2UNSHARD", take no time without that.
/// - The others hold a number: transfer_ms, lr_ms, optimizer_ms, bandwidth_gbs (1e9 bytes a
///   second).
///
/// Times are read digit by digit, to the nanosecond. `//` and `/* */` comments are skipped.
///
/// Throws Error, whose text begins with `name`. For invalid JSON it names line and column, else the
/// key. Errors are: an unknown or doubled key, a negative number, a bandwidth of 0, a time
/// with an exponent, a fraction of a byte, a null in an array.
GivenCosts readCostsFile(std::string_view text, const std::string& name);

/// Writes the costs as a file that readCostsFile() reads back to the same costs.
std::string toCostsFile(const GivenCosts& given);

}  // namespace pipetrace
