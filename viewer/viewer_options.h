#pragma once

#include <string>
#include <vector>

#include "viewer/export_options.h"

namespace pipetrace {

/// The task of pipe-view, as its command line gives it.
struct ViewerOptions {
  std::vector<std::string> inputs;
  bool align = true;      ///< as for loadProfile()
  ExportOptions picture;  ///< picture.path is empty: open a window
};

}  // namespace pipetrace
