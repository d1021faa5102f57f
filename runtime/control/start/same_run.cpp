#include "runtime/control/start/same_run.h"

#include <algorithm>
#include <map>
#include <set>
#include <sstream>

#include "trace/error.h"
#include "trace/sockets/tcp.h"
#include "trace/text/ranks_text.h"

namespace pipetrace {

namespace {

constexpr const char* kAll = "facts/all";

std::string factsKeyOf(int rank) { return "facts/" + std::to_string(rank); }

using Lines = std::vector<std::string>;

std::string textOf(const Lines& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

Lines linesIn(const std::string& text) {
  Lines lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

/// A rank leaves this in the store.
struct Introduction {
  std::string address;
  std::string host;
  Lines facts;
};

std::string textOf(const RankPlaceInRun& place, const RunFacts& facts) {
  Lines lines = {place.address, place.host};
  for (const auto& [name, value] : facts) lines.push_back(value);
  return textOf(lines);
}

Introduction introductionIn(const std::string& text) {
  Lines lines = linesIn(text);
  lines.resize(std::max<std::size_t>(lines.size(), 2));
  return {.address = lines[0], .host = lines[1], .facts = {lines.begin() + 2, lines.end()}};
}

/// The value that most ranks have; of several, that of the lowest rank.
std::string usualOf(const std::vector<std::string>& byRank) {
  return *std::max_element(byRank.begin(), byRank.end(),
                           [&](const std::string& a, const std::string& b) {
                             return std::count(byRank.begin(), byRank.end(), a) <
                                    std::count(byRank.begin(), byRank.end(), b);
                           });
}

/// Which ranks differ in a fact; empty: none.
std::string differenceIn(const std::string& name, const std::vector<std::string>& byRank) {
  const std::string usual = usualOf(byRank);
  std::map<std::string, std::vector<int>> others;
  for (std::size_t rank = 0; rank < byRank.size(); ++rank) {
    if (byRank[rank] != usual) others[byRank[rank]].push_back(static_cast<int>(rank));
  }
  std::string text;
  for (const auto& [value, ranks] : others) {
    text += (text.empty() ? "" : "; ") + ranksText(ranks) + (ranks.size() == 1 ? " has" : " have") +
            " the " + name + " " + (value.empty() ? "none" : value);
  }
  return text.empty() ? text : text + ", where the others have " + usual;
}

/// In what the ranks differ; empty: in nothing.
std::string differencesIn(const std::vector<Introduction>& byRank, const RunFacts& facts) {
  std::string text;
  for (std::size_t i = 0; i < facts.size(); ++i) {
    Lines values;
    for (const Introduction& one : byRank) {
      values.push_back(i < one.facts.size() ? one.facts[i] : "");
    }
    const std::string difference = differenceIn(facts[i].first, values);
    if (!difference.empty()) text += (text.empty() ? "" : "; ") + difference;
  }
  return text;
}

/// An address that others reach, too; empty if there is none.
std::string addressElsewhere(const std::vector<Introduction>& byRank) {
  for (const Introduction& one : byRank) {
    if (!isLoopback(one.address)) return one.address;
  }
  return "";
}

Lines hostNames(const std::vector<Introduction>& byRank) {
  std::map<std::string, std::set<std::string>> addresses;
  for (const Introduction& one : byRank) {
    if (!isLoopback(one.address)) addresses[one.host].insert(one.address);
  }
  Lines names;
  for (const Introduction& one : byRank) {
    const bool isOne = addresses[one.host].size() < 2;
    names.push_back(isOne ? one.host : one.address);
  }
  return names;
}

/// "rank 3 did not come", by what ranks have left in the store: the clocks of ranks that wait do
/// not run out in their order.
std::string whoIsMissing(KeyValue& store, int worldSize) {
  for (int rank = 0; rank < worldSize; ++rank) {
    if (!store.has(factsKeyOf(rank))) return "rank " + std::to_string(rank) + " did not come";
  }
  return "rank 0 did not say that all have come";
}

/// Rank 0 hears of all and tells all.
void introduceAll(RunStart& start, const RankPlaceInRun& place, const RunFacts& facts) {
  std::vector<Introduction> byRank = {introductionIn(textOf(place, facts))};
  for (int other = 1; other < place.worldSize; ++other) {
    const auto missing = [&] { return whoIsMissing(start.store(), place.worldSize); };
    byRank.push_back(introductionIn(start.await(factsKeyOf(other), missing)));
  }
  const std::string difference = differencesIn(byRank, facts);
  if (!difference.empty()) start.fail("the ranks were not started alike: " + difference);
  Lines all = {addressElsewhere(byRank)};
  for (const std::string& name : hostNames(byRank)) all.push_back(name);
  start.store().set(kAll, textOf(all));
}

}  // namespace

bool RanksOfRun::hasSeveralHosts() const {
  return std::any_of(hosts.begin(), hosts.end(),
                     [&](const std::string& host) { return host != hosts.front(); });
}

RanksOfRun awaitSameRun(RunStart& start, const RankPlaceInRun& place, const RunFacts& facts) {
  start.store().set(factsKeyOf(place.rank), textOf(place, facts));
  if (place.rank == 0) introduceAll(start, place, facts);
  const auto missing = [&] { return whoIsMissing(start.store(), place.worldSize); };
  const Lines all = linesIn(start.await(kAll, missing));
  const std::string& elsewhere = all.front();
  RanksOfRun ranks{.address = place.address, .hosts = {all.begin() + 1, all.end()}};
  if (isLoopback(place.address) && !elsewhere.empty()) {
    try {
      ranks.address = addressTowards(elsewhere, 1);
    } catch (const Error& e) {
      start.fail("rank " + std::to_string(place.rank) +
                 " has no address for ranks on other hosts: " + e.what());
    }
  }
  return ranks;
}

}  // namespace pipetrace
