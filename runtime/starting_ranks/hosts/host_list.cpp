#include "runtime/starting_ranks/hosts/host_list.h"

#include <ifaddrs.h>
#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <memory>
#include <numeric>

#include "trace/error.h"
#include "trace/sockets/tcp.h"

namespace pipetrace {
namespace {

constexpr int kMostDevices = 1024;

std::string nameOfThisHost() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

struct FreeAddressList {
  void operator()(ifaddrs* list) const { freeifaddrs(list); }
};

/// The addresses of all interfaces, or of those that lead to other hosts.
std::vector<std::string> ownAddresses(int family, bool withLoopback) {
  std::vector<std::string> addresses;
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) return addresses;
  const std::unique_ptr<ifaddrs, FreeAddressList> owner(list);
  for (const ifaddrs* one = list; one != nullptr; one = one->ifa_next) {
    if (one->ifa_addr == nullptr || one->ifa_addr->sa_family != family) continue;
    std::array<char, NI_MAXHOST> text{};
    const socklen_t size = family == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
    if (getnameinfo(one->ifa_addr, size, text.data(), text.size(), nullptr, 0, NI_NUMERICHOST) !=
        0) {
      continue;
    }
    const std::string address = text.data();
    if (withLoopback || !isLoopback(address)) addresses.push_back(address);
  }
  return addresses;
}

bool isPlainName(const std::string& host) {
  return !host.empty() && host.front() != '-' &&
         std::all_of(host.begin(), host.end(), [](unsigned char c) { return c > ' ' && c != 127; });
}

/// The GPU's number in the text after the colon.
int deviceIn(const std::string& text, const std::string& whole) {
  int device = -1;
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, device);
  if (error != std::errc() || end != last || device < 0 || device >= kMostDevices) {
    throw Error("\"" + whole + "\" is no HOST:GPU, as '" + text + "' is no number of a GPU");
  }
  return device;
}

}  // namespace

bool isLocalhost(const std::string& host) {
  return host == "localhost" || host.starts_with("localhost.") || isLoopback(host);
}

bool isThisHost(const std::string& host) {
  if (isLocalhost(host)) return true;
  const std::string own = nameOfThisHost();
  const auto shortOf = [](const std::string& name) { return name.substr(0, name.find('.')); };
  if (isAddress(host)) {
    for (const int family : {AF_INET, AF_INET6}) {
      const std::vector<std::string> addresses = ownAddresses(family, true);
      if (std::find(addresses.begin(), addresses.end(), host) != addresses.end()) return true;
    }
    return false;
  }
  if (host == own) return true;
  const bool bothAreWhole =
      host.find('.') != std::string::npos && own.find('.') != std::string::npos;
  return !bothAreWhole && !own.empty() && shortOf(host) == shortOf(own);
}

std::vector<std::string> addressesOfThisHost() {
  std::vector<std::string> addresses = ownAddresses(AF_INET, false);
  if (!addresses.empty()) return addresses;
  addresses = ownAddresses(AF_INET6, false);
  // An address of a link means nothing without the name of the interface, which differs by host.
  std::erase_if(addresses, [](const std::string& one) { return one.starts_with("fe80:"); });
  if (addresses.empty()) return {"127.0.0.1"};  // which no other host reaches
  return addresses;
}

RankHost parseRankHost(const std::string& text) {
  RankHost result;
  std::string device;
  if (text.starts_with("[")) {
    const std::size_t end = text.find(']');
    if (end == std::string::npos) throw Error("\"" + text + "\" has no ] after the address");
    result.host = text.substr(1, end - 1);
    device = text.substr(end + 1);
    if (!device.empty() && device.front() != ':') {
      throw Error("\"" + text + "\" is no [ADDRESS]:GPU");
    }
  } else {
    const std::size_t colon = text.find(':');
    if (colon != std::string::npos && text.find(':', colon + 1) != std::string::npos) {
      throw Error("\"" + text +
                  "\" has several colons; an IPv6 address is in brackets: [fd00::1]:0");
    }
    result.host = text.substr(0, colon);
    if (colon != std::string::npos) device = text.substr(colon);
  }
  if (!isPlainName(result.host)) throw Error("\"" + text + "\" begins with no name of a host");
  if (!device.empty()) result.device = deviceIn(device.substr(1), text);
  return result;
}

std::vector<HostOfRun> hostsOf(const std::vector<RankHost>& ranks) {
  std::vector<HostOfRun> hosts;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    const RankHost& one = ranks[rank];
    const bool isHere = isThisHost(one.host);
    auto host = std::find_if(hosts.begin(), hosts.end(), [&](const HostOfRun& other) {
      return other.host == one.host || (isHere && other.isHere);
    });
    if (host == hosts.end()) {
      host = hosts.insert(host, {.host = one.host, .isHere = isHere, .ranks = {}, .devices = {}});
    }
    host->ranks.push_back(static_cast<int>(rank));
    host->devices.push_back(one.device);
  }
  for (const HostOfRun& host : hosts) {
    const auto without = std::count(host.devices.begin(), host.devices.end(), -1);
    if (without != 0 && static_cast<std::size_t>(without) != host.devices.size()) {
      throw Error("host " + host.host +
                  " has ranks with a GPU and ranks without one; give all one");
    }
  }
  for (const RankHost& one : ranks) {
    if (hosts.size() < 2 || !isLocalhost(one.host)) continue;
    throw Error(one.host + " is another host on every host; beside " +
                (hosts[0].isHere ? hosts[1] : hosts[0]).host +
                ", give the name or the address by which the others reach this one");
  }
  return hosts;
}

std::string visibleDevices(const HostOfRun& host, std::size_t localRank) {
  const int own = host.devices[localRank];
  if (own < 0) return {};
  std::vector<int> devices;
  for (const int device : host.devices) {
    if (std::find(devices.begin(), devices.end(), device) == devices.end()) {
      devices.push_back(device);
    }
  }
  std::iter_swap(std::find(devices.begin(), devices.end(), own),
                 devices.begin() + static_cast<std::ptrdiff_t>(localRank % devices.size()));
  std::string text;
  for (const int device : devices) text += (text.empty() ? "" : ",") + std::to_string(device);
  return text;
}

std::vector<RankPlace> placesOn(const HostOfRun& host, int ranks) {
  std::vector<RankPlace> places;
  for (std::size_t i = 0; i < host.ranks.size(); ++i) {
    places.push_back({.rank = host.ranks[i],
                      .ranks = ranks,
                      .localRank = static_cast<int>(i),
                      .localRanks = static_cast<int>(host.ranks.size()),
                      .devices = visibleDevices(host, i)});
  }
  return places;
}

HostOfRun thisHostAlone(int ranks) {
  HostOfRun host{.isHere = true};
  host.ranks.resize(static_cast<std::size_t>(ranks));
  std::iota(host.ranks.begin(), host.ranks.end(), 0);
  host.devices.assign(host.ranks.size(), -1);
  return host;
}

}  // namespace pipetrace
