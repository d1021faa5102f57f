#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

namespace pipetrace {

/// A file that appears under its name only when it is whole. It is written under a temporary name
/// in the same folder; commit() syncs and renames it. Without commit() the destructor removes it,
/// and an older file of that name stays as it was. A signal removes it too, if main() has called
/// removeUnfinishedFilesOnSignals(). The name "-" is standard output, where nothing is renamed. A
/// name that is no regular file (/dev/null, a FIFO) is written directly.
///
/// Errors (disk full, no permission, folder missing) throw Error. A closed pipe on standard output
/// is no error: the rest of the output goes nowhere. Not thread-safe.
class OutputFile {
 public:
  explicit OutputFile(std::string path);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  void write(std::string_view bytes);

  /// Writes what is left, syncs and closes: everything that fails on a full disk. Nothing may be
  /// written afterwards. An OutputSet does this for several files before it renames the first.
  void prepare();

  /// Calls prepare() if nobody has, and gives the file its name.
  void commit();

  /// The file that commit() replaces or makes; empty when the output is written directly.
  std::string target() const { return temporary_.empty() ? std::string() : path_; }

  /// Adds the number of bytes of each later write to `counter`, which must outlive this object, or
  /// the next call. Null: counts no longer.
  void countInto(std::atomic<std::int64_t>* counter) { counter_ = counter; }

 private:
  void flush();
  void writeOut(std::string_view rest);
  void dropTemporary();
  [[noreturn]] void fail(const char* what, int error);

  std::string path_;
  std::string temporary_;  // empty: written directly
  std::string buffer_;
  int fd_ = -1;
  int unfinished_ = -1;  // the number that rememberUnfinishedFile() gave temporary_
  std::atomic<std::int64_t>* counter_ = nullptr;
  bool ownsFd_ = true;
  bool pipeClosed_ = false;
};

/// Writes `bytes` to `path` through an OutputFile.
void writeWholeFile(const std::string& path, std::string_view bytes);

}  // namespace pipetrace
