#include "trace/files/output_set.h"

#include <sys/stat.h>
#include <unistd.h>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "trace/error.h"
#include "trace/files/unfinished_files.h"
#include "trace/files/write_all.h"

namespace pipetrace {

namespace {

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

bool saysThatThereAreNoLinks(int error) {
  return error == EPERM || error == EACCES || error == EMLINK || error == ENOSYS ||
         error == EOPNOTSUPP || error == EXDEV;
}

/// Makes a hard link beside the file. Returns 0 and its name in `secondName`, or an errno.
int link(const std::string& path, std::string& secondName) {
  const std::string stem = path + ".old-" + std::to_string(::getpid());
  secondName = stem;
  for (int i = 1; ::link(path.c_str(), secondName.c_str()) != 0; ++i) {
    if (errno != EEXIST) return errno;
    secondName = stem + "-" + std::to_string(i);
  }
  return 0;
}

void ReplacedFiles::keep(const std::string& path) {
  Kept kept{.path = path, .secondName = {}};
  const int error = link(path, kept.secondName);
  if (saysThatThereAreNoLinks(error)) return;
  if (error == ENOENT) {
    kept.secondName.clear();
  } else if (error != 0) {
    throw writeError("replace", path, error);
  }
  kept_.push_back(std::move(kept));
}

void ReplacedFiles::done() {
  for (const Kept& kept : kept_) {
    if (!kept.secondName.empty()) ::unlink(kept.secondName.c_str());
  }
  kept_.clear();
}

ReplacedFiles::~ReplacedFiles() {
  for (const Kept& kept : kept_) {
    if (kept.secondName.empty()) {
      ::unlink(kept.path.c_str());
    } else if (std::rename(kept.secondName.c_str(), kept.path.c_str()) == 0) {
      // rename() keeps both names if they already name one file.
      ::unlink(kept.secondName.c_str());
    }
  }
}

}  // namespace

namespace fs = std::filesystem;

OutputSet::~OutputSet() {
  files_.clear();  // a folder can be removed only when it is empty
  while (!made_.empty()) {
    ::rmdir(made_.back().path.c_str());
    forgetUnfinishedFile(made_.back().unfinished);
    made_.pop_back();
  }
}

OutputFile& OutputSet::add(const std::string& path) {
  names_.add(path);
  return *files_.emplace_back(std::make_unique<OutputFile>(path));
}

void OutputSet::add(const std::string& path, std::string_view contents) {
  OutputFile& file = add(path);
  file.write(contents);
  // Closes the file at once: there may be more files than a process can have open.
  if (!file.target().empty()) file.prepare();
}

void OutputSet::makeFolder(const std::string& folder) {
  std::vector<fs::path> missing;
  std::error_code ignored;  // making the folder reports what is wrong
  for (fs::path at = folder; !at.empty() && !fs::exists(at, ignored); at = at.parent_path()) {
    missing.push_back(at);
  }
  const SignalsHeldBack heldBack;
  for (; !missing.empty(); missing.pop_back()) {
    const std::string path = missing.back().string();
    if (::mkdir(path.c_str(), 0777) == 0) {
      made_.push_back({path, rememberUnfinishedFile(path)});
    } else if (errno != EEXIST) {
      throw Error("cannot make the folder " + folder + ": " + std::strerror(errno));
    }
  }
  if (!fs::is_directory(folder, ignored)) {
    throw Error("cannot make the folder " + folder + ": " + std::strerror(ENOTDIR));
  }
}

void OutputSet::commit() {
  for (const auto& file : files_) {
    if (!file->target().empty()) file->prepare();
  }
  // Standard output and devices come last: nothing can be taken back from them.
  for (const auto& file : files_) file->prepare();

  const SignalsHeldBack heldBack;
  ReplacedFiles replaced;
  if (files_.size() + stale_.size() > 1) {  // one rename need not be taken back
    for (const auto& file : files_) {
      if (!file->target().empty()) replaced.keep(file->target());
    }
    for (const std::string& path : stale_) replaced.keep(path);
  }
  for (const auto& file : files_) file->commit();
  for (const std::string& path : stale_) {
    if (::unlink(path.c_str()) != 0 && errno != ENOENT) throw writeError("remove", path, errno);
  }
  replaced.done();
  for (const Folder& folder : made_) forgetUnfinishedFile(folder.unfinished);
  made_.clear();
}

}  // namespace pipetrace
