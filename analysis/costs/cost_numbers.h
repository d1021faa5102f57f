#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "analysis/costs/cost_json.h"
#include "trace/nanoseconds.h"

namespace pipetrace {

/// Throws Error with what is wrong with a value: "is text, not a number".
using CostFailure = std::function<void(const std::string& what)>;

constexpr std::string_view kFreedByInput = "freed_by_input_bytes";

/// Reads the number of a key in a costs file, from its digits: a time in ms for keys that end in
/// "_ms", else a whole number. Only kFreedByInput may be negative. `other`: what may stand there in
/// place of a number, for the failure, such as " or an array of numbers".
std::int64_t costIn(std::string_view key, const CostJson& value, const CostFailure& fail,
                    const char* other = "");

/// A link's bandwidth in bytes a second, of a number in GB/s. It is finite and above 0.
double bandwidthIn(const CostJson& value, const CostFailure& fail);
constexpr double kBandwidthUnit = 1e9;  ///< bytes a second

/// Milliseconds as text, such as "10" or "0.25".
std::string milliseconds(Nanoseconds time);

}  // namespace pipetrace
