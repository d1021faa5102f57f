#include "parser/foreign/kineto/step_spans.h"

#include <algorithm>

#include "trace/threads/in_parallel.h"

namespace pipetrace {

StepSpans::StepSpans(const ForeignTrace& trace, const KinetoWords& words) {
  std::vector<std::vector<Span>> found(trace.lanes.size());
  inParallel(trace.threads, found.size(), [&](std::size_t lane) {
    for (const Event& event : trace.lanes[lane].thread->events) {
      if (const auto step = words.stepOf(event)) {
        found[lane].push_back({event.begin, event.end, *step});
      }
    }
  });
  for (const auto& spans : found) spans_.insert(spans_.end(), spans.begin(), spans.end());
  std::sort(spans_.begin(), spans_.end(),
            [](const Span& a, const Span& b) { return a.begin < b.begin; });
}

std::int32_t StepSpans::at(Nanoseconds time) const {
  const auto next = std::partition_point(spans_.begin(), spans_.end(),
                                         [&](const Span& s) { return s.begin <= time; });
  if (next == spans_.begin()) return kNotGiven;
  const Span& span = *std::prev(next);
  return time < span.end ? span.step : kNotGiven;
}

}  // namespace pipetrace
