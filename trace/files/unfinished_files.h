#pragma once

#include <string>

namespace pipetrace {

/// Makes SIGINT, SIGTERM and SIGHUP remove what this process has begun to write and not committed:
/// the files of OutputFiles, then the folders that OutputSets made, if they are empty. The process
/// ends as the signal would have ended it. A signal that is ignored stays ignored. Call once, first
/// thing in main().
void removeUnfinishedFilesOnSignals();

/// Remembers `path`, a file or a folder, for that; returns what forgetUnfinishedFile() wants, -1 if
/// the path is too long. OutputFile and OutputSet call these two; any thread may.
int rememberUnfinishedFile(const std::string& path);
void forgetUnfinishedFile(int slot);

}  // namespace pipetrace
