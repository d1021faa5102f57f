#include "parser/device_time/overlap.h"

#include <algorithm>

namespace pipetrace {

bool doOverlap(std::vector<Timeline::Span> spans) {
  constexpr Nanoseconds kPart = 100;
  std::sort(spans.begin(), spans.end(),
            [](const auto& a, const auto& b) { return a.begin < b.begin; });
  Nanoseconds all = 0;
  Nanoseconds hidden = 0;
  Nanoseconds upTo = kNsMin;
  for (const Timeline::Span& span : spans) {
    all += span.end - span.begin;
    if (upTo > span.begin) hidden += std::min(upTo, span.end) - span.begin;
    upTo = std::max(upTo, span.end);
  }
  return hidden > all / kPart;
}

}  // namespace pipetrace
