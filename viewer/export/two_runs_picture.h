#pragma once

#include <memory>

#include "viewer/export/export_picture.h"

namespace pipetrace {

/// Two runs below each other, options.second under `a`, with what is said of both on top. A step of
/// one stands above a step of the other, at one time scale: the median steps, unless the options
/// choose. Columns of steps have no common scale. Refers to both profiles. Throws Error as
/// drawingOf() does; it names the run where only one has no such steps.
std::unique_ptr<Drawing> bothRuns(const LoadedProfile& a, const ExportOptions& options);

}  // namespace pipetrace
