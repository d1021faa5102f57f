#include "apps/pipe_run/config/config_ranks.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <map>

#include "runtime/engine/config/config_file.h"
#include "trace/error.h"
#include "trace/text/shell_word.h"

namespace pipetrace {
namespace {

std::string ownName() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

/// This host has one name here, whatever the file calls it.
std::string hostOf(const MachineOfRank& machine) {
  return meansThisHost(machine.host) ? "" : machine.host;
}

std::string joined(const std::vector<int>& numbers) {
  std::string text;
  for (const int number : numbers) text += (text.empty() ? "" : ",") + std::to_string(number);
  return text;
}

}  // namespace

bool meansThisHost(const std::string& host) {
  const std::string own = ownName();
  return host.empty() || host == "localhost" || host == "::1" || host == "[::1]" ||
         host.starts_with("127.") || host == own || host == own.substr(0, own.find('.'));
}

std::vector<ConfiguredRank> ranksOf(const RunConfig& config, int ranks) {
  std::vector<ConfiguredRank> all(static_cast<std::size_t>(ranks));
  if (config.machines.empty()) {
    for (int rank = 0; rank < ranks; ++rank) all[static_cast<std::size_t>(rank)].localRank = rank;
    return all;
  }
  std::map<std::string, std::vector<int>> gpus;
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    const MachineOfRank& machine = config.machines.at(rank);
    const std::string host = hostOf(machine);
    all[rank] = {.host = host,
                 .gpu = machine.gpu,
                 .localRank = static_cast<int>(gpus[host].size()),
                 .visibleDevices = {}};
    gpus[host].push_back(machine.gpu);
  }
  for (ConfiguredRank& rank : all) {
    std::vector<int> sorted = gpus[rank.host];
    std::sort(sorted.begin(), sorted.end());
    const bool areShared = std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end();
    rank.visibleDevices = areShared ? std::to_string(rank.gpu) : joined(gpus[rank.host]);
  }
  return all;
}

std::vector<std::vector<std::string>> variablesOf(const std::vector<ConfiguredRank>& ranks) {
  std::vector<std::vector<std::string>> variables;
  for (const ConfiguredRank& rank : ranks) {
    variables.emplace_back();
    if (rank.visibleDevices.empty()) continue;
    variables.back().push_back("CUDA_VISIBLE_DEVICES=" + rank.visibleDevices);
  }
  return variables;
}

std::string commandText(const std::vector<ConfiguredRank>& ranks, int rank,
                        const std::vector<std::string>& command) {
  const ConfiguredRank& own = ranks.at(static_cast<std::size_t>(rank));
  const auto beside = std::count_if(ranks.begin(), ranks.end(), [&](const ConfiguredRank& each) {
    return each.host == own.host;
  });
  std::string text =
      "RANK=" + std::to_string(rank) + " LOCAL_RANK=" + std::to_string(own.localRank) +
      " WORLD_SIZE=" + std::to_string(ranks.size()) + " LOCAL_WORLD_SIZE=" + std::to_string(beside);
  if (!own.visibleDevices.empty()) text += " CUDA_VISIBLE_DEVICES=" + own.visibleDevices;
  for (const std::string& word : command) text += " " + shellWord(word);
  return own.host.empty() ? text : own.host + ": " + text;
}

void requireHosts(const RunConfig& config, const std::vector<ConfiguredRank>& ranks) {
  for (const ConfiguredRank& rank : ranks) {
    if (rank.host.empty()) continue;
    throw Error(placeIn(config.file, config.machinesLine) + ": machines: " + rank.host +
                " is another host; pipe-run starts ranks on this one alone. Ranks on other hosts "
                "need a launcher there, such as srun or mpirun with pipe-run --rank-of-launcher");
  }
  if (meansThisHost(config.masterAddress)) return;
  throw Error(config.file + ": master_addr: " + config.masterAddress +
              " is another host, but all ranks are on this one; leave it out");
}

LaunchResult launchRanks(const std::vector<ConfiguredRank>& ranks, const LaunchOptions& options) {
  LaunchOptions here = options;
  here.ranks = static_cast<int>(ranks.size());
  here.variables = variablesOf(ranks);
  return launch(here);
}

}  // namespace pipetrace
