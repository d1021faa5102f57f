#include "parser/job_log/log_tail.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "parser/line_blocks.h"
#include "trace/error.h"
#include "trace/log/log_format.h"

namespace pipetrace {
namespace {

/// The first bytes of two logs differ within this length: their first lines have the time.
constexpr std::size_t kHead = 512;

class OpenFile {
 public:
  explicit OpenFile(const std::string& path)
      : fd_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {}
  ~OpenFile() {
    if (fd_ >= 0) ::close(fd_);
  }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  int fd() const { return fd_; }

 private:
  int fd_;
};

[[noreturn]] void fail(const std::string& path, int error) {
  throw Error("cannot read " + path + ": " + std::strerror(error));
}

}  // namespace

bool LogTail::isStillThat(int fd) {
  struct stat status {};
  if (::fstat(fd, &status) != 0) fail(path_, errno);
  if (!known_) {
    if (!S_ISREG(status.st_mode)) throw Error("cannot follow " + path_ + ": it is no plain file");
    device_ = status.st_dev;
    inode_ = status.st_ino;
    known_ = true;
  }
  std::string head(head_.size(), '\0');
  const bool isOther =
      status.st_dev != device_ || status.st_ino != inode_ || status.st_size < offset_ ||
      ::pread(fd, head.data(), head.size(), 0) != std::ssize(head) || head != head_;
  replaced_ = isOther;
  return !replaced_;
}

std::string LogTail::next() {
  if (replaced_) return {};
  const OpenFile file(path_);
  if (file.fd() < 0) {
    if (!known_ || errno != ENOENT) fail(path_, errno);
    replaced_ = true;
    return {};
  }
  if (!isStillThat(file.fd())) return {};
  std::string bytes(kMostAtOnce, '\0');
  std::size_t held = 0;
  while (held < bytes.size()) {
    const ssize_t n = ::pread(file.fd(), bytes.data() + held, bytes.size() - held, offset_);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail(path_, errno);
    if (n == 0) break;
    held += static_cast<std::size_t>(n);
    offset_ += n;
  }
  bytes.resize(held);
  if (head_.empty()) head_ = bytes.substr(0, kHead);
  std::string text = std::exchange(rest_, {});
  if (!frames_ && head_.starts_with(kFrameMagic)) frames_ = std::make_unique<ZstdFrames>();
  if (frames_) {
    std::string_view raw = bytes;
    while (!raw.empty() || frames_->hasMore()) text += frames_->next(raw);
  } else {
    text += bytes;
  }
  const std::size_t end = text.rfind('\n') + 1;  // 0: there is none
  rest_ = text.substr(end);
  // The reader leaves out such a line, whatever its length.
  if (rest_.size() > LineBlocks::kLongestLine + 1) rest_.resize(LineBlocks::kLongestLine + 1);
  text.resize(end);
  return text;
}

namespace lf = log_format;

std::size_t lastMetaLine(const std::string& text) {
  const std::size_t mark = text.rfind(lf::kMeta);
  if (mark == std::string::npos) return mark;
  const std::size_t lineEnd = text.rfind('\n', mark);
  return lineEnd == std::string::npos ? 0 : lineEnd + 1;
}

std::string linesOfProfiler(std::string_view text) {
  std::string lines;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, std::min(text.find('\n'), text.size() - 1) + 1);
    if (line.find(lf::kMark) != std::string_view::npos) lines += line;
    text.remove_prefix(line.size());
  }
  return lines;
}

}  // namespace pipetrace
