#pragma once

#include "viewer/window/viewer_options.h"

namespace pipetrace {

/// Exports a picture, without a display, or opens the window and returns when it is closed. Returns
/// the exit code. Diagnostics go to stderr when it exports, else into the window. Throws Error when
/// it fails. Call it once, from the main thread.
int runViewer(const ViewerOptions& options, const char* program);

}  // namespace pipetrace
