#include "parser/foreign/names/name_pattern.h"

#include "trace/text/log_numbers.h"

namespace pipetrace {
namespace {

re2::RE2::Options quietNameOptions() {
  re2::RE2::Options options;
  options.set_log_errors(false);
  return options;
}

template <typename Number>
void setNameNumber(std::string_view digits, Number& field) {
  const auto number = parseNumber<Number>(digits);
  if (number && *number >= 0) field = *number;
}

}  // namespace

NamePattern::NamePattern(std::string_view pattern, JobKind kind)
    : pattern_(re2::StringPiece(pattern.data(), pattern.size()), quietNameOptions()), kind_(kind) {
  if (!pattern_.ok()) {
    fault_ = pattern_.error();
    return;
  }
  groups_.resize(static_cast<std::size_t>(pattern_.NumberOfCapturingGroups()), Field::kNone);
  for (const auto& [name, index] : pattern_.NamedCapturingGroups()) {
    Field& field = groups_[static_cast<std::size_t>(index - 1)];
    field = fieldOf(name);
    if (field == Field::kNone) {
      fault_ =
          "no group is called " + name + ": there are step, micro_batch_id, stage, chunk and part";
    }
  }
}

NamePattern::Field NamePattern::fieldOf(const std::string& group) {
  if (group == "step") return Field::kStep;
  if (group == "micro_batch_id") return Field::kMicroBatch;
  if (group == "stage") return Field::kStage;
  if (group == "chunk") return Field::kChunk;
  return group == "part" ? Field::kPart : Field::kNone;
}

std::optional<JobName> NamePattern::match(std::string_view name) const {
  std::vector<re2::StringPiece> texts(groups_.size() + 1);
  const re2::StringPiece text(name.data(), name.size());
  if (!pattern_.Match(text, 0, name.size(), re2::RE2::ANCHOR_BOTH, texts.data(),
                      static_cast<int>(texts.size()))) {
    return std::nullopt;
  }
  JobName job;
  job.kind = kind_;
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    const std::string_view digits(texts[i + 1].data(), texts[i + 1].size());
    switch (groups_[i]) {
      case Field::kStep: setNameNumber(digits, job.step); break;
      case Field::kMicroBatch: setNameNumber(digits, job.microBatch); break;
      case Field::kStage: setNameNumber(digits, job.stage); break;
      case Field::kChunk: setNameNumber(digits, job.chunk); break;
      case Field::kPart: setNameNumber(digits, job.part); break;
      case Field::kNone: break;
    }
  }
  return job;
}

}  // namespace pipetrace
