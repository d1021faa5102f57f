#include "parser/foreign/kineto/host/host_work.h"

#include <algorithm>

namespace pipetrace {

std::optional<HostSpan> HostWork::within(const HostSpan& span) const {
  std::optional<HostSpan> found;
  auto next = std::partition_point(operators.begin(), operators.end(),
                                   [&](const HostSpan& each) { return each.begin < span.begin; });
  for (; next != operators.end() && next->begin <= span.end; ++next) {
    if (next->end > span.end) continue;
    if (!found) found = *next;
    found->end = std::max(found->end, next->end);
  }
  return found;
}

Nanoseconds HostWork::lastEndBy(Nanoseconds time) const {
  const auto next = std::upper_bound(ends.begin(), ends.end(), time);
  return next == ends.begin() ? kNsMin : *std::prev(next);
}

std::optional<Nanoseconds> HostWork::firstAutogradIn(const HostSpan& span) const {
  const auto found = std::lower_bound(autogradBegins.begin(), autogradBegins.end(), span.begin);
  if (found == autogradBegins.end() || *found > span.end) return std::nullopt;
  return *found;
}

const HostWork::Note* HostWork::noteOf(const Message& message) const {
  const auto next = std::partition_point(notes.begin(), notes.end(), [&](const Note& note) {
    return note.span.begin <= message.posted.begin;
  });
  if (next == notes.begin()) return nullptr;
  const Note& note = *std::prev(next);
  const bool isOfItsKind = isSend(note.kind) == message.isSend;
  return isOfItsKind && note.span.holds(message.posted.begin) ? &note : nullptr;
}

HostWork readHostWork(const std::vector<Event>& events, const KinetoWords& words,
                      ForeignNames& names) {
  HostWork work;
  HostSpan post;
  for (std::size_t i = 0; i < events.size(); ++i) {
    const Event& event = events[i];
    const HostSpan span{event.begin, event.end};
    const KinetoCategory category = words.categoryOf(event);
    if (category == KinetoCategory::kOperator) {
      if (words.isPost(event)) post = span;
      if (words.isOfProcessGroup(event)) continue;
      work.operators.push_back(span);
      work.ends.push_back(span.end);
      if (words.isAutograd(event)) work.autogradBegins.push_back(span.begin);
    } else if (category != KinetoCategory::kAnnotation) {
      continue;
    } else if (words.isReceive(event) || words.isSend(event)) {
      const HostSpan posted = post.holds(event.begin) ? post : HostSpan{event.begin, event.begin};
      work.messages.push_back({i, posted, event.end, words.isSend(event)});
    } else if (isTransfer(event.kind)) {
      const JobName& name = names.known(event.name);
      work.notes.push_back({i, span, event.kind, name.stage, name.microBatch});
    }
  }
  std::sort(work.ends.begin(), work.ends.end());
  return work;
}

}  // namespace pipetrace
