#include "runtime/control/same_run.h"

#include <algorithm>
#include <map>
#include <sstream>

#include "trace/error.h"
#include "trace/text/ranks_text.h"

namespace pipetrace {

namespace {

constexpr const char* kSame = "same";

std::string factsKeyOf(int rank) { return "facts/" + std::to_string(rank); }

std::string linesOf(const RunFacts& facts) {
  std::string lines;
  for (const auto& [name, value] : facts) lines += value + "\n";
  return lines;
}

std::vector<std::string> valuesIn(const std::string& lines) {
  std::vector<std::string> values;
  std::istringstream in(lines);
  for (std::string line; std::getline(in, line);) values.push_back(line);
  return values;
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

std::string verdictOf(const std::vector<std::vector<std::string>>& byRank, const RunFacts& facts) {
  std::string text;
  for (std::size_t i = 0; i < facts.size(); ++i) {
    std::vector<std::string> values;
    for (const std::vector<std::string>& of : byRank) values.push_back(i < of.size() ? of[i] : "");
    const std::string difference = differenceIn(facts[i].first, values);
    if (!difference.empty()) text += (text.empty() ? "" : "; ") + difference;
  }
  return text.empty() ? kSame : text;
}

}  // namespace

void requireSameRun(KeyValue& store, int rank, int worldSize, const RunFacts& facts,
                    Nanoseconds timeout) {
  const std::string verdictKey = "facts/verdict";
  if (rank == 0) {
    std::vector<std::vector<std::string>> byRank = {valuesIn(linesOf(facts))};
    for (int other = 1; other < worldSize; ++other) {
      byRank.push_back(valuesIn(store.get(factsKeyOf(other), timeout)));
    }
    store.set(verdictKey, verdictOf(byRank, facts));
  } else {
    store.set(factsKeyOf(rank), linesOf(facts));
  }
  const std::string verdict = store.get(verdictKey, timeout);
  if (verdict != kSame) throw Error("the ranks were not started alike: " + verdict);
}

}  // namespace pipetrace
