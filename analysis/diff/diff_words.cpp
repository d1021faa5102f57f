#include "analysis/diff/diff_words.h"

#include <cmath>
#include <cstdlib>

#include "trace/text/decimal_time.h"
#include "trace/text/factor_text.h"
#include "trace/text/fixed_text.h"

namespace pipetrace {

std::string jobsText(JobKind kind) {
  switch (kind) {
    case JobKind::kForward: return "forwards";
    case JobKind::kBackward: return "backwards";
    case JobKind::kBackwardInput: return "input halves of backwards";
    case JobKind::kBackwardWeight: return "weight halves of backwards";
    case JobKind::kForwardBackward: return "fused pairs";
    case JobKind::kRecompute: return "recomputations";
    default: return "jobs";
  }
}

std::string shareOf(double share) { return fixedText(100 * std::abs(share), 1) + " %"; }

std::string signedShare(double share) {
  const std::string text = shareOf(share);
  return (text == "0.0 %" ? "" : share < 0 ? "-" : "+") + text;
}

std::string signedTime(Nanoseconds time) {
  return (time == 0 ? "" : time < 0 ? "-" : "+") + formatDuration(std::abs(time));
}

std::string takesText(double factor) {
  if (factor >= 2) return "take " + factorText(factor) + " times as long";
  return "take " + shareOf(factor - 1) + (factor < 1 ? " less time" : " longer");
}

std::string intervalText(const std::optional<Sureness>& sure, double whole) {
  if (!sure || whole <= 0) return {};
  const auto text = [&](double value) {
    const std::string share = fixedText(100 * value / whole, 1);
    return share == "-0.0" ? std::string("0.0") : share;
  };
  return text(sure->low) + " to " + text(sure->high) + " %";
}

std::string placeText(int stage, int position) {
  if (stage >= 0) return "stage " + std::to_string(stage);
  if (position >= 0) return "position " + std::to_string(position);
  return {};
}

std::string moreText(Nanoseconds time) {
  return formatDuration(std::abs(time)) + (time < 0 ? " less" : " more");
}

}  // namespace pipetrace
