#pragma once

#include <string>

namespace pipetrace {

/// Makes SIGINT, SIGTERM and SIGHUP remove what OutputFiles of this process have begun and not
/// committed, and then end the process as they would have. A signal that is ignored stays ignored.
/// Call once, first thing in main().
void removeUnfinishedFilesOnSignals();

/// Remembers `path` for that; returns what forgetUnfinishedFile() wants, -1 if there is no room.
/// OutputFile calls these two; any thread may.
int rememberUnfinishedFile(const std::string& path);
void forgetUnfinishedFile(int slot);

}  // namespace pipetrace
