#include "apps/pipe_run/config/config_ranks.h"

#include <algorithm>

#include "runtime/engine/config/config_file.h"
#include "runtime/starting_ranks/hosts/agent_connection.h"
#include "trace/error.h"
#include "trace/text/shell_word.h"

namespace pipetrace {
namespace {

/// Several words are a command that enters a container. One is the name of an image, as the drivers
/// have it, and how that is entered depends on the program that runs containers.
std::string enteringCommand(const RunConfig& config) {
  const std::string& container = config.container;
  if (container.empty() || container.find(' ') != std::string::npos) return container;
  throw Error(placeIn(config.file, config.containerLine) + ": container: " + shownText(container) +
              " is one word, and ranks on other hosts need the command that enters it, such as "
              "\"singularity exec --nv image.sif\"; write that, or give --prefix");
}

}  // namespace

std::vector<HostOfRun> hostsOf(const RunConfig& config, int ranks) {
  if (config.machines.empty()) return {thisHostAlone(ranks)};
  try {
    return hostsOf(config.machines);
  } catch (const Error& error) {
    throw Error(placeIn(config.file, config.machinesLine) + ": machines: " + error.what());
  }
}

HostOptions hostOptionsOf(const RunConfig& config, const std::vector<HostOfRun>& hosts,
                          const HostOptions& given) {
  HostOptions options = given;
  options.ranks = config.machines;
  const std::string place = placeIn(config.file, config.masterAddressLine) + ": master_addr: ";
  if (options.masterAddress.empty()) options.masterAddress = config.masterAddress;
  if (hosts.size() > 1 || !hosts[0].isHere) {
    if (options.prefix.empty()) options.prefix = enteringCommand(config);
    if (given.masterAddress.empty() && isLocalhost(config.masterAddress)) {
      throw Error(place + config.masterAddress +
                  " is another host on every host; leave it out, or give an address of " +
                  hosts[0].host + " that all reach");
    }
    return options;
  }
  if (!(given.prefix.empty() && given.masterAddress.empty() && given.remoteShell == kRemoteShell)) {
    throw Error("--remote-shell, --prefix and --master-addr are for other hosts, and " +
                config.file + " names none");
  }
  if (!config.masterAddress.empty() && !isThisHost(config.masterAddress)) {
    throw Error(place + config.masterAddress +
                " is another host, but all ranks are on this one; leave it out");
  }
  return options;
}

std::vector<ConfiguredRank> ranksOf(const std::vector<HostOfRun>& hosts) {
  std::size_t ranks = 0;
  for (const HostOfRun& host : hosts) ranks += host.ranks.size();
  std::vector<ConfiguredRank> all(ranks);
  for (const HostOfRun& host : hosts) {
    const std::vector<RankPlace> places = placesOn(host, static_cast<int>(ranks));
    for (std::size_t i = 0; i < places.size(); ++i) {
      all[static_cast<std::size_t>(places[i].rank)] = {
          .host = host.isHere ? "" : host.host, .gpu = host.devices[i], .place = places[i]};
    }
  }
  return all;
}

std::string commandText(const ConfiguredRank& rank, const std::vector<std::string>& command) {
  const RankPlace& place = rank.place;
  std::string text = "RANK=" + std::to_string(place.rank) +
                     " LOCAL_RANK=" + std::to_string(place.localRank) +
                     " WORLD_SIZE=" + std::to_string(place.ranks) +
                     " LOCAL_WORLD_SIZE=" + std::to_string(place.localRanks);
  if (!place.devices.empty()) text += " CUDA_VISIBLE_DEVICES=" + place.devices;
  for (const std::string& word : command) text += " " + shellWord(word);
  return rank.host.empty() ? text : rank.host + ": " + text;
}

std::vector<std::string> agentTexts(const std::vector<HostOfRun>& hosts,
                                    const HostOptions& options) {
  std::vector<std::string> texts;
  for (const HostOfRun& host : hosts) {
    if (host.isHere) continue;
    texts.push_back(options.remoteShell + " " + shellWord(host.host) + " " +
                    shellWord(agentLine(options)));
  }
  return texts;
}

}  // namespace pipetrace
