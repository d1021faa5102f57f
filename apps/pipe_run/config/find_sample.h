#pragma once

#include <string>

#include "runtime/engine/config/run_config.h"

namespace pipetrace {

/// The program of a configuration file: `directory` itself if it is an executable file, from the
/// working folder or the file's. Else the sample of that name (`bert`, or the last part of
/// `models/bert`), sample-bert, in `samples`. Where `directory` is but a folder, `model_type` names
/// the sample. Throws Error as "FILE:LINE: …" with the samples that
/// there are.
std::string programOf(const RunConfig& config, const std::string& samples);

/// The folder of this program, where its samples are.
std::string ownFolder();

}  // namespace pipetrace
