#include "trace/files/output_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <utility>

#include "trace/files/file_behind.h"
#include "trace/files/signals_held_back.h"
#include "trace/files/unfinished_files.h"
#include "trace/files/write_error.h"

namespace pipetrace {
namespace {

constexpr std::size_t kBufferSize = std::size_t{1} << 17;

bool isSpecialFile(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode);
}

/// The mode that the file has, or that open(2) would give a new one; mkostemp() gives 0600.
mode_t fileMode(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) == 0) return status.st_mode & 0777;
  const mode_t mask = ::umask(0);  // there is no way to read it without setting it
  ::umask(mask);
  return 0666 & ~mask;
}

}  // namespace

OutputFile::OutputFile(std::string path) : path_(std::move(path)) {
  buffer_.reserve(kBufferSize);
  if (path_ == "-") {
    fd_ = STDOUT_FILENO;
    ownsFd_ = false;
    return;
  }
  std::error_code ignored;  // open() reports what is wrong with the path
  if (std::filesystem::is_directory(path_, ignored)) fail("write", EISDIR);
  if (isSpecialFile(path_)) {
    fd_ = ::open(path_.c_str(), O_WRONLY | O_CLOEXEC);
    if (fd_ < 0) fail("open", errno);
    return;
  }
  // The file that a link names is replaced, not the link.
  if (std::filesystem::is_symlink(path_, ignored)) path_ = fileBehind(path_);
  temporary_ = path_ + ".part-XXXXXX";
  {
    const SignalsHeldBack heldBack;
    fd_ = ::mkostemp(temporary_.data(), O_CLOEXEC);
    if (fd_ >= 0) unfinished_ = rememberUnfinishedFile(temporary_);
  }
  if (fd_ < 0) {
    const int error = errno;
    temporary_.clear();
    fail("create", error);
  }
  ::fchmod(fd_, fileMode(path_));
}

OutputFile::~OutputFile() {
  if (ownsFd_ && fd_ >= 0) ::close(fd_);
  dropTemporary();
}

void OutputFile::dropTemporary() {
  if (!temporary_.empty()) ::unlink(std::exchange(temporary_, {}).c_str());
  forgetUnfinishedFile(std::exchange(unfinished_, -1));
}

void OutputFile::write(std::string_view bytes) {
  if (buffer_.size() + bytes.size() > kBufferSize) flush();
  if (bytes.size() > kBufferSize) {
    writeOut(bytes);
  } else {
    buffer_.append(bytes);
  }
}

void OutputFile::flush() {
  writeOut(buffer_);
  buffer_.clear();
}

void OutputFile::writeOut(std::string_view rest) {
  if (counter_ != nullptr) counter_->fetch_add(static_cast<std::int64_t>(rest.size()));
  while (!rest.empty() && !pipeClosed_) {
    const ssize_t n = ::write(fd_, rest.data(), rest.size());
    if (n >= 0) {
      rest.remove_prefix(static_cast<std::size_t>(n));
    } else if (errno == EPIPE) {
      pipeClosed_ = true;
    } else if (errno != EINTR) {
      fail("write", errno);
    }
  }
}

void OutputFile::prepare() {
  if (fd_ < 0) return;
  flush();
  if (!ownsFd_) return;
  // Pipes, terminals and some file systems cannot be synced.
  if (::fsync(fd_) != 0 && errno != EINVAL && errno != EROFS) fail("sync", errno);
  const int fd = std::exchange(fd_, -1);
  if (::close(fd) != 0) fail("close", errno);
}

void OutputFile::commit() {
  prepare();
  if (temporary_.empty()) return;
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) fail("rename", errno);
  temporary_.clear();
  dropTemporary();
}

void OutputFile::fail(const char* what, int error) {
  // The destructor does not run when the constructor throws.
  dropTemporary();
  throw writeError(what, path_, error);
}

void writeWholeFile(const std::string& path, std::string_view bytes) {
  OutputFile file(path);
  file.write(bytes);
  file.commit();
}

}  // namespace pipetrace
