#pragma once

#include "viewer/viewer_options.h"

namespace CLI {
class App;
}

namespace pipetrace {

/// Declares pipe-view's options on `app`, which fills in `options` when it parses.
void addPipeViewOptions(CLI::App& app, ViewerOptions& options);

}  // namespace pipetrace
