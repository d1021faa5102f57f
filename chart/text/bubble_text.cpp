#include "chart/text/bubble_text.h"

#include <algorithm>

#include "trace/event_arguments.h"
#include "trace/text/decimal_time.h"

namespace pipetrace {

std::string bubbleClassWords(BubbleClass bubbleClass) {
  std::string words(bubbleClassName(bubbleClass));
  std::replace(words.begin(), words.end(), '_', ' ');
  return words;
}

std::string BubbleText::job() const {
  for (const Argument& argument : timeline_.argumentsOf(bubble_)) {
    if (argument.type != ArgumentType::kText) continue;
    if (timeline_.strings[argument.key] != bubble_arguments::kCulprit) continue;
    return std::string(timeline_.strings[argument.text]);
  }
  return {};
}

std::string BubbleText::culprit() const {
  const std::string name = job();
  if (bubble_.peer < 0) return name;
  const std::string rank = "rank " + std::to_string(bubble_.peer);
  return name.empty() ? rank : name + " on " + rank;
}

std::string BubbleText::withLength() const {
  const std::string first = className();
  return first.empty() ? "" : first + " " + shortDuration(bubble_.duration());
}

std::string BubbleText::withLengthAndCulprit() const {
  const std::string whom = culprit();
  const std::string first = withLength();
  return whom.empty() || first.empty() ? "" : first + ", " + whom;
}

std::string BubbleText::withCulprit() const {
  const std::string whom = culprit();
  const std::string first = className();
  return whom.empty() || first.empty() ? "" : first + ", " + whom;
}

}  // namespace pipetrace
