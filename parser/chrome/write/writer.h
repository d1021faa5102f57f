#pragma once

#include "parser/profile/profile_summary.h"
#include "trace/files/output_file.h"
#include "trace/timeline.h"

namespace pipetrace {

struct ChromeOptions {
  bool flows = true;
  /// `ts` counts from midnight (UTC) before the first event, not from that event.
  /// `baseTimeNanoseconds` is the time of that midnight since the Unix epoch.
  bool absoluteTime = false;
  int threads = 0;  ///< how many may write; 0: one per core. The output does not depend on it.
};

/// Writes the Chrome Trace Event JSON of docs/profile-format.md. It loads unchanged in
/// chrome://tracing and Perfetto, and ChromeJsonReader gets the same timeline back. `timeline` must
/// be sorted. The caller commits `out`. Throws Error as profileOrigin() does.
ProfileSummary writeChromeJson(const Timeline& timeline, const ChromeOptions& options,
                               OutputFile& out);

}  // namespace pipetrace
