#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

namespace pipetrace {

/// A file that appears under its name only when it is whole: written to a temporary name beside it,
/// synced and renamed by commit(). Destroyed without commit() it leaves nothing behind, and what
/// was under the name before is untouched; nor does a signal, if main() has called
/// removeUnfinishedFilesOnSignals(). "-" is standard output (nothing to rename). A name that
/// is no regular file (/dev/null, a FIFO) is written directly.
///
/// Errors (disk full, no permission, folder missing) throw Error; a closed pipe on standard output
/// makes the rest of the output go nowhere, which is not an error. Not thread-safe.
class OutputFile {
 public:
  explicit OutputFile(std::string path);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  void write(std::string_view bytes);

  /// All that can fail for want of room: writes what is left, syncs and closes. Nothing may be
  /// written afterwards. An OutputSet does this for several files before it renames the first.
  void prepare();

  /// prepare(), unless that is done, and the name.
  void commit();

  /// The file that commit() replaces or makes; empty when the output is written directly.
  std::string target() const { return temporary_.empty() ? std::string() : path_; }

  /// From now on adds the number of bytes of each write to `counter`, which must outlive it.
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
  int unfinished_ = -1;  // what rememberUnfinishedFile() gave for temporary_
  std::atomic<std::int64_t>* counter_ = nullptr;
  bool ownsFd_ = true;
  bool pipeClosed_ = false;
};

/// Writes `bytes` to `path` as one OutputFile.
void writeWholeFile(const std::string& path, std::string_view bytes);

}  // namespace pipetrace
