#pragma once

#include <cstdint>

#include "trace/output_file.h"
#include "trace/timeline.h"

namespace pipetrace {

/// What went into a profile, in the terms of the two front ends.
struct ChromeSummary {
  std::int64_t jobs = 0;       ///< slices of the compute lanes
  std::int64_t transfers = 0;  ///< slices of the other lanes, bubbles apart
  std::int64_t bubbles = 0;
  std::int64_t arrows = 0;    ///< as Perfetto counts them: rows of its table `flow`
  std::int64_t counters = 0;  ///< samples
};

struct ChromeOptions {
  bool flows = true;
  bool absoluteTime = false;  ///< `ts` counts from the Unix epoch, not from the first event
  int threads = 0;  ///< how many may write; 0: one per core. What is written does not depend on it.
};

/// Writes the Chrome Trace Event JSON of design section 6 (docs/profile-format.md): loads unchanged
/// in chrome://tracing and Perfetto, and readChromeJson() gets the same timeline back.
/// `timeline` must be sorted. The caller commits `out`. Throws Error as profileOrigin() does.
ChromeSummary writeChromeJson(const Timeline& timeline, const ChromeOptions& options,
                              OutputFile& out);

}  // namespace pipetrace
