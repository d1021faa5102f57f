#include "analysis/costs/cost_numbers.h"

#include <cmath>
#include <optional>

#include "trace/text/decimal_time.h"

namespace pipetrace {
namespace {

void requireNumber(const CostJson& value, const CostFailure& fail, const char* other) {
  if (value.isA(CostJson::Kind::kNumber)) return;
  fail("is " + std::string(value.whatItIs()) + ", not a number" + other);
}

}  // namespace

std::int64_t costIn(std::string_view key, const CostJson& value, const CostFailure& fail,
                    const char* other) {
  // A plan adds up thousands of them.
  constexpr std::int64_t kLargest = kNsMax / 1'000'000;
  requireNumber(value, fail, other);
  const std::string& text = value.text;
  const bool mayBeNegative = key == kFreedByInput;
  if (value.number < 0 && !mayBeNegative) fail("is " + text + "; no cost is negative");
  const bool isTime = key.ends_with("_ms");
  const std::optional<std::int64_t> cost = parseDecimalTime(text, isTime ? kNsPerMs : 1);
  const bool hasPoint = text.find('.') != std::string::npos;
  const bool isInRange = cost && *cost <= kLargest && *cost >= (mayBeNegative ? -kLargest : 0);
  if (isInRange && (isTime || !hasPoint)) return *cost;
  fail("is " + text + ", which is no " +
       (isTime ? "time in milliseconds; write it like 10 or 0.25, up to " + milliseconds(kLargest)
               : std::string("whole number") + (key.ends_with("_bytes") ? " of bytes" : "")));
  return 0;
}

double bandwidthIn(const CostJson& value, const CostFailure& fail) {
  requireNumber(value, fail, "");
  const double bandwidth = value.number * kBandwidthUnit;
  if (!(bandwidth > 0 && std::isfinite(bandwidth))) {
    fail("is " + value.text +
         (value.number < 0 ? "; no cost is negative"
                           : "; a bandwidth is finite and above 0, or left out"));
  }
  return bandwidth;
}

std::string milliseconds(Nanoseconds time) {
  std::string text;
  appendMilliseconds(text, time);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text;
}

}  // namespace pipetrace
