#pragma once

#include <string>
#include <vector>

namespace pipetrace {

/// The files that are being replaced or removed: each keeps a second name, a hard link beside it,
/// from keep() until the object ends. Ends without done(): every file is what it was. For
/// OutputSet.
class ReplacedFiles {
 public:
  ReplacedFiles() = default;
  ~ReplacedFiles();
  ReplacedFiles(const ReplacedFiles&) = delete;
  ReplacedFiles& operator=(const ReplacedFiles&) = delete;

  /// Call before `path` is changed. A file that is not there is remembered as such. On a file
  /// system without hard links the file cannot be brought back. Throws Error (disk full).
  void keep(const std::string& path);
  /// The change is final.
  void done();

 private:
  struct Kept {
    std::string path;
    std::string secondName;  // empty: there was no such file
  };
  std::vector<Kept> kept_;
};

}  // namespace pipetrace
