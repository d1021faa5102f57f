#include "parser/chrome/arrow_ends.h"

#include <algorithm>
#include <charconv>
#include <functional>
#include <map>
#include <set>
#include <tuple>

#include "parser/chrome/event.h"

namespace pipetrace {
namespace {

std::optional<std::uint64_t> hexadecimal(std::string_view text) {
  if (text.starts_with("0x") || text.starts_with("0X")) text.remove_prefix(2);
  std::uint64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, value, 16);
  if (error != std::errc{} || at != end) return std::nullopt;
  return value;
}

/// Decimals are cut off.
std::optional<std::uint64_t> decimal(std::string_view digits) {
  std::uint64_t value = 0;
  const char* const end = digits.data() + digits.size();
  if (std::from_chars(digits.data(), end, value).ec != std::errc{}) return std::nullopt;
  return value;
}

using What = ChromeArrowEnd::What;

/// Arrows of the older spelling differ by category and name, too.
std::uint64_t arrowOf(std::uint64_t id, std::string_view category, std::string_view name) {
  constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15;  // 2^64 over the golden ratio spreads the bits
  const std::hash<std::string_view> hash;
  std::uint64_t arrow = id * kOdd ^ hash(category);
  arrow = arrow * kOdd ^ hash(name);
  return arrow * kOdd;
}

std::optional<What> whatOf(const ChromeEvent& event) {
  if (event.phase == "s") return What::kBegin;
  if (event.phase == "t") return What::kStep;
  if (event.phase == "f") return event.arrow.bindsEnclosing ? What::kEnd : What::kEndAtNext;
  if (event.arrow.flowIn && event.arrow.flowOut) return What::kStep;
  if (event.arrow.flowOut) return What::kBegin;
  if (event.arrow.flowIn) return What::kEnd;
  return std::nullopt;
}

using Thread = ChromeProcess::Thread;

/// When Perfetto processes something: by time, and at equal times in the order of the trace. If
/// there are `X` events, `E` comes first, then `X`, the longest first, then the rest.
struct Moment {
  Nanoseconds time = 0;
  std::int64_t key = 0;
  std::int64_t element = 0;

  auto operator<=>(const Moment&) const = default;

  static Moment ofSpan(Nanoseconds begin, Nanoseconds length, std::int64_t element = 0) {
    return {begin, kNsMax - length, element};
  }
  static Moment ofEdge(const ChromeProcess::Edge& edge, bool hasSpans) {
    return {edge.event.begin, edge.isBegin || !hasSpans ? kNsMax : kNsMin, edge.element};
  }
  static Moment ofEnd(const ChromeArrowEnd& end) {
    return end.length < 0 ? Moment{end.time, kNsMax, end.element}
                          : ofSpan(end.time, end.length, end.element);
  }
};

/// The spans of a thread that Perfetto takes for open. One that has ended stays until another
/// begins.
class SpanStack {
 public:
  static constexpr Nanoseconds kOpen = -1;  ///< as the length of a `B`

  bool isEmpty() const { return spans_.empty(); }

  /// False where Perfetto drops the span, because it crosses another one.
  bool begin(Nanoseconds time, Nanoseconds length) {
    if (!close(time, length)) return false;
    spans_.push_back({time, length});
    return true;
  }

  void end(Nanoseconds time) {
    close(time, kOpen);
    const auto open = std::find_if(spans_.rbegin(), spans_.rend(),
                                   [](const Span& span) { return span.length == kOpen; });
    if (open == spans_.rend()) return;
    if (__builtin_sub_overflow(time, open->begin, &open->length)) open->length = kNsMax;
    if (open == spans_.rbegin()) spans_.pop_back();
  }

 private:
  struct Span {
    Nanoseconds begin = 0;
    Nanoseconds length = 0;
  };

  bool close(Nanoseconds time, Nanoseconds length) {
    bool isOpenAbove = false;
    for (std::size_t i = spans_.size(); i-- > 0;) {
      if (spans_[i].length == kOpen) {
        isOpenAbove = true;
        continue;
      }
      const Nanoseconds end = spans_[i].begin + spans_[i].length;
      if (isOpenAbove) {
        if (time <= end) continue;
        spans_.resize(i);
        isOpenAbove = false;
      } else if (end < time || (end == time && (spans_[i].length != 0 || length != 0))) {
        spans_.pop_back();
      } else if (length != kOpen && time < end && length > end - time) {
        return false;
      }
    }
    return true;
  }

