#include "profiler/switches.h"

#include <charconv>
#include <cstdlib>
#include <optional>
#include <string_view>

#include "trace/error.h"

namespace pipetrace {
namespace {

constexpr const char* kPaddlePaddlesSwitch = "FLAGS_auto_parallel_profiler";

std::optional<std::string> variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr || *value == '\0' ? std::nullopt : std::optional<std::string>(value);
}

bool parse(std::string_view text, int& number) {
  const auto result = std::from_chars(text.data(), text.data() + text.size(), number);
  return result.ec == std::errc() && result.ptr == text.data() + text.size();
}

bool parseSwitch(const char* name, std::string value) {
  for (char& c : value) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  for (const char* yes : {"1", "on", "true", "yes", "t", "y"}) {
    if (value == yes) return true;
  }
  for (const char* no : {"0", "off", "false", "no", "f", "n"}) {
    if (value == no) return false;
  }
  throw Error(std::string(name) + " is \"" + value + "\": set it to 1 (record) or 0");
}

/// PaddlePaddle's lines are VLOG(0), which glog leaves out below that level.
bool paddlePaddleRecords(const std::string& flag) {
  if (!parseSwitch(kPaddlePaddlesSwitch, flag)) return false;
  int level = 0;
  const auto glog = variable("GLOG_v");
  if (glog && !parse(*glog, level)) throw Error("GLOG_v is \"" + *glog + "\": set it to a number");
  return level >= 0;
}

}  // namespace

Switches Switches::fromEnvironment() {
  Switches switches;
  const auto own = variable("PIPETRACE");
  if (own) {
    switches.isOn = parseSwitch("PIPETRACE", *own);
  } else if (const auto flag = variable(kPaddlePaddlesSwitch)) {
    switches.isOn = paddlePaddleRecords(*flag);
  }
  if (const auto folder = variable("PIPETRACE_LOG_DIR")) switches.logDirectory = *folder;
  if (const auto steps = variable("PIPETRACE_STEPS")) {
    try {
      switches.steps = parseStepRange(*steps);
    } catch (const Error& error) {
      throw Error(std::string("PIPETRACE_STEPS: ") + error.what());
    }
  }
  return switches;
}

}  // namespace pipetrace
