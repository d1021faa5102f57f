#pragma once

#include <cstdint>
#include <vector>

#include "parser/foreign/kineto/categories.h"

namespace pipetrace {

/// The spans of training steps, as `ProfilerStep#7` gives them.
class StepSpans {
 public:
  StepSpans(const ForeignTrace& trace, const KinetoWords& words);

  bool empty() const { return spans_.empty(); }

  /// The number of the step at that time, or kNotGiven.
  std::int32_t at(Nanoseconds time) const;

 private:
  struct Span {
    Nanoseconds begin = 0;
    Nanoseconds end = 0;
    std::int32_t step = 0;
  };
  std::vector<Span> spans_;  // by begin
};

}  // namespace pipetrace
