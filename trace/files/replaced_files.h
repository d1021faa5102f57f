#pragma once

#include <string>
#include <vector>

namespace pipetrace {

/// The files that an OutputSet is about to replace or remove: each has a second name, a hard link
/// beside it, from keep() to done(). Without done() the destructor makes every file what it was.
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
