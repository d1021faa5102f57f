#include "runtime/starting_ranks/hosts/host_list.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <array>

#include "trace/error.h"

namespace pipetrace {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

std::vector<RankHost> parsed(const std::vector<std::string>& texts) {
  std::vector<RankHost> hosts;
  for (const std::string& text : texts) hosts.push_back(parseRankHost(text));
  return hosts;
}

std::string complaintOf(const std::vector<std::string>& texts) {
  try {
    hostsOf(parsed(texts));
    return "none";
  } catch (const Error& e) {
    return e.what();
  }
}

std::string ownName() {
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  return name.data();
}

TEST(HostListTest, HostsAreReadWithAndWithoutAGpu) {
  const auto hosts = parsed({"a:3", "me@b.cluster", "10.9.0.1:0", "[fd00::1]:2", "[fd00::1]"});
  EXPECT_EQ(hosts[0].host, "a");
  EXPECT_EQ(hosts[0].device, 3);
  EXPECT_EQ(hosts[1].host, "me@b.cluster");
  EXPECT_EQ(hosts[1].device, -1);
  EXPECT_EQ(hosts[2].host, "10.9.0.1");
  EXPECT_EQ(hosts[3].host, "fd00::1");
  EXPECT_EQ(hosts[3].device, 2);
  EXPECT_EQ(hosts[4].device, -1);
}

TEST(HostListTest, TextsThatNameNoHostAreRefused) {
  for (const char* text : {"", ":0", "a:", "a:x", "a:-1", "a:99999999999", "fd00::1:0", "[fd00::1",
                           "[fd00::1]0", "-oProxyCommand=x:0", "a b:0", "a\n:0"}) {
    EXPECT_THROW(parseRankHost(text), Error) << text;
  }
}

TEST(HostListTest, RanksOfAHostAreTogetherWhereverTheyStand) {
  const auto hosts = hostsOf(parsed({"a:1", "b:0", "a:0", "c:0"}));
  ASSERT_EQ(hosts.size(), 3U);
  EXPECT_EQ(hosts[0].host, "a");
  EXPECT_THAT(hosts[0].ranks, ElementsAre(0, 2));
  EXPECT_THAT(hosts[0].devices, ElementsAre(1, 0));
  EXPECT_THAT(hosts[1].ranks, ElementsAre(1));
  EXPECT_THAT(hosts[2].ranks, ElementsAre(3));
  EXPECT_FALSE(hosts[0].isHere);
}

TEST(HostListTest, AllNamesOfThisHostAreOne) {
  const std::string own = ownName();
  if (own.empty() || isLocalhost(own)) GTEST_SKIP() << "this host has no name of its own";
  std::vector<std::string> names = {own, own.substr(0, own.find('.'))};
  for (const std::string& address : addressesOfThisHost()) {
    if (!isLocalhost(address)) names.push_back("[" + address + "]");
  }
  const auto hosts = hostsOf(parsed(names));
  ASSERT_EQ(hosts.size(), 1U);
  EXPECT_TRUE(hosts[0].isHere);
  EXPECT_EQ(hosts[0].ranks.size(), names.size());
  EXPECT_FALSE(isThisHost("no-such-" + own));
  EXPECT_FALSE(isThisHost("192.0.2.1")) << "an address for documents";
}

TEST(HostListTest, LocalhostIsThisHostAloneAndNoHostBesideOthers) {
  EXPECT_TRUE(hostsOf(parsed({"localhost:0", "127.0.0.1:1"})).at(0).isHere);
  for (const char* name : {"localhost:0", "127.0.0.1:0", "[::1]:0"}) {
    EXPECT_THAT(complaintOf({name, "b:0"}), HasSubstr("is another host on every host; beside b"));
    EXPECT_THAT(complaintOf({"b:0", name}), HasSubstr("is another host on every host; beside b"));
  }
}

TEST(HostListTest, AHostWithAndWithoutGpusIsRefused) {
  EXPECT_THAT(complaintOf({"a:0", "a"}),
              HasSubstr("host a has ranks with a GPU and ranks without"));
  EXPECT_EQ(complaintOf({"a:0", "b"}), "none");
}

/// The GPU that a program with this LOCAL_RANK takes: the LOCAL_RANKth that it sees, or if there
/// are fewer, the one after as many rounds.
int deviceTaken(const HostOfRun& host, std::size_t localRank) {
  std::vector<int> visible;
  const std::string text = visibleDevices(host, localRank);
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (at == 0 || text[at - 1] == ',') visible.push_back(std::stoi(text.substr(at)));
  }
  return visible.at(localRank % visible.size());
}

TEST(HostListTest, EachRankFindsItsGpuAtItsPlace) {
  const std::vector<std::vector<int>> cases = {{0, 1, 2, 3}, {3, 1}, {0, 0, 1},
                                               {5},          {2, 2}, {1, 0, 1, 0}};
  for (const std::vector<int>& devices : cases) {
    HostOfRun host{.host = "a", .devices = devices};
    for (std::size_t i = 0; i < devices.size(); ++i) {
      EXPECT_EQ(deviceTaken(host, i), devices[i]) << visibleDevices(host, i);
    }
  }
  EXPECT_EQ(visibleDevices({.host = "a", .devices = {3, 1}}, 0), "3,1") << "all see the same";
  EXPECT_EQ(visibleDevices({.host = "a", .devices = {3, 1}}, 1), "3,1");
  EXPECT_EQ(visibleDevices({.host = "a", .devices = {-1, -1}}, 1), "");
}

TEST(HostListTest, NoAddressOfThisHostIsALoopbackWhereItHasOthers) {
  const auto addresses = addressesOfThisHost();
  ASSERT_THAT(addresses, Not(IsEmpty()));
  if (addresses == std::vector<std::string>{"127.0.0.1"}) GTEST_SKIP() << "no network";
  for (const std::string& address : addresses) {
    EXPECT_FALSE(isLocalhost(address));
    EXPECT_TRUE(isThisHost(address));
  }
}

}  // namespace
}  // namespace pipetrace
