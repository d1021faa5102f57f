#pragma once

#include <string>
#include <vector>

#include "viewer/export_options.h"

namespace pipetrace {

/// What pipe-view was asked to do.
struct ViewerOptions {
  std::vector<std::string> inputs;
  ExportOptions picture;  ///< picture.path is empty: open a window
};

}  // namespace pipetrace
