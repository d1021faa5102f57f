#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "trace/files/output_file.h"
#include "trace/files/output_names.h"

namespace pipetrace {

/// Several files that appear together, or not at all: add them, write them, then commit(). Without
/// commit(), and after one that throws, everything is as it was. Old files have their contents, the
/// files to be removed are there, and folders that were made are gone. A signal leaves everything
/// as it was, too, if main() has called removeUnfinishedFilesOnSignals().
///
/// Text that a program prints about its files belongs into the set, too, under the name "-": if it
/// cannot be printed, no file changes.
///
/// There are three limits. A crash between two renames leaves a mixture. On a file system without
/// hard links, a rename that fails cannot bring back the files before it. Bytes that went to
/// standard output or a device cannot be taken back. Not thread-safe.
class OutputSet {
 public:
  OutputSet() = default;
  ~OutputSet();
  OutputSet(const OutputSet&) = delete;
  OutputSet& operator=(const OutputSet&) = delete;

  /// Adds a file to write, which the set owns. Throws Error if the set has that file already, and
  /// when OutputFile does.
  OutputFile& add(const std::string& path);
  /// Adds a file with these contents.
  void add(const std::string& path, std::string_view contents);

  /// Makes a folder and those above it, if they are missing. Throws Error when that fails.
  void makeFolder(const std::string& folder);

  /// Names a file that commit() removes, such as an old file that looks like one of the new files.
  void remove(std::string path) { stale_.push_back(std::move(path)); }

  /// Prepares every file, standard output and devices last. Then renames the files, then removes
  /// those given to remove(). Throws Error when any of that fails. Nothing may be added afterwards.
  void commit();

 private:
  OutputNames names_;
  std::vector<std::unique_ptr<OutputFile>> files_;
  std::vector<std::string> stale_;
  struct Folder {
    std::string path;
    int unfinished;  // the number from rememberUnfinishedFile()
  };
  std::vector<Folder> made_;
};

}  // namespace pipetrace
