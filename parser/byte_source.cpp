#include "parser/byte_source.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "trace/error.h"

namespace pipetrace {
namespace {

constexpr std::size_t kRawWindow = std::size_t{1} << 18;
constexpr std::string_view kMagic = "\x1f\x8b\x08";  // gzip, deflated

std::string adviceFor(int error) {
  switch (error) {
    case ENOENT: return "; check the name";
    case EACCES:
    case EPERM: return "; you may not read it: change its permissions or run as its owner";
    case EISDIR: return "; name a file in it";
    case ENXIO: return "; a socket is no file";
    case ELOOP: return "; its links lead back to themselves";
    default: return {};
  }
}

[[noreturn]] void fail(const char* what, const std::string& name, int error) {
  throw Error("cannot " + std::string(what) + " " + name + ": " + std::strerror(error) +
              adviceFor(error));
}

/// Whether it is a device that may never end: any but /dev/null and a terminal, which ends when the
/// user says so.
bool isEndless(int fd) {
  struct stat status {};
  if (::fstat(fd, &status) != 0) return false;
  if (S_ISBLK(status.st_mode)) return true;
  return S_ISCHR(status.st_mode) && ::isatty(fd) == 0 && status.st_rdev != makedev(1, 3);
}

}  // namespace

struct ByteSource::Inflater {
  explicit Inflater(const std::string& name) {
    if (inflateInit2(&stream, 15 + 16) != Z_OK) throw Error("zlib cannot start on " + name);
  }
  ~Inflater() { inflateEnd(&stream); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  z_stream stream{};
  bool betweenMembers = false;  // gzip files may be several, one after the other
  bool finished = false;
};

std::string_view ByteSource::plainName(std::string_view fileName) {
  for (const std::string_view ending : {".gz", ".zst"}) {
    if (fileName.ends_with(ending)) return fileName.substr(0, fileName.size() - ending.size());
  }
  return fileName;
}

ByteSource::ByteSource(const std::string& path)
    : name_(path == "-" ? "standard input" : path), isStandardInput_(path == "-") {
  fd_ = isStandardInput_ ? ::dup(STDIN_FILENO) : ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd_ < 0) fail("open", name_, errno);
  if (isEndless(fd_)) {
    ::close(fd_);
    throw Error("cannot read " + name_ + ": it is a device; name a file");
  }
}

ByteSource::ByteSource(std::string name, std::string bytes)
    : name_(std::move(name)), memory_(std::move(bytes)) {}

ByteSource::~ByteSource() {
  if (fd_ >= 0) ::close(fd_);
}

std::string_view ByteSource::peek(std::size_t size) {
  if (aheadUsed_ > 0) ahead_.erase(0, std::exchange(aheadUsed_, 0));
  while (ahead_.size() < size) {
    const std::size_t before = ahead_.size();
    ahead_.resize(size);
    const std::size_t n = readDecoded(ahead_.data() + before, size - before);
    ahead_.resize(before + n);
    if (n == 0) break;
  }
  return std::string_view(ahead_).substr(0, size);
}

std::size_t ByteSource::read(char* to, std::size_t room) {
  const std::size_t waiting = ahead_.size() - aheadUsed_;
  if (waiting == 0) return readDecoded(to, room);
  const std::size_t n = std::min(waiting, room);
  std::memcpy(to, ahead_.data() + aheadUsed_, n);
  aheadUsed_ += n;
  return n;
}

std::size_t ByteSource::readRaw(char* to, std::size_t room) {
  if (fd_ < 0) {
    const std::size_t n = std::min(room, memory_.size() - memoryUsed_);
    if (n > 0) std::memcpy(to, memory_.data() + memoryUsed_, n);
    memoryUsed_ += n;
    return n;
  }
  while (true) {
    if (isCancelled_ != nullptr) awaitInput();
    const ssize_t n = ::read(fd_, to, room);
    if (n >= 0) {
      count(static_cast<std::size_t>(n));
      return static_cast<std::size_t>(n);
    }
    if (errno != EINTR) fail("read", name_, errno);
  }
}

/// Waits until there is something to read, as a pipe may never bring anything.
void ByteSource::awaitInput() const {
  constexpr int kBetweenLooks = 50;  // milliseconds
  pollfd input{.fd = fd_, .events = POLLIN, .revents = 0};
  do {
    count(0);
  } while (::poll(&input, 1, kBetweenLooks) == 0);
}

std::optional<std::size_t> ByteSource::plainSize() {
  if (!started_) start();
  if (inflater_ || frames_) return std::nullopt;
  if (fd_ < 0) return memory_.size();
  struct stat status {};
  // Standard input may stand anywhere in its file.
  const bool isPlain = !isStandardInput_ && ::fstat(fd_, &status) == 0 && S_ISREG(status.st_mode);
  if (!isPlain || status.st_size <= 0) return std::nullopt;
  return static_cast<std::size_t>(status.st_size);
}

std::size_t ByteSource::readAt(std::size_t offset, char* to, std::size_t room) const {
  if (fd_ < 0) {
    const std::size_t n = std::min(room, memory_.size() - std::min(offset, memory_.size()));
    if (n > 0) std::memcpy(to, memory_.data() + offset, n);
    return n;
  }
  std::size_t done = 0;
  while (done < room) {
    const ssize_t n = ::pread(fd_, to + done, room - done, static_cast<off_t>(offset + done));
    if (n == 0) break;
    if (n > 0) {
      done += static_cast<std::size_t>(n);
    } else if (errno != EINTR) {
      fail("read", name_, errno);
    }
  }
  count(done);
  return done;
}

/// Throws Error when reading was cancelled.
void ByteSource::count(std::size_t bytes) const {
  if (counter_ != nullptr) counter_->fetch_add(static_cast<std::int64_t>(bytes));
  if (isCancelled_ != nullptr && *isCancelled_) throw Error("reading " + name_ + " was cancelled");
}

bool ByteSource::fillWindow() {
  window_.resize(kRawWindow);
  window_.resize(readRaw(window_.data(), window_.size()));
  raw_ = window_;
  return !raw_.empty();
}

void ByteSource::start() {
  started_ = true;
  // Four bytes decide, and a FIFO may hand them over one at a time.
  while (window_.size() < kFrameMagic.size()) {
    char more = 0;
    if (readRaw(&more, 1) == 0) break;
    window_.push_back(more);
  }
  raw_ = window_;
  if (raw_.starts_with(kMagic)) inflater_ = std::make_unique<Inflater>(name_);
  if (raw_ == kFrameMagic) frames_ = std::make_unique<ZstdFrames>();
}

std::size_t ByteSource::readDecoded(char* to, std::size_t room) {
  if (room == 0) return 0;
  if (!started_) start();
  if (inflater_) return readInflated(to, room);
  if (frames_) return readFrames(to, room);
  if (raw_.empty()) return readRaw(to, room);
  const std::size_t n = std::min(room, raw_.size());
  std::memcpy(to, raw_.data(), n);
  raw_.remove_prefix(n);
  return n;
}

std::size_t ByteSource::readInflated(char* to, std::size_t room) {
  z_stream& z = inflater_->stream;
  z.next_out = reinterpret_cast<Bytef*>(to);
  z.avail_out = static_cast<uInt>(std::min(room, kRawWindow));
  const auto outBefore = z.avail_out;
  while (!inflater_->finished && z.avail_out == outBefore) {
    const bool isOver = raw_.empty() && !fillWindow();
    if (isOver && inflater_->betweenMembers) {
      inflater_->finished = true;
      break;
    }
    if (std::exchange(inflater_->betweenMembers, false)) inflateReset(&z);
    z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(raw_.data()));
    z.avail_in = static_cast<uInt>(raw_.size());
    const int result = inflate(&z, Z_NO_FLUSH);
    raw_.remove_prefix(raw_.size() - z.avail_in);
    if (result == Z_STREAM_END) {
      inflater_->betweenMembers = true;
    } else if (result != Z_OK && result != Z_BUF_ERROR) {
      inflater_->finished = true;
      damage_ = "its compressed data is damaged; what came before was read";
    } else if (isOver && z.avail_out == outBefore) {  // not even what zlib had held back
      inflater_->finished = true;
      damage_ = "its compressed data is cut off; what came before was read";
    }
  }
  return outBefore - z.avail_out;
}

std::size_t ByteSource::readFrames(char* to, std::size_t room) {
  while (decoded_.empty()) {
    const bool isOver = raw_.empty() && !frames_->hasMore() && !fillWindow();
    damage_ = frames_->hasDamage() ? "a part of its compressed data is damaged, and was left out"
              : isOver && frames_->isInside()
                  ? "its compressed data is cut off; what came before was read"
                  : "";
    if (isOver) return 0;
    decoded_ = frames_->next(raw_);
  }
  const std::size_t n = std::min(room, decoded_.size());
  std::memcpy(to, decoded_.data(), n);
  decoded_.remove_prefix(n);
  return n;
}

}  // namespace pipetrace