  std::vector<Span> spans_;
};

/// Something that happens on a thread at a moment.
struct Happening {
  Moment moment;
  const ChromeProcess::Edge* edge = nullptr;
  const ChromeArrowEnd* end = nullptr;
  Nanoseconds length = 0;  ///< of a span, if it is neither of those
};

/// An end that a span encloses, at the moment at which it counts.
struct Bound {
  Moment moment;
  What what = What::kBegin;
  std::uint64_t arrow = 0;
};

std::vector<Happening> happeningsOn(const Thread& thread,
                                    const std::vector<const ChromeArrowEnd*>& ends, bool hasSpans) {
  std::vector<Happening> list;
  list.reserve(thread.events.size() + thread.edges.size() + ends.size());
  for (const Event& event : thread.events) {
    const Nanoseconds length = event.end - event.begin;
    list.push_back({.moment = Moment::ofSpan(event.begin, length), .length = length});
  }
  for (const auto& edge : thread.edges) {
    list.push_back({.moment = Moment::ofEdge(edge, hasSpans), .edge = &edge});
  }
  for (const ChromeArrowEnd* end : ends) {
    list.push_back({.moment = Moment::ofEnd(*end), .end = end});
  }
  // A span comes before an end that belongs to it.
  std::stable_sort(list.begin(), list.end(),
                   [](const Happening& a, const Happening& b) { return a.moment < b.moment; });
  return list;
}

void bindEnds(const Thread& thread, const std::vector<const ChromeArrowEnd*>& ends, bool hasSpans,
              std::vector<Bound>& bound) {
  SpanStack stack;
  std::vector<const ChromeArrowEnd*> waiting;
  const auto begin = [&](const Moment& moment, Nanoseconds length) {
    if (!stack.begin(moment.time, length)) return;
    for (const ChromeArrowEnd* end : waiting) {
      bound.push_back({moment, What::kEndAtNext, end->arrow});
    }
    waiting.clear();
  };
  for (const Happening& happening : happeningsOn(thread, ends, hasSpans)) {
    const ChromeArrowEnd* const end = happening.end;
    if (happening.edge != nullptr) {
      if (happening.edge->isBegin) {
        begin(happening.moment, SpanStack::kOpen);
      } else {
        stack.end(happening.moment.time);
      }
    } else if (end == nullptr) {
      begin(happening.moment, happening.length);
    } else if (end->what == What::kInstant) {
      begin(happening.moment, 0);
    } else if (end->what == What::kEndAtNext) {
      waiting.push_back(end);
    } else if (!stack.isEmpty()) {
      bound.push_back({happening.moment, end->what, end->arrow});
    }
  }
}

}  // namespace

void ChromeArrowFields::takeNumber(std::string_view key, std::string_view digits) {
  if (key == "id") id = decimal(digits);
  if (key == "bind_id") bindId = decimal(digits);
}

void ChromeArrowFields::takeText(std::string_view key, std::string_view text) {
  if (key == "id") id = hexadecimal(text);
  if (key == "bind_id") bindId = hexadecimal(text);
  if (key == "bp") bindsEnclosing = text == "e";
  if (key == "s") isOfThread = text == "t";
}

void ChromeArrowFields::takeWord(std::string_view key, std::string_view word) {
  if (key == "flow_in") flowIn = word == "true";
  if (key == "flow_out") flowOut = word == "true";
}

std::optional<ChromeArrowEnd> arrowEndOf(const ChromeEvent& event, std::int64_t element) {
  const bool isInstant = event.phase == "i" || event.phase == "I" || event.phase == "R";
  if (isInstant) {
    if (!event.arrow.isOfThread) return std::nullopt;
    return ChromeArrowEnd{.what = What::kInstant, .time = *event.ts, .element = element};
  }
  const bool isSpan = event.phase == "X" || event.phase == "B";
  const std::optional<std::uint64_t>& id = isSpan ? event.arrow.bindId : event.arrow.id;
  const std::optional<What> what = whatOf(event);
  if (!id || !what) return std::nullopt;
  return ChromeArrowEnd{.what = *what,
                        .time = *event.ts,
                        .length = event.phase == "X" ? event.dur.value_or(0) : -1,
                        .element = element,
                        .arrow = isSpan ? *id : arrowOf(*id, event.category, event.name),
                        .isForwardBackward = !isSpan && event.category == "fwdbwd"};
}

std::int64_t countChromeArrows(const std::vector<ChromeArrowEnd>& ends, bool hasSpans) {
  std::map<Thread*, std::vector<const ChromeArrowEnd*>> byThread;
  for (const ChromeArrowEnd& end : ends) byThread[end.thread].push_back(&end);
  std::vector<Bound> bound;
  for (const auto& [thread, ofThread] : byThread) bindEnds(*thread, ofThread, hasSpans, bound);
  std::stable_sort(bound.begin(), bound.end(),
                   [](const Bound& a, const Bound& b) { return a.moment < b.moment; });
  std::set<std::uint64_t> known;
  std::int64_t count = 0;
  for (const Bound& end : bound) {
    if (end.what == What::kBegin || end.what == What::kEndAtNext) known.insert(end.arrow);
    if (end.what == What::kBegin) continue;
    count += known.contains(end.arrow) ? 1 : 0;
  }
  return count;
}

}  // namespace pipetrace
