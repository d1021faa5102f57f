#include "runtime/starting_ranks/hosts/file_tail.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace pipetrace {

bool FileTail::open() {
  if (!file_.isOpen()) file_ = OwnedFd(::open(path_.c_str(), O_RDONLY | O_CLOEXEC));
  return file_.isOpen();
}

void FileTail::skip() {
  if (open()) at_ = std::max<std::int64_t>(lseek(file_.get(), 0, SEEK_END), 0);
}

std::string FileTail::next(std::size_t most, bool everything) {
  if (!open()) return {};
  std::string text(most, '\0');
  ssize_t n = 0;
  while ((n = pread(file_.get(), text.data(), text.size(), at_)) < 0 && errno == EINTR) {
  }
  text.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
  const std::size_t lines = text.rfind('\n') + 1;  // npos + 1 is 0
  if (!everything && (lines > 0 || text.size() < most)) text.resize(lines);
  at_ += static_cast<std::int64_t>(text.size());
  return text;
}

}  // namespace pipetrace
