#include "parser/chrome/parsed_block.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <vector>

#include "parser/chrome/event.h"
#include "parser/chrome/format.h"
#include "parser/foreign/names/foreign_names.h"
#include "parser/json/json_splitter.h"
#include "parser/profile/argument_json.h"
#include "parser/profile/common_format.h"
#include "trace/checked_span.h"
#include "trace/text/display_name.h"
#include "trace/text/log_numbers.h"
#include "trace/timeline.h"

namespace pipetrace {
namespace {

namespace cf = common_format;

/// The length of the element at the start of the text; 0 where it does not end as it should.
std::size_t lengthOfElement(std::string_view text) {
  JsonValueScanner scanner;
  for (std::size_t i = 0; i < text.size(); ++i) {
    switch (scanner.feed(text[i])) {
      case JsonValueScanner::Result::kMore: break;
      case JsonValueScanner::Result::kEnded: return i + 1;
      case JsonValueScanner::Result::kEndedBefore: return i;
      case JsonValueScanner::Result::kBroken: return 0;
    }
  }
  return 0;
}

void addByLibrary(std::string_view element, ChromeEvent& event, const ChromePlace& place,
                  ParsedChromeBlock& parsed) {
  if (parseChromeEvent(element, event)) {
    parsed.add(event, place);
  } else {
    parsed.addBroken(place);
  }
}

template <typename Number>
bool setField(const ChromeArgument& argument, Number& field) {
  if (argument.type != ChromeArgument::Type::kInteger ||
      argument.integer < std::numeric_limits<Number>::min() ||
      argument.integer > std::numeric_limits<Number>::max()) {
    return false;
  }
  field = static_cast<Number>(argument.integer);
  return true;
}

bool setClass(const ChromeArgument& argument, BubbleClass& field) {
  if (argument.type != ChromeArgument::Type::kText || argument.text.empty()) return false;
  const std::optional<BubbleClass> bubbleClass = bubbleClassFromName(argument.text);
  if (bubbleClass) field = *bubbleClass;
  return bubbleClass.has_value();
}

bool setPhase(const ChromeArgument& argument, Phase& field) {
  if (argument.type != ChromeArgument::Type::kText) return false;
  const std::optional<Phase> phase = phaseFromLogName(argument.text);
  if (phase) field = *phase;
  return phase.has_value();
}

/// Whether the argument is a field of the event; if so, it has been set.
bool takeField(const ChromeArgument& argument, Event& event) {
  const std::string_view key = argument.key;
  if (key == cf::kJob) return setField(argument, event.job);
  if (key == cf::kStep) return setField(argument, event.step);
  if (key == cf::kMicroBatch) return setField(argument, event.microBatch);
  if (key == cf::kStage) return setField(argument, event.stage);
  if (key == cf::kChunk) return setField(argument, event.chunk);
  if (key == cf::kPart) return setField(argument, event.part);
  if (key == cf::kNumber) return setField(argument, event.number);
  if (key == cf::kPeer) return setField(argument, event.peer);
  if (key == cf::kPhase) return setPhase(argument, event.phase);
  if (key == cf::kClass) return setClass(argument, event.bubbleClass);
  return key == cf::kOwnName;
}

Argument toArgument(const ChromeArgument& source, StringTable& strings) {
  if (const auto key = escapedKey(source.key, cf::kEscapedReal);
      key && source.type == ChromeArgument::Type::kText) {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    const double value = source.text == "inf"    ? kInfinity
                         : source.text == "-inf" ? -kInfinity
                                                 : std::numeric_limits<double>::quiet_NaN();
    return Argument::ofReal(strings.intern(*key), value);
  }
  const StringId key = strings.intern(escapedKey(source.key, cf::kEscapedKey).value_or(source.key));
  switch (source.type) {
    case ChromeArgument::Type::kInteger: return Argument::ofInteger(key, source.integer);
    case ChromeArgument::Type::kReal: return Argument::ofReal(key, source.real);
    case ChromeArgument::Type::kText: break;
  }
  return Argument::ofText(key, strings.intern(source.text));
}

/// Makes an event from the name, category and arguments of a Chrome event: the inverse of
/// ChromeEventText, times apart. `kind` is the kind that the category names. Strings and arguments
/// go into `timeline`.
Event eventFromChrome(const ChromeEvent& source, JobKind kind, Timeline& timeline) {
  Event event;
  event.kind = kind;
  constexpr std::size_t kMost = std::numeric_limits<std::uint16_t>::max();
  const std::size_t first = timeline.arguments.size();
  for (const ChromeArgument& argument : source.arguments) {
    if (!takeField(argument, event) && timeline.arguments.size() < first + kMost) {
      timeline.arguments.push_back(toArgument(argument, timeline.strings));
    }
  }
  if (timeline.arguments.size() > first) {
    event.firstArgument = static_cast<std::uint32_t>(first);
    event.argumentCount = static_cast<std::uint16_t>(timeline.arguments.size() - first);
  }
  const bool isOwn = source.find(cf::kOwnName) != nullptr || !isFallbackName(event, source.name);
  if (isOwn) event.name = timeline.strings.intern(source.name);
  return event;
}

/// No event lasts longer: sums of lengths stay whole numbers.
constexpr const char* kNoTime = "an event has no time that can be used and was left out";

bool isEndOfArrow(std::string_view phase) { return phase == "s" || phase == "t" || phase == "f"; }

/// Makes room for `more` events. The part of the trace that has been read shows how many there will
/// be. A thread whose events have all come by then gets up to eight times too much memory, which
/// stays unused.
void makeRoomFor(std::vector<Event>& events, std::size_t more, double read) {
  const std::size_t wanted = events.size() + more;
  if (wanted <= events.capacity()) return;
  const double atEnd = read > 0 ? 1.02 * static_cast<double>(wanted) / read : 0;
  const double most = 8 * static_cast<double>(wanted);
  events.reserve(std::max(2 * wanted, static_cast<std::size_t>(std::min(atEnd, most))));
}

}  // namespace

std::size_t readChromeElements(std::string_view text, std::int64_t line,
                               ParsedChromeBlock& parsed) {
  constexpr std::string_view kBetween = " \t\r\n,";
  ChromePlace place(text, line);
  ChromeEvent event;
  std::size_t at = 0;
  while ((at = text.find_first_not_of(kBetween, at)) != std::string_view::npos) {
    const std::string_view rest = text.substr(at);
    place.moveTo(at);
    std::size_t length = readPlainChromeEvent(rest, event);
    if (length > 0) {
      parsed.add(event, place);
    } else {
      length = lengthOfElement(rest);
      if (length == 0) return at;
      addByLibrary(rest.substr(0, length), event, place, parsed);
    }
    at += length;
  }
  return text.size();
}

void readChromeElement(std::string_view text, std::int64_t line, ParsedChromeBlock& parsed) {
  ChromeEvent event;
  addByLibrary(text, event, ChromePlace(text, line), parsed);
}

void ParsedChromeBlock::complain(const char* message, const ChromePlace& place,
                                 const char* advice) {
  diagnostics_.add({.file = file_,
                    .line = place.line(),
                    .message = message,
                    .advice = advice,
                    .doubt = message == kNoTime ? DoubtKind::kNoTime : DoubtKind::kNone});
}

void ParsedChromeBlock::addBroken(const ChromePlace& place) {
  ++elements_;
  complain("an event is no valid JSON and was left out", place);
}

void ParsedChromeBlock::addField(std::string_view key, std::string_view json) {
  fields_.emplace_back(key, json);
}

void ParsedChromeBlock::add(const ChromeEvent& event, const ChromePlace& place) {
  ++elements_;
  if (event.phase == "X" || event.phase == "B" || event.phase == "E") return addSpan(event, place);
  if (event.phase == "M") return addName(event);
  if (event.phase == "C") return addSample(event, place);
  if (event.phase.empty()) return complain("an event has no phase (`ph`)", place);
  if (!event.badTime && event.ts) addEnd(event);
  if (isEndOfArrow(event.phase)) return addArrow(event, place);
  diagnostics_.add({.severity = Severity::kNote,
                    .file = file_,
                    .line = place.line(),
                    .message = "an event that is no span of one thread was left out"});
}

void ParsedChromeBlock::addArrow(const ChromeEvent& event, const ChromePlace& place) {
  if (event.phase != "s") ++arrows_;
  if (++arrowEnds_ == 1) firstArrow_ = place.line();
}

void ParsedChromeBlock::addEnd(const ChromeEvent& event) {
  if (const auto end = arrowEndOf(event, elements_)) ends_.push_back({*end, &rowOf(event)});
}

ParsedChromeBlock::Row& ParsedChromeBlock::rowOf(const ChromeEvent& event) {
  const auto hash = static_cast<std::uint64_t>(event.pid.number) * 31 +
                    static_cast<std::uint64_t>(event.tid.number);
  KnownRow& known = known_[hash % known_.size()];
  if (known.row == nullptr || known.tid != event.tid || known.pid != event.pid) {
    Row& row = rows_[{event.pid, event.tid}];
    row.pid = event.pid;
    row.tid = event.tid;
    known = {event.pid, event.tid, &row};
  }
  return *known.row;
}

ParsedChromeBlock::Row& ParsedChromeBlock::filledRowOf(const ChromeEvent& event) {
  Row& row = rowOf(event);
  if (row.events.empty() && row.edges.empty()) filled_.push_back(&row);
  return row;
}

void ParsedChromeBlock::addSpan(const ChromeEvent& event, const ChromePlace& place) {
  const Nanoseconds length = event.dur.value_or(0);
  const bool isKnown = !event.badTime && event.ts && length >= 0 && length <= kLongestRun;
  if (!isKnown) {
    return complain(kNoTime, place, "`ts` and `dur` are microseconds, `dur` from 0 to a year");
  }
  if (event.category != latestCategory_) {
    latestCategory_ = event.category;
    latestKind_ = jobKindFromLogName(event.category);
    latestCategoryId_ = 0;
  }
  Event made = eventFromChrome(event, latestKind_, timeline_);
  if (made.kind == JobKind::kOther && event.category != event.name) {
    addCategory(event.category, made);
  }
  made.begin = made.end = *event.ts;
  if (event.phase != "X") {
    filledRowOf(event).edges.push_back({made, event.phase == "B", place.line(), elements_});
  } else if (__builtin_add_overflow(*event.ts, event.dur.value_or(0), &made.end)) {
    return complain(kNoTime, place);
  } else {
    filledRowOf(event).events.push_back(made);
  }
  if (event.arrow.bindId) addEnd(event);
}

/// The category of an event of ours is its kind.
void ParsedChromeBlock::addCategory(std::string_view category, Event& event) {
  if (category.empty() || category == logName(JobKind::kOther)) return;
  if (event.argumentCount == std::numeric_limits<std::uint16_t>::max()) return;
  if (latestCategoryId_ == 0) latestCategoryId_ = timeline_.strings.intern(category);
  if (event.argumentCount++ == 0) {
    event.firstArgument = static_cast<std::uint32_t>(timeline_.arguments.size());
  }
  if (categoryKey_ == 0) categoryKey_ = timeline_.strings.intern(ForeignNames::kCategory);
  timeline_.arguments.push_back(Argument::ofText(categoryKey_, latestCategoryId_));
}

void ParsedChromeBlock::addName(const ChromeEvent& event) {
  Name& made = names_.emplace_back();
  made.pid = event.pid;
  made.tid = event.tid;
  const auto take = [&](Name::Of of, std::string_view key, std::string_view keyOfOurs) {
    const ChromeArgument* const text = event.find(key);
    if (text == nullptr) return;
    made.of = of;
    made.text = text->text;
    made.number = text->integer;
    if (const ChromeArgument* ours = event.find(keyOfOurs)) made.ours = ours->text;
  };
  if (event.name == "process_name") take(Name::Of::kProcess, "name", cf::kOurs);
  if (event.name == "process_labels") take(Name::Of::kLabels, "labels", {});
  if (event.name == "process_sort_index") take(Name::Of::kSortIndex, "sort_index", {});
  if (event.name == "thread_name") take(Name::Of::kThread, "name", chrome_format::kLane);
}

void ParsedChromeBlock::addSample(const ChromeEvent& event, const ChromePlace& place) {
  if (event.badTime || !event.ts) {
    return complain("a counter sample has no time that can be used and was left out", place);
  }
  for (const ChromeArgument& argument : event.arguments) {
    if (argument.type == ChromeArgument::Type::kText) continue;
    const std::string name =
        std::string(event.name) +
        (argument.key == chrome_format::kValue ? std::string() : "." + std::string(argument.key));
    std::vector<CounterSample>& samples = counters_[{event.pid, name}];
    const double value = argument.type == ChromeArgument::Type::kReal
                             ? argument.real
                             : static_cast<double>(argument.integer);
    samples.push_back({*event.ts, value});
  }
}

void ParsedChromeBlock::moveRow(ChromeTrace& trace, Row& row, const EventRemap& remap) {
  ChromeProcess::Thread& thread = trace.processes[row.pid].threads[row.tid];
  remap(row.events);
  makeRoomFor(thread.events, row.events.size(), trace.read);
  thread.events.insert(thread.events.end(), row.events.begin(), row.events.end());
  row.events.clear();
  for (ChromeProcess::Edge& edge : row.edges) {
    remap(edge.event);
    edge.element += trace.elements;
  }
  thread.edges.insert(thread.edges.end(), row.edges.begin(), row.edges.end());
  row.edges.clear();
}

void ParsedChromeBlock::moveNames(ChromeTrace& trace) {
  for (Name& name : names_) {
    ChromeProcess& process = trace.processes[name.pid];
    switch (name.of) {
      case Name::Of::kNothing: break;
      case Name::Of::kProcess:
        process.name = std::move(name.text);
        if (name.ours) trace.addMetadataOfRank(*name.ours);
        break;
      case Name::Of::kLabels: process.labels = std::move(name.text); break;
      case Name::Of::kSortIndex: process.sortIndex = name.number; break;
      case Name::Of::kThread:
        process.threads[name.tid].name = std::move(name.text);
        if (name.ours) process.threads[name.tid].lane = std::move(*name.ours);
        break;
    }
  }
}

void ParsedChromeBlock::moveFields(ChromeTrace& trace) {
  for (const auto& [key, json] : fields_) {
    trace.kineto.readField(key, json);
    if (key != chrome_format::kOtherData) continue;
    if (auto metadata = readProfileMetadata(json)) trace.metadata = std::move(*metadata);
  }
}

/// In a profile of ours the ends are only counted: each `f` has its `s` and slice.
void ParsedChromeBlock::moveEnds(ChromeTrace& trace) {
  if (trace.metadata) return;
  for (EndOnRow& each : ends_) {
    each.end.thread = &trace.processes[each.row->pid].threads[each.row->tid];
    each.end.element += trace.elements;
    trace.ends.push_back(each.end);
  }
}

void ParsedChromeBlock::moveTo(ChromeTrace& trace) {
  // New strings get the ids that they would have if the trace were read as a whole.
  strings_.grow(timeline_.strings, trace.timeline.strings);
  const EventRemap remap = appendArguments(timeline_.arguments, strings_, trace.timeline.arguments);
  for (Row* row : filled_) moveRow(trace, *row, remap);
  for (auto& [key, series] : counters_) {
    CounterSeries& target = trace.processes[key.first].counters[key.second];
    target.name = key.second;
    target.samples.insert(target.samples.end(), series.begin(), series.end());
  }
  moveNames(trace);
  moveFields(trace);
  moveEnds(trace);
  for (const Diagnostic& diagnostic : diagnostics_.list()) trace.diagnostics.add(diagnostic);
  trace.elements += elements_;
  if (trace.arrowEnds == 0) trace.firstArrow = firstArrow_;
  trace.arrowEnds += arrowEnds_;
  trace.arrows += arrows_;
  clear();
}

/// Empties it, except for the strings, which come again.
void ParsedChromeBlock::clear() {
  for (Row* row : filled_) {
    row->events.clear();
    row->edges.clear();
  }
  filled_.clear();
  timeline_.arguments.clear();
  counters_.clear();
  names_.clear();
  fields_.clear();
  ends_.clear();
  diagnostics_ = {};
  elements_ = arrowEnds_ = arrows_ = firstArrow_ = 0;
}

void ParsedChromeBlock::forget() {
  clear();
  timeline_ = {};
  strings_ = {};
  latestCategory_.clear();
  latestCategoryId_ = categoryKey_ = 0;
  latestKind_ = JobKind::kOther;
}

}  // namespace pipetrace
