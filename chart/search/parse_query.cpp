#include "chart/search/parse_query.h"

#include <array>
#include <charconv>
#include <utility>

#include "chart/search/job_matcher.h"
#include "trace/bubble_class.h"
#include "trace/error.h"
#include "trace/job_kind.h"
#include "trace/phase.h"
#include "trace/text/decimal_time.h"
#include "trace/text/typed_text.h"
#include "trace/timeline.h"

namespace pipetrace {
namespace {

struct Token {
  std::string key;  // empty: a word
  std::string value;
  std::string whole;  // as it was written
};

/// Cuts at blanks outside of quotes. A colon outside of quotes ends the key.
std::vector<Token> tokensOf(std::string_view text) {
  std::vector<Token> tokens;
  std::size_t i = 0;
  while (i < text.size()) {
    if (text[i] == ' ' || text[i] == '\t') {
      ++i;
      continue;
    }
    Token token;
    const std::size_t begin = i;
    bool isQuoted = false;
    bool hasKey = false;
    for (; i < text.size() && (isQuoted || (text[i] != ' ' && text[i] != '\t')); ++i) {
      if (text[i] == '"') {
        isQuoted = !isQuoted;
      } else if (text[i] == ':' && !isQuoted && !hasKey && text[begin] != '"') {
        hasKey = true;
        token.key = lowerCase(token.value);
        token.value.clear();
      } else {
        token.value += text[i];
      }
    }
    token.whole = std::string(text.substr(begin, i - begin));
    if (isQuoted) throw Error("the quote of " + token.whole + " has no end");
    if (hasKey && token.key.empty()) token.key = ":";  // is no key
    tokens.push_back(std::move(token));
  }
  return tokens;
}

std::vector<std::string> listOf(const std::string& text) {
  std::vector<std::string> list(1);
  for (const char c : text) {
    if (c == ',') {
      list.emplace_back();
    } else {
      list.back() += c;
    }
  }
  return list;
}

std::optional<std::int64_t> numberOf(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

/// "3", "3..5", "3..", "..5".
std::optional<NumberSpan> spanOf(const std::string& text) {
  const std::size_t dots = text.find("..");
  if (dots == std::string::npos) {
    const auto number = numberOf(text);
    if (!number) return std::nullopt;
    return NumberSpan{*number, *number};
  }
  const std::string from = text.substr(0, dots);
  const std::string to = text.substr(dots + 2);
  if (from.empty() && to.empty()) return std::nullopt;
  NumberSpan span;
  if (!from.empty()) {
    const auto first = numberOf(from);
    if (!first) return std::nullopt;
    span.first = *first;
  }
  if (!to.empty()) {
    const auto last = numberOf(to);
    if (!last || *last < span.first) return std::nullopt;
    span.last = *last;
  }
  return span;
}

NumberSpans spansOf(const Token& token) {
  NumberSpans spans;
  for (const std::string& part : listOf(token.value)) {
    const auto span = spanOf(part);
    if (!span) {
      throw Error("'" + token.whole + "' is no number; write " + token.key + ":3, " + token.key +
                  ":3..5, " + token.key + ":8.. or " + token.key + ":0,2");
    }
    spans.push_back(*span);
  }
  return spans;
}

/// "1.1", "1.1x".
std::optional<double> factorOf(std::string text) {
  if (text.ends_with('x') || text.ends_with('X')) text.pop_back();
  if (text.empty() || text.find_first_not_of("0123456789.") != std::string::npos) {
    return std::nullopt;
  }
  double factor = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), factor);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return factor;
}

/// "1.1x..", "1.1x..2x", "..0.9x".
FactorSpan factorsOf(const Token& token) {
  const std::size_t dots = token.value.find("..");
  if (dots != std::string::npos && token.value.size() > 2) {
    const std::string from = token.value.substr(0, dots);
    const std::string to = token.value.substr(dots + 2);
    FactorSpan span;
    const auto first = from.empty() ? std::optional(span.first) : factorOf(from);
    const auto last = to.empty() ? std::optional(span.last) : factorOf(to);
    if (first && last && *first <= *last) return {*first, *last};
  }
  throw Error("'" + token.whole +
              "' has no factors; write own:1.1x.. for jobs that take at least 1.1 times as long as "
              "usual, own:1.1x..2x or own:..0.9x");
}

Nanoseconds timeOf(const Token& token) {
  const auto time = parseDuration(token.value);
  if (!time) {
    throw Error("'" + token.whole + "' has no time; write it with its unit, like " + token.key +
                ":2ms (ns, us, ms, s)");
  }
  return *time;
}

/// The bits of the values that a list names.
template <typename NameOf>
std::uint32_t bitsOf(const Token& token, int first, int count, NameOf nameOf) {
  std::uint32_t bits = 0;
  for (const std::string& part : listOf(lowerCase(token.value))) {
    std::uint32_t bit = 0;
    std::string names;
    for (int i = first; i < count; ++i) {
      const std::string name(nameOf(i));
      if (name == part) bit = 1U << static_cast<unsigned>(i);
      names += (names.empty() ? "" : ", ") + name;
    }
    if (bit == 0) {
      throw Error("'" + token.whole + "': there is no " + token.key + " '" + part + "'; choose " +
                  names);
    }
    bits |= bit;
  }
  return bits;
}

struct NumberKey {
  std::string_view key;
  NumberSpans SearchQuery::*member;
};

constexpr std::array kNumberKeys = {
    NumberKey{"step", &SearchQuery::steps},      NumberKey{"rank", &SearchQuery::ranks},
    NumberKey{"mb", &SearchQuery::microBatches}, NumberKey{"stage", &SearchQuery::stages},
    NumberKey{"chunk", &SearchQuery::chunks},    NumberKey{"peer", &SearchQuery::peers},
    NumberKey{"id", &SearchQuery::jobs}};

constexpr const char* kKeys =
    "kind, class, phase, lane, name, step, rank, mb, stage, chunk, peer, id, own, longer, shorter, "
    "at";

void addPart(SearchQuery& query, const Token& token) {
  const std::string& key = token.key;
  if (token.value.empty()) {
    throw Error("'" + token.whole + "' has no value; write it right after the colon");
  }
  for (const NumberKey& number : kNumberKeys) {
    if (number.key == key) {
      query.*number.member = spansOf(token);
      return;
    }
  }
  if (key == "kind") {
    query.kinds = bitsOf(token, 0, kJobKindCount,
                         [](int kind) { return logName(static_cast<JobKind>(kind)); });
  } else if (key == "class") {
    query.classes = bitsOf(token, 1, kBubbleClassCount, [](int bubbleClass) {
      return bubbleClassName(static_cast<BubbleClass>(bubbleClass));
    });
  } else if (key == "phase") {
    query.phases = bitsOf(token, 0, kPhaseCount, [](int phase) {
      return phase == 0 ? std::string_view("training") : logName(static_cast<Phase>(phase));
    });
  } else if (key == "lane") {
    query.lanes = listOf(lowerCase(token.value));
  } else if (key == "name") {
    query.names.push_back(lowerCase(token.value));
  } else if (key == "own") {
    query.own = factorsOf(token);
  } else if (key == "longer") {
    query.longerThan = timeOf(token);
  } else if (key == "shorter") {
    query.shorterThan = timeOf(token);
  } else if (key == "at") {
    query.at = timeOf(token);
  } else {
    throw Error("'" + token.whole + "': a query has no '" + key + ":'; it has " + kKeys +
                ". Write \"" + token.whole + "\" with quotes to find that text");
  }
}

/// Whether the query finds no other event of the rank.
bool isExact(const Timeline& timeline, const std::string& query, int rank, std::string_view lane,
             const Event& event) {
  JobMatcher matcher(timeline, parseQuery(query));
  std::size_t others = 0;
  for (const Track& track : tracksOf(timeline, rank)) {
    if (!matcher.allowsLane(rank, track.lane)) continue;
    for (const Event& each : track.events) {
      if (!matcher.matches(each)) continue;
      const bool isIt = &each == &event || (track.lane == lane && each.begin == event.begin &&
                                            each.end == event.end && each.job == event.job);
      if (!isIt && ++others > 0) return false;
    }
  }
  return true;
}

/// "401.5ms": the shortest number of milliseconds in the event, counted from `origin`.
std::string timeInside(const Event& event, Nanoseconds origin) {
  const Nanoseconds begin = event.begin - origin;
  const Nanoseconds middle = begin + event.duration() / 2;
  Nanoseconds time = begin;
  for (Nanoseconds unit = kNsPerSecond; unit > 0; unit /= 10) {
    const Nanoseconds rounded = middle / unit * unit;
    if (rounded < begin) continue;
    time = rounded;
    break;
  }
  std::string text;
  appendMilliseconds(text, time);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.ends_with('.')) text.pop_back();
  return text + "ms";
}

