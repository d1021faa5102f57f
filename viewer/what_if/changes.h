#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/what_if/what_if.h"

namespace pipetrace {

/// Changes of a run as the panel holds them: a value, whose parts are the options of `pipe-trace
/// what-if`. Empty texts and zeros: not changed.
struct WhatIfChanges {
  /// A factor in billionths (ScaleOption::billionths).
  using Factor = std::int64_t;
  using Link = std::pair<int, int>;  ///< two ranks, the lower one first

  std::map<int, Factor> stages;
  std::map<int, Factor> ranks;
  std::map<Link, Factor> links;
  std::map<Link, Nanoseconds> linkTimes;
  std::map<std::string, Factor> kinds;  ///< by the words of `--scale kind=`
  bool balancesStages = false;
  bool leavesOutLaunches = false;
  std::set<int> usualLaunches;
  std::vector<std::string> ideals;  ///< sets of `--make-ideal`

  std::string schedule;
  std::string split;
  int chunks = 0;
  std::string depths;
  int microBatches = 0;
  bool keepsBatch = false;
  std::string partition;  ///< numbers of blocks by stage, or a file of them
  std::string blocks;     ///< `equal`; tables of files are the command's
  std::string runPartition;
  std::string limitActivations;
  std::string lines;
  std::string transfers;

  bool operator==(const WhatIfChanges&) const = default;
  bool empty() const { return *this == WhatIfChanges(); }
  /// Whether it asks for another plan, or for another order of messages: a simulation answers.
  bool isOfPlan() const;

  /// The options of `pipe-trace what-if` that ask for the same: "--scale stage=2:0.8". In the order
  /// of its `asked`.
  std::vector<std::string> asked() const;
  /// The same as one text; of() reads it.
  std::string text() const;
  /// The changes of such a text. Throws Error, which begins with the option, for what it does not
  /// know.
  static WhatIfChanges of(std::string_view text);
  /// What the command asks with these options. Throws Error, which begins with the option.
  WhatIfQuestion question() const;
};

/// "0.8", "1.25": at most nine decimals.
std::string factorText(WhatIfChanges::Factor factor);
/// "3.25ms", as `--link` takes it.
std::string linkTimeText(Nanoseconds time);

}  // namespace pipetrace
