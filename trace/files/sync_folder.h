#pragma once

#include <string>

namespace pipetrace {

/// Has the disk keep the names that files in `folder` have now: a file that was renamed into it has
/// its new name after a crash of the machine, too. File systems that sync no folders keep names in
/// ways of their own, which is no error. Throws Error for a folder that is missing, or a disk that
/// fails.
void syncFolder(const std::string& folder);

}  // namespace pipetrace
