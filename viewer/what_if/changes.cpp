#include "viewer/what_if/changes.h"

#include <algorithm>
#include <optional>

#include "schedule/comm_streams.h"
#include "schedule/partition/partition_file.h"
#include "schedule/scale/scale_option.h"
#include "trace/error.h"
#include "trace/text/decimal_time.h"
#include "trace/text/log_numbers.h"

namespace pipetrace {
namespace {

constexpr std::string_view kAlike = "equal";

/// A decimal number without zeros at its end.
std::string withoutZeros(std::string text) {
  if (text.find('.') == std::string::npos) return text;
  text.erase(text.find_last_not_of('0') + 1);
  if (text.ends_with('.')) text.pop_back();
  return text;
}

std::string linkText(const WhatIfChanges::Link& link) {
  return std::to_string(link.first) + "-" + std::to_string(link.second);
}

WhatIfChanges::Link linkOf(int rank, int peer) { return std::minmax(rank, peer); }

int numberOf(std::string_view option, std::string_view value) {
  const auto number = parseNumber<int>(value);
  if (!number || *number < 0) {
    throw Error(std::string(option) + " " + std::string(value) + ": it takes a number");
  }
  return *number;
}

/// "3:1": the input half and the weight half of a backward.
std::pair<int, int> splitOf(const std::string& text) {
  const std::size_t colon = text.find(':');
  const std::string_view all = text;
  if (colon != std::string::npos) {
    const auto input = parseNumber<int>(all.substr(0, colon));
    const auto weight = parseNumber<int>(all.substr(colon + 1));
    if (input && weight && *input > 0 && *weight > 0) return {*input, *weight};
  }
  throw Error("--split " + text + ": write it as 1:1 or 3:2, the input half and the weight half");
}

CommStreams linesOf(const std::string& name) {
  for (const CommStreamsRow& row : kCommStreams) {
    if (row.name == name) return row.of;
  }
  throw Error("--comm-streams " + name + ": no lines have that name");
}

BlockPartition partitionOf(const char* option, const std::string& text) {
  try {
    return blockPartitionOf(partitionOption(text));
  } catch (const Error& error) {
    throw Error(std::string(option) + ": " + error.what());
  }
}

void readScale(const std::string& value, WhatIfChanges& changes) {
  const ScaleOption scale = parseScale(value, ZeroScale::kOfKinds);
  switch (scale.of) {
    case ScaleOption::Of::kStage: changes.stages[scale.number] = scale.billionths; break;
    case ScaleOption::Of::kRank: changes.ranks[scale.number] = scale.billionths; break;
    case ScaleOption::Of::kLink:
      changes.links[linkOf(scale.number, scale.peer)] = scale.billionths;
      break;
    case ScaleOption::Of::kKind: {
      constexpr std::string_view kKind = "kind=";
      const std::size_t colon = value.rfind(':');
      changes.kinds[value.substr(kKind.size(), colon - kKind.size())] = scale.billionths;
      break;
    }
  }
}

/// Reads an option with a value. False: there is none of that name.
bool readOption(std::string_view option, const std::string& value, WhatIfChanges& changes) {
  const std::pair<std::string_view, std::string WhatIfChanges::*> kTexts[] = {
      {"--schedule", &WhatIfChanges::schedule},
      {"--split", &WhatIfChanges::split},
      {"--stage-depths", &WhatIfChanges::depths},
      {"--partition", &WhatIfChanges::partition},
      {"--blocks", &WhatIfChanges::blocks},
      {"--run-partition", &WhatIfChanges::runPartition},
      {"--limit-activations", &WhatIfChanges::limitActivations},
      {"--comm-streams", &WhatIfChanges::lines},
      {"--transfers", &WhatIfChanges::transfers}};
  for (const auto& [name, member] : kTexts) {
    if (option != name) continue;
    changes.*member = value;
    return true;
  }
  if (option == "--scale") {
    readScale(value, changes);
  } else if (option == "--link") {
    const Faults::Link link = parseLink(value);
    changes.linkTimes[linkOf(link.rank, link.peer)] = link.transfer;
  } else if (option == "--balance") {
    if (value != "stages") throw Error("--balance " + value + ": it is stages");
    changes.balancesStages = true;
  } else if (option == "--make-ideal") {
    changes.ideals.push_back(IdealSet::parse(value).text);
  } else if (option == "--usual-launch") {
    changes.usualLaunches.insert(numberOf(option, value));
  } else if (option == "--chunks") {
    changes.chunks = numberOf(option, value);
  } else if (option == "--micro-batches") {
    changes.microBatches = numberOf(option, value);
  } else {
    return false;
  }
  return true;
}

std::vector<std::string> wordsOf(std::string_view text) {
  std::vector<std::string> words;
  while (true) {
    const std::size_t begin = text.find_first_not_of(' ');
    if (begin == std::string_view::npos) return words;
    text.remove_prefix(begin);
    const std::size_t end = std::min(text.find(' '), text.size());
    words.emplace_back(text.substr(0, end));
    text.remove_prefix(end);
  }
}

}  // namespace

std::string factorText(WhatIfChanges::Factor factor) {
  // A billionth is to one as a nanosecond is to a second.
  std::string text = std::to_string(factor / ScaleOption::kOne) + ".";
  const std::string rest = std::to_string(factor % ScaleOption::kOne);
  return withoutZeros(text + std::string(9 - rest.size(), '0') + rest);
}

std::string linkTimeText(Nanoseconds time) {
  std::string text;
  appendMilliseconds(text, time);
  return withoutZeros(std::move(text)) + "ms";
}

bool WhatIfChanges::isOfPlan() const {
  return !schedule.empty() || chunks > 0 || !depths.empty() || microBatches > 0 ||
         !partition.empty() || !lines.empty() || !transfers.empty();
}

std::vector<std::string> WhatIfChanges::asked() const {
  std::vector<std::string> list;
  const auto add = [&](const char* option, const std::string& value) {
    if (!value.empty()) list.push_back(std::string(option) + " " + value);
  };
  const auto scale = [&](const std::string& what, Factor factor) {
    add("--scale", what + ":" + factorText(factor));
  };
  const auto addNumber = [&](const char* option, int value) {
    if (value > 0) add(option, std::to_string(value));
  };
  for (const auto& [stage, factor] : stages) scale("stage=" + std::to_string(stage), factor);
  for (const auto& [rank, factor] : ranks) scale("rank=" + std::to_string(rank), factor);
  for (const auto& [link, factor] : links) scale("link=" + linkText(link), factor);
  for (const auto& [kind, factor] : kinds) scale("kind=" + kind, factor);
  for (const auto& [link, time] : linkTimes) {
    add("--link", linkText(link) + "=" + linkTimeText(time));
  }
  if (balancesStages) add("--balance", "stages");
  for (const std::string& set : ideals) add("--make-ideal", set);
  if (leavesOutLaunches) list.emplace_back("--no-launch");
  for (const int rank : usualLaunches) add("--usual-launch", std::to_string(rank));
  add("--schedule", schedule);
  if (!schedule.empty()) add("--split", split);
  addNumber("--chunks", chunks);
  add("--stage-depths", depths);
  addNumber("--micro-batches", microBatches);
  if (keepsBatch && microBatches > 0) list.emplace_back("--keep-batch");
  add("--partition", partition);
  if (isOfPlan()) add("--blocks", blocks);
  if (isOfPlan() && !blocks.empty()) add("--run-partition", runPartition);
  if (!schedule.empty()) add("--limit-activations", limitActivations);
  add("--comm-streams", lines);
  add("--transfers", transfers);
  return list;
}

std::string WhatIfChanges::text() const {
  std::string text;
  for (const std::string& each : asked()) text += (text.empty() ? "" : " ") + each;
  return text;
}

WhatIfChanges WhatIfChanges::of(std::string_view text) {
  WhatIfChanges changes;
  const std::vector<std::string> words = wordsOf(text);
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& option = words[i];
    if (option == "--no-launch") {
      changes.leavesOutLaunches = true;
    } else if (option == "--keep-batch") {
      changes.keepsBatch = true;
    } else if (i + 1 == words.size() || !readOption(option, words[i + 1], changes)) {
      throw Error(option + ": the panel has no such change");
    } else {
      ++i;
    }
  }
  return changes;
}

