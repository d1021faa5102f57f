#include "parser/foreign/names/foreign_names.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace pipetrace {
namespace {

enum class OtherField { kStep, kMicroBatch, kStage, kChunk };

constexpr std::pair<std::string_view, OtherField> kOtherKeys[] = {
    {"iteration", OtherField::kStep},           {"mb_id", OtherField::kMicroBatch},
    {"microbatch", OtherField::kMicroBatch},    {"micro_batch_id", OtherField::kMicroBatch},
    {"microbatch_id", OtherField::kMicroBatch}, {"minibatch", OtherField::kMicroBatch},
    {"model_chunk", OtherField::kChunk},        {"pp_rank", OtherField::kStage},
};

template <typename Number>
void setIfNone(Number& field, Number value) {
  if (field == kNotGiven) field = value;
}

/// Whether the field holds the value now.
template <typename Number>
bool take(Number& field, std::int64_t value) {
  if (value > std::numeric_limits<Number>::max()) return false;
  setIfNone(field, static_cast<Number>(value));
  return field == value;
}

}  // namespace

StringId ForeignNames::categoryOf(const Event& event) const {
  for (const Argument& argument : timeline_.argumentsOf(event)) {
    if (argument.key == category_ && argument.type == ArgumentType::kText) return argument.text;
  }
  return 0;
}

const JobName& ForeignNames::known(StringId text) {
  if (known_.size() <= text) known_.resize(timeline_.strings.size());
  const JobName*& name = known_[text];
  if (name == nullptr) name = &names_[timeline_.strings[text]];
  return *name;
}

bool ForeignNames::describeAsAsked(Event& event) {
  if (!names_.isAsked()) return false;
  for (const StringId text : {event.name, categoryOf(event)}) {
    const JobName& name = known(text);
    if (!name.isAsked) continue;
    event.kind = name.kind;
    give(event, name);
    return true;
  }
  return false;
}

void ForeignNames::describe(Event& event) {
  if (describeAsAsked(event)) return;
  const JobName& byName = known(event.name);
  if (event.kind == JobKind::kOther) {
    const JobName& name = byName.kind != JobKind::kOther ? byName : known(categoryOf(event));
    event.kind = name.kind;
    if (name.kind != JobKind::kOther) give(event, name);
  } else if (event.kind == JobKind::kKernel) {
    if (isCollective(byName.kind)) event.kind = byName.kind;
  } else {
    give(event, byName.kind == event.kind ? byName : JobName{});
  }
}

void ForeignNames::give(Event& event, const JobName& name) {
  setIfNone(event.step, name.step);
  setIfNone(event.microBatch, name.microBatch);
  setIfNone(event.stage, name.stage);
  setIfNone(event.chunk, name.chunk);
  setIfNone(event.part, name.part);
  takeArguments(event);
  // Such a name says less than the one made of kind and numbers.
  if (timeline_.strings[event.name] == logName(event.kind)) event.name = 0;
}

bool ForeignNames::takeArgument(const Argument& argument, Event& event) {
  if (argument.type != ArgumentType::kInteger) return false;
  const std::string_view key = timeline_.strings[argument.key];
  const auto* const known = std::find_if(std::begin(kOtherKeys), std::end(kOtherKeys),
                                         [&](const auto& other) { return other.first == key; });
  if (known == std::end(kOtherKeys)) return false;
  if (argument.integer < 0) return true;  // they mean "none"
  switch (known->second) {
    case OtherField::kStep: return take(event.step, argument.integer);
    case OtherField::kMicroBatch: return take(event.microBatch, argument.integer);
    case OtherField::kStage: hasPositions_ = true; return take(event.stage, argument.integer);
    case OtherField::kChunk: return take(event.chunk, argument.integer);
  }
  return false;
}

/// Removes the arguments that became fields.
void ForeignNames::takeArguments(Event& event) {
  const auto first = timeline_.arguments.begin() + event.firstArgument;
  const auto last = first + event.argumentCount;
  const auto kept = std::remove_if(
      first, last, [&](const Argument& argument) { return takeArgument(argument, event); });
  event.argumentCount = static_cast<std::uint16_t>(kept - first);
}

}  // namespace pipetrace