std::string quoted(std::string_view text) {
  std::string inside(text);
  std::erase(inside, '"');
  return '"' + inside + '"';
}

}  // namespace

std::optional<Nanoseconds> parseDuration(std::string_view text) {
  struct Unit {
    std::string_view name;
    Nanoseconds length;
  };
  // A unit that ends in another one comes before it.
  constexpr std::array kUnits = {Unit{"ns", 1},          Unit{"us", kNsPerUs},
                                 Unit{"µs", kNsPerUs},   Unit{"μs", kNsPerUs},
                                 Unit{"ms", kNsPerMs},   Unit{"min", 60 * kNsPerSecond},
                                 Unit{"s", kNsPerSecond}};
  for (const Unit& unit : kUnits) {
    if (!text.ends_with(unit.name)) continue;
    text.remove_suffix(unit.name.size());
    while (text.ends_with(' ')) text.remove_suffix(1);
    return parseDecimalTime(text, unit.length);
  }
  return std::nullopt;
}

SearchQuery parseQuery(std::string_view text) {
  SearchQuery query;
  for (const Token& token : tokensOf(text)) {
    if (!token.key.empty()) {
      addPart(query, token);
    } else if (!token.value.empty()) {
      query.words.push_back(lowerCase(token.value));
    }
  }
  return query;
}

std::string exactQuery(const Timeline& timeline, int rank, std::string_view lane,
                       const Event& event) {
  std::string query = "rank:" + std::to_string(rank);
  const auto add = [&query](const char* key, std::int64_t number) {
    if (number >= 0) query += " " + std::string(key) + ":" + std::to_string(number);
  };
  const std::string at = " at:" + timeInside(event, beginOf(timeline));
  add("step", event.step);
  if (event.kind == JobKind::kBubble) {
    const std::string name(bubbleClassName(event.bubbleClass));
    return query + (name.empty() ? " kind:bubble" : " class:" + name) + at;
  }
  query += " kind:" + std::string(logName(event.kind));
  add("mb", event.microBatch);
  const auto isDone = [&] { return isExact(timeline, query, rank, lane, event); };
  if (isDone()) return query;
  add("stage", event.stage);
  if (isDone()) return query;
  add("id", event.job);
  if (isDone()) return query;
  query += at;
  if (isDone()) return query;
  query += " lane:" + quoted(lane);
  if (isDone() || event.name == 0) return query;
  return query + " name:" + quoted(timeline.strings[event.name]);
}

}  // namespace pipetrace
