#include "runtime/starting_ranks/rank_environment.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>

namespace pipetrace {

std::vector<std::string> rankEnvironment(const RankPlace& place) {
  std::vector<std::string> own = {
      "RANK=" + std::to_string(place.rank),
      "LOCAL_RANK=" + std::to_string(place.localRank),
      "WORLD_SIZE=" + std::to_string(place.ranks),
      "LOCAL_WORLD_SIZE=" + std::to_string(place.localRanks),
      "MASTER_ADDR=" + place.masterAddress,
      "MASTER_PORT=" + std::to_string(place.masterPort),
      "PIPETRACE_LOG_DIR=" + place.logDirectory,
  };
  if (place.recording) own.emplace_back("PIPETRACE=1");
  if (!place.devices.empty()) own.push_back("CUDA_VISIBLE_DEVICES=" + place.devices);
  // Each rank would start a thread per core, as if it had the machine to itself.
  if (place.localRanks > 1 && std::getenv("OMP_NUM_THREADS") == nullptr) {
    own.emplace_back("OMP_NUM_THREADS=1");
  }
  if (place.restart > 0) {
    own.push_back("TORCHELASTIC_RESTART_COUNT=" + std::to_string(place.restart));
  }
  std::vector<std::string> result;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view text = *variable;
    const std::string_view name = text.substr(0, text.find('=') + 1);
    const bool replaced = std::any_of(
        own.begin(), own.end(), [&](const std::string& each) { return each.starts_with(name); });
    if (!replaced && !text.starts_with("TORCHELASTIC_")) result.emplace_back(text);
  }
  result.insert(result.end(), own.begin(), own.end());
  return result;
}

}  // namespace pipetrace
