#include "runtime/control/testing/file_key_value.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "runtime/control/steady_time.h"
#include "trace/error.h"

namespace pipetrace::testing {

std::string FileKeyValue::pathOf(const std::string& key) const {
  std::string name = key;
  std::replace(name.begin(), name.end(), '/', '-');
  return folder_ + "/" + name;
}

void FileKeyValue::set(const std::string& key, const std::string& value) {
  const std::string path = pathOf(key);
  std::ofstream(path + ".new") << value;
  std::filesystem::rename(path + ".new", path);  // appears whole
}

std::string FileKeyValue::setOnce(const std::string& key, const std::string& value) {
  const std::string path = pathOf(key);
  const std::string own = path + "." + std::to_string(getpid());
  std::ofstream(own) << value;
  std::error_code ignored;
  std::filesystem::create_hard_link(own, path, ignored);  // fails where there is one
  std::filesystem::remove(own);
  return get(key, kNsPerSecond);
}

std::int64_t FileKeyValue::count(const std::string& key) {
  for (std::int64_t number = 1;; ++number) {
    const std::string path = pathOf(key + std::to_string(number));
    const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0) continue;
    close(fd);
    return number;
  }
}

bool FileKeyValue::has(const std::string& key) { return std::filesystem::exists(pathOf(key)); }

std::string FileKeyValue::get(const std::string& key, Nanoseconds timeout) {
  const Nanoseconds end = steadyTime() + timeout;
  for (;;) {
    if (std::ifstream file(pathOf(key)); file) {
      std::ostringstream text;
      text << file.rdbuf();
      return text.str();
    }
    if (steadyTime() > end) throw Error("nobody has set " + key);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

}  // namespace pipetrace::testing
