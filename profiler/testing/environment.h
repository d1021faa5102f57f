#pragma once

#include <cstdlib>
#include <map>
#include <optional>
#include <string>

namespace pipetrace {

/// Tests: unsets the variables that switch the recorder on and off; the destructor sets them as
/// they were.
class Environment {
 public:
  Environment() {
    for (const char* name : {"PIPETRACE", "PIPETRACE_LOG_DIR", "PIPETRACE_STEPS", "PIPETRACE_NVML",
                             "PIPETRACE_LOG_COMPRESS", "FLAGS_auto_parallel_profiler", "GLOG_v"}) {
      const char* const value = std::getenv(name);
      before_[name] = value == nullptr ? std::nullopt : std::optional<std::string>(value);
      unsetenv(name);
    }
  }
  ~Environment() {
    for (const auto& [name, value] : before_) {
      if (value) {
        setenv(name.c_str(), value->c_str(), 1);
      } else {
        unsetenv(name.c_str());
      }
    }
  }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

 private:
  std::map<std::string, std::optional<std::string>> before_;
};

}  // namespace pipetrace
