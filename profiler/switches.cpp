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

StepRange parseStepRange(std::string_view text) {
  const auto refusal = [text](const char* why) {
    return Error('"' + std::string(text) + "\" is no range of steps: " + why);
  };
  const char* const limit = "steps go up to 2147483646";
  const char* const form =
      "write A:B for the steps A to B - 1, as in 3:6, A:B:N for every Nth of them, or one step";
  const auto number = [&](std::string_view part, std::int32_t otherwise) {
    if (part.empty()) return otherwise;
    std::int32_t step = 0;
    const auto result = std::from_chars(part.data(), part.data() + part.size(), step);
    if (result.ec == std::errc::invalid_argument || result.ptr != part.data() + part.size()) {
      throw refusal(form);
    }
    if (part.front() == '-') throw refusal("steps count from 0");
    if (result.ec != std::errc()) throw refusal(limit);
    return step;
  };
  if (text.find_first_not_of(':') == std::string_view::npos) throw refusal(form);
  const std::size_t colon = text.find(':');
  StepRange range;
  range.first = number(text.substr(0, colon), range.first);
  if (colon != std::string_view::npos) {
    const std::size_t second = text.find(':', colon + 1);
    range.end = number(text.substr(colon + 1, second - colon - 1), range.end);
    if (second == std::string_view::npos) return range;
    range.every = number(text.substr(second + 1), 0);
    if (range.every == 0) throw refusal("every Nth step: N counts from 1");
  } else if (range.first == range.end) {
    throw refusal(limit);  // no number could follow it
  } else {
    range.end = range.first + 1;
  }
  return range;
}

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

bool compressesLogs() {
  const char* const name = "PIPETRACE_LOG_COMPRESS";
  const auto value = variable(name);
  if (!value || *value == "none") return false;
  if (*value == "zstd") return true;
  throw Error(std::string(name) + " is \"" + *value + "\": set it to zstd, or to none");
}

bool samplesGpu() {
  const auto value = variable("PIPETRACE_NVML");
  return !value || parseSwitch("PIPETRACE_NVML", *value);
}

}  // namespace pipetrace
