#pragma once

#include "viewer/viewer_options.h"

namespace pipetrace {

/// Exports a picture, without a display, or opens the window and returns when it is closed. Returns
/// the exit code; what is wrong with the input goes to stderr when exporting and into the window
/// otherwise. Throws Error when it could not. Call it once, from the main thread.
int runViewer(const ViewerOptions& options, const char* program);

}  // namespace pipetrace
