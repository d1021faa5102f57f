#pragma once

#include "parser/profile/profile_summary.h"
#include "trace/files/output_file.h"
#include "trace/timeline.h"

namespace pipetrace {

struct PerfettoOptions {
  bool flows = true;
  bool absoluteTime = false;  ///< times count from the Unix epoch, not from the first event
  int threads = 1;            ///< 0: one per core; what is written does not depend on it
};

/// Writes the Perfetto TrackEvent protobuf of docs/profile-format.md, to the nanosecond. It loads
/// in Perfetto's UI and trace processor, and PerfettoReader gets the same timeline back. It has the
/// same contents as the profile of writeChromeJson(). `timeline` must be sorted. The caller commits
/// `out`. Throws Error as profileOrigin() does.
ProfileSummary writePerfetto(const Timeline& timeline, const PerfettoOptions& options,
                             OutputFile& out);

}  // namespace pipetrace
