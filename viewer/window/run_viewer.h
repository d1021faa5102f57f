#pragma once

#include <string>
#include <vector>

#include "analysis/run/clocks/alignment.h"
#include "viewer/export/export_picture.h"

namespace pipetrace {

/// The task of pipe-view, as its command line gives it.
struct ViewerOptions {
  std::vector<std::string> inputs;
  std::string with;                ///< a second run to compare with; or empty
  AlignBy align = AlignBy::kBest;  ///< as for loadProfile()
  bool follow = false;             ///< the run goes on
  std::string find;                ///< a query (parseQuery()) whose first match is shown; or empty
  ExportOptions picture;           ///< picture.path is empty: open a window
  bool isSample = false;           ///< a simulated run in place of inputs
  bool isFresh = false;            ///< the window does not come back as it was left
};

/// Exports a picture, without a display, or opens the window and returns when it is closed. Returns
/// the exit code. Diagnostics go to stderr when it exports, else into the window. Throws Error when
/// it fails. Call it once, from the main thread.
int runViewer(const ViewerOptions& options, const char* program);

}  // namespace pipetrace
