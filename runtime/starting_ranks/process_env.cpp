#include "runtime/starting_ranks/process_env.h"

#include <charconv>
#include <cstdlib>
#include <string_view>

#include "trace/error.h"

namespace pipetrace {

namespace {

constexpr const char* kAdvice =
    "; start the program with pipe-run or torchrun, or set RANK, LOCAL_RANK, WORLD_SIZE, "
    "MASTER_ADDR and MASTER_PORT";

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr || *value == '\0') {
    throw Error(std::string("environment variable ") + name + " is not set" + kAdvice);
  }
  return value;
}

int number(const char* name, int smallest, int largest) {
  const std::string text = variable(name);
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < smallest ||
      value > largest) {
    throw Error(std::string("environment variable ") + name + " = '" + text +
                "' is no number from " + std::to_string(smallest) + " to " +
                std::to_string(largest) + kAdvice);
  }
  return value;
}

std::string optionalVariable(const char* name, const char* otherwise) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0' ? value : otherwise;
}

constexpr int kMaxRanks = 1 << 20;
constexpr int kMaxPort = 65535;

}  // namespace

ProcessEnv readProcessEnv() {
  ProcessEnv env;
  env.worldSize = number("WORLD_SIZE", 1, kMaxRanks);
  env.rank = number("RANK", 0, env.worldSize - 1);
  env.localRank = number("LOCAL_RANK", 0, env.worldSize - 1);
  env.localWorldSize = optionalVariable("LOCAL_WORLD_SIZE", "").empty()
                           ? env.worldSize
                           : number("LOCAL_WORLD_SIZE", 1, env.worldSize);
  env.masterAddr = variable("MASTER_ADDR");
  env.masterPort = number("MASTER_PORT", 1, kMaxPort);
  env.clockPort = optionalVariable("PIPETRACE_CLOCK_PORT", "").empty()
                      ? 0
                      : number("PIPETRACE_CLOCK_PORT", 1, kMaxPort);
  env.agentStore = optionalVariable("TORCHELASTIC_USE_AGENT_STORE", "False") == "True";
  env.attempt = optionalVariable("TORCHELASTIC_RESTART_COUNT", "0");
  return env;
}

}  // namespace pipetrace
