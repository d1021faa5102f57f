#include "runtime/control/testing/file_key_value.h"

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