WhatIfQuestion WhatIfChanges::question() const {
  WhatIfQuestion question;
  const auto scale = [&](const std::string& what, Factor factor) {
    question.run.scales.push_back(parseScale(what + ":" + factorText(factor), ZeroScale::kOfKinds));
  };
  for (const auto& [stage, factor] : stages) scale("stage=" + std::to_string(stage), factor);
  for (const auto& [rank, factor] : ranks) scale("rank=" + std::to_string(rank), factor);
  for (const auto& [link, factor] : links) scale("link=" + linkText(link), factor);
  for (const auto& [kind, factor] : kinds) scale("kind=" + kind, factor);
  for (const auto& [link, time] : linkTimes) {
    const std::string option = "--link " + linkText(link) + "=" + linkTimeText(time);
    question.run.links.push_back({link.first, link.second, time, option});
  }
  question.run.balancesStages = balancesStages;
  for (const std::string& set : ideals) question.run.ideals.push_back(IdealSet::parse(set));
  question.run.leavesOutLaunches = leavesOutLaunches;
  question.run.usualLaunches = {usualLaunches.begin(), usualLaunches.end()};
  question.plan.schedule = schedule;
  question.plan.chunks = chunks;
  question.plan.microBatches = microBatches;
  question.plan.keepsBatch = keepsBatch && microBatches > 0;
  if (!split.empty() && !schedule.empty()) question.plan.split = splitOf(split);
  if (!depths.empty()) question.plan.depths = stageDepthsOption(depths);
  if (!lines.empty()) question.plan.lines = linesOf(lines);
  question.plan.transfers = transfers;
  if (!limitActivations.empty() && !schedule.empty()) {
    const auto limit = parseNumber<double>(limitActivations);
    if (!limit || *limit <= 0) {
      throw Error("--limit-activations " + limitActivations + ": it is a number above 0");
    }
    question.plan.activationLimit = *limit;
  }
  if (!blocks.empty() && isOfPlan()) {
    if (blocks != kAlike) {
      throw Error("--blocks " + blocks + ": tables of files are for pipe-trace what-if");
    }
    question.blocks = GivenBlocks();
    if (!runPartition.empty()) {
      question.blocks->partition = partitionOf("--run-partition", runPartition);
    }
  }
  if (!partition.empty()) {
    if (!question.blocks) {
      throw Error("--partition " + partition + " needs the blocks of the model: equal");
    }
    question.plan.partition = partitionOf("--partition", partition);
  }
  return question;
}

}  // namespace pipetrace
