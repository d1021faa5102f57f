#pragma once

#include <string>
#include <vector>

#include "trace/files/output_set.h"
#include "trace/timeline.h"

namespace pipetrace {

/// Throws Error where the folder of --pipeline-logger is an input folder, or in one: there its
/// files would be read as part of the run the next time. Also where one of its files is an input.
void requireOutside(const std::string& folder, const std::vector<std::string>& inputs);

/// The files of that name which a folder holds already.
std::vector<std::string> pipelineLoggersIn(const std::string& folder);

/// Adds the file of each rank of a run to `files`. Returns the line to print. Throws Error where
/// the folder holds such a file of a rank that the run does not have.
std::string addPipelineLoggers(const Timeline& timeline, const std::string& folder,
                               OutputSet& files);

}  // namespace pipetrace
