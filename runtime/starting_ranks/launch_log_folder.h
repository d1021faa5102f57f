#pragma once

#include <string>
#include <string_view>

namespace pipetrace {

/// Makes the folder if it is missing, and removes the regular files in it that are called
/// workerlog.<number>, of all ranks. A log that an earlier run with more ranks left there would be
/// read as part of this run. The ring files of killed ranks go too, as they mean nothing without
/// their logs. Either all of these are removed or, if one cannot be, none. Nothing else is touched.
/// Returns the number of removed files. Throws Error.
int clearLogFolder(const std::string& folder);

/// Whether a file's name is that of a rank's log or of a ring file beside it.
bool isWorkerLog(std::string_view name);
/// Whether a file's name is that of a ring file beside a rank's log: workerlog.<number>.ring, or
/// workerlog.<number>.<number>.ring.
bool isRingFile(std::string_view name);

}  // namespace pipetrace
