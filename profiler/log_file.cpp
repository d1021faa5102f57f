#include "profiler/log_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "trace/error.h"

namespace pipetrace {

LogFile::LogFile(std::string path) : path_(std::move(path)) {
  const std::filesystem::path folder = std::filesystem::path(path_).parent_path();
  std::error_code error;
  if (!folder.empty()) std::filesystem::create_directories(folder, error);
  if (error) {
    throw Error("cannot make the log folder " + folder.string() + ": " + error.message());
  }
  fd_ = open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (fd_ < 0) {
    throw Error("cannot open the job log " + path_ + ": " + std::strerror(errno) +
                "; choose a log folder that can be written to");
  }
}

LogFile::~LogFile() { close(fd_); }

bool LogFile::writeAll(std::string_view& rest) noexcept {
  while (!rest.empty()) {
    const ssize_t n = write(fd_, rest.data(), rest.size());
    if (n > 0) {
      rest.remove_prefix(static_cast<std::size_t>(n));
    } else if (n < 0 && errno != EINTR) {
      if (firstError_ == 0) firstError_ = errno;
      return false;
    }
  }
  return true;
}

std::int64_t LogFile::append(std::string_view lines) noexcept {
  if (insideLine_) {
    std::string_view newline = "\n";
    insideLine_ = !writeAll(newline);
  }
  std::string_view rest = lines;
  if (!insideLine_ && writeAll(rest)) return 0;
  ++failures_;
  const std::size_t written = lines.size() - rest.size();
  if (written > 0) insideLine_ = lines[written - 1] != '\n';
  return std::count(rest.begin(), rest.end(), '\n');
}

}  // namespace pipetrace
