#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runtime/starting_ranks/rank_environment.h"
#include "trace/nanoseconds.h"

namespace pipetrace {

/// Where a rank shall run.
struct RankHost {
  std::string host{};  ///< a name or an address, as the remote shell takes it
  int device = -1;     ///< the number of its GPU there; -1: none is given
};

/// The default of HostOptions::remoteShell. It asks for no password: nobody may be there to answer.
inline constexpr const char* kRemoteShell = "ssh -o BatchMode=yes -o ConnectTimeout=10";

/// The hosts of a run, and how programs are started on those that are not this one.
struct HostOptions {
  std::vector<RankHost> ranks;  ///< of each rank; empty: all are on this host
  /// Words of /bin/sh, to which the host and one line for the shell of that host are added.
  std::string remoteShell = kRemoteShell;
  std::string prefix;   ///< stands before the agent in that line: "singularity exec image.sif"
  std::string agent;    ///< the agent's program there; it is started with --host-agent
  std::string version;  ///< of this program; agents must have the same
  std::string masterAddress;  ///< of rank 0's host, for all ranks; empty: one that all reach
  Nanoseconds startTimeout = 60 * kNsPerSecond;  ///< for each host to answer
};

/// The ranks of one host.
struct HostOfRun {
  std::string host{};
  bool isHere = false;         ///< it is this host
  std::vector<int> ranks{};    ///< in their order, so the first has LOCAL_RANK 0
  std::vector<int> devices{};  ///< of these ranks; -1: none is given
};

/// The hosts of a run in the order of their first ranks; names of this host are one. Throws Error
/// where a host has some ranks with a GPU and some without, and for "localhost" beside other hosts,
/// where it would be another host.
std::vector<HostOfRun> hostsOf(const std::vector<RankHost>& ranks);

/// "HOST" or "HOST:GPU"; an IPv6 address is in brackets: "[fd00::1]:0". Throws Error.
RankHost parseRankHost(const std::string& text);

/// Whether a name or an address is surely of this host: its own name, with or without a domain, an
/// address of its interfaces, or localhost. Asks no other host what a name means.
bool isThisHost(const std::string& host);
bool isLocalhost(const std::string& host);

/// The addresses at which other hosts may reach this one: those of IPv4, or where there are none
/// those of IPv6. At least one.
std::vector<std::string> addressesOfThisHost();

/// CUDA_VISIBLE_DEVICES of the rank with that LOCAL_RANK: the GPUs of its host's ranks, each once.
/// A program that takes the device LOCAL_RANK, modulo their number, finds its own. Empty where none
/// is given.
std::string visibleDevices(const HostOfRun& host, std::size_t localRank);

/// The places of the host's ranks in a run of `ranks` ranks, as far as the list of hosts says them.
std::vector<RankPlace> placesOn(const HostOfRun& host, int ranks);

/// This host with all ranks of a run, without GPUs.
HostOfRun thisHostAlone(int ranks);

}  // namespace pipetrace
