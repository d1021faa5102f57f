#pragma once

#include <string>
#include <vector>

#include "analysis/clocks/alignment.h"
#include "viewer/export/export_options.h"

namespace pipetrace {

/// The task of pipe-view, as its command line gives it.
struct ViewerOptions {
  std::vector<std::string> inputs;
  AlignBy align = AlignBy::kBest;  ///< as for loadProfile()
  bool follow = false;             ///< the run goes on
  ExportOptions picture;           ///< picture.path is empty: open a window
};

}  // namespace pipetrace
