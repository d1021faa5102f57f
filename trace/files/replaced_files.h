#pragma once

#include <string>
#include <vector>

namespace pipetrace {

/// Keeps the files that an OutputSet is about to replace or remove. From keep() to done() each has
/// a second name, a hard link in the same folder. Without done() the destructor restores every
/// file.
class ReplacedFiles {
 public:
  ReplacedFiles() = default;
  ~ReplacedFiles();
  ReplacedFiles(const ReplacedFiles&) = delete;
  ReplacedFiles& operator=(const ReplacedFiles&) = delete;

  /// Call before `path` is changed. A missing file is remembered as missing. On a file
  /// system without hard links the file cannot be brought back. Throws Error (disk full).
  void keep(const std::string& path);
  /// Makes the changes final.
  void done();

 private:
  struct Kept {
    std::string path;
    std::string secondName;  // empty: there was no such file
  };
  std::vector<Kept> kept_;
};

}  // namespace pipetrace
