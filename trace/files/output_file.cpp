#include "trace/files/output_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <random>
#include <utility>

#include "trace/files/output_names.h"
#include "trace/files/unfinished_files.h"
#include "trace/files/write_all.h"

namespace pipetrace {
namespace {

constexpr std::size_t kBufferSize = std::size_t{1} << 17;
constexpr int kNewLetters = 6;

bool isSpecialFile(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode);
}

/// Makes a file of a new name that begins with `name`, which becomes it. Its mode is the one that
/// open(2) gives a new file. (mkostemp() gives another one; to correct it one would have to set the
/// umask, which threads share, to read it.) Returns -1 with errno.
int makeNewFile(std::string& name) {
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyz0123456789";
  constexpr int kTries = 100;
  std::random_device random;
  for (int left = kTries;; --left) {
    std::string tried = name;
    for (int i = 0; i < kNewLetters; ++i) tried += kLetters[random() % kLetters.size()];
    const int fd = ::open(tried.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd >= 0) {
      name = tried;
      return fd;
    }
    if (errno != EEXIST || left == 0) return -1;
  }
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
  if (std::filesystem::is_symlink(path_, ignored)) {
    struct stat link {};
    const bool isKnown = ::lstat(path_.c_str(), &link) == 0;
    if (isKnown && link.st_uid != ::geteuid() && link.st_uid != 0) {
      throw Error("cannot write " + path_ +
                  ": it is a link that another user made; remove it, or name another file");
    }
    path_ = fileBehind(path_);
  }
  temporary_ = path_ + ".part-";
  {
    const SignalsHeldBack heldBack;
    fd_ = makeNewFile(temporary_);
    if (fd_ >= 0) unfinished_ = rememberUnfinishedFile(temporary_);
  }
  if (fd_ < 0) {
    const int error = errno;
    temporary_.clear();
    fail("create", error);
  }
  struct stat old {};
  if (::stat(path_.c_str(), &old) == 0) ::fchmod(fd_, old.st_mode & 0777);
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
