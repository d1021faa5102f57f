#include "parser/foreign/logs/line_pattern.h"

#include <algorithm>

#include "trace/error.h"

namespace pipetrace {
namespace {

constexpr std::pair<std::string_view, LineField> kGroups[] = {
    {"type", LineField::kType},
    {"name", LineField::kName},
    {"start", LineField::kStart},
    {"end", LineField::kEnd},
    {"dur", LineField::kDuration},
    {"duration", LineField::kDuration},
    {"micro_batch_id", LineField::kMicroBatch},
    {"micro_batch", LineField::kMicroBatch},
    {"step", LineField::kStep},
    {"stage", LineField::kStage},
    {"chunk", LineField::kChunk},
    {"part", LineField::kPart},
    {"id", LineField::kId},
    {"rank", LineField::kRank},
    {"peer", LineField::kPeer},
    {"stream", LineField::kStream},
};

constexpr const char* kAdvice =
    "; as in --pattern 'job (?P<type>\\w+) mb=(?P<micro_batch_id>\\d+) (?P<start>[\\d.]+) "
    "(?P<end>[\\d.]+)'";

LineField fieldOf(std::string_view group) {
  const auto* const found = std::find_if(std::begin(kGroups), std::end(kGroups),
                                         [&](const auto& known) { return known.first == group; });
  return found == std::end(kGroups) ? LineField::kArgument : found->second;
}

re2::RE2::Options quietly() {
  re2::RE2::Options options;
  options.set_log_errors(false);
  return options;
}

}  // namespace

LinePattern::LinePattern(const std::string& pattern, Nanoseconds unit)
    : pattern_(pattern, quietly()), unit_(unit) {
  if (!pattern_.ok()) {
    throw Error("--pattern is no regular expression: " + pattern_.error() + " (in \"" + pattern +
                "\"); the syntax is RE2's");
  }
  for (const auto& [name, index] : pattern_.NamedCapturingGroups()) {
    const LineField field = fieldOf(name);
    if (field != LineField::kArgument && has(field)) {
      throw Error("--pattern has two groups that mean the same: one of them is " + name);
    }
    groups_.push_back({field, name, index});
  }
  if (!has(LineField::kType) && !has(LineField::kName)) {
    throw Error(std::string("--pattern has no group called type") + kAdvice);
  }
  if (!has(LineField::kStart)) {
    throw Error(std::string("--pattern has no group called start") + kAdvice);
  }
  if (!has(LineField::kEnd) && !has(LineField::kDuration)) {
    throw Error(std::string("--pattern has no group called end or duration") + kAdvice);
  }
}

bool LinePattern::has(LineField field) const {
  return std::any_of(groups_.begin(), groups_.end(),
                     [&](const Group& group) { return group.field == field; });
}

bool LinePattern::match(std::string_view line, std::vector<re2::StringPiece>& texts) const {
  texts.resize(static_cast<std::size_t>(pattern_.NumberOfCapturingGroups()) + 1);
  return pattern_.Match(re2::StringPiece(line.data(), line.size()), 0, line.size(),
                        re2::RE2::UNANCHORED, texts.data(), static_cast<int>(texts.size()));
}

}  // namespace pipetrace
