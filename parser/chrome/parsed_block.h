#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "parser/chrome/event.h"
#include "parser/chrome/trace.h"
#include "parser/foreign/chrome_process.h"
#include "trace/append.h"

namespace pipetrace {

/// The place in a text where an element of a Chrome trace begins. Its line is counted on demand,
/// which is seldom. Elements only move forward, so that each byte is counted once.
class ChromePlace {
 public:
  /// `line`: the line of the text's first byte.
  ChromePlace(std::string_view text, std::int64_t line) : text_(text), line_(line) {}

  /// Moves the place to this byte of the text, which must not be before the last one.
  void moveTo(std::size_t at) { at_ = at; }

  std::int64_t line() const {
    line_ += std::count(text_.begin() + static_cast<std::ptrdiff_t>(counted_),
                        text_.begin() + static_cast<std::ptrdiff_t>(at_), '\n');
    counted_ = at_;
    return line_;
  }

 private:
  std::string_view text_;
  std::size_t at_ = 0;
  mutable std::size_t counted_ = 0;
  mutable std::int64_t line_;
};

/// The events, names and samples that consecutive elements of a Chrome trace hold. Several threads
/// fill one object each; their contents are added to the trace in its order.
class ParsedChromeBlock {
 public:
  /// `file` names the input in diagnostics.
  explicit ParsedChromeBlock(std::string file) : file_(std::move(file)) {}
  ParsedChromeBlock(const ParsedChromeBlock&) = delete;
  ParsedChromeBlock& operator=(const ParsedChromeBlock&) = delete;

  void add(const ChromeEvent& event, const ChromePlace& place);

  /// Adds an element that is no event.
  void addBroken(const ChromePlace& place);

  /// Adds a field of the file besides its events.
  void addField(std::string_view key, std::string_view json);

  /// Adds everything to the trace after the elements before it, and empties this object. The result
  /// does not depend on how the trace was split.
  void moveTo(ChromeTrace& trace);

  /// Removes everything, as if nothing had ever been added.
  void forget();

 private:
  struct Row {
    ChromeId pid;
    ChromeId tid;
    std::vector<Event> events;
    std::vector<ChromeProcess::Edge> edges;
  };
  /// A name or a position that an `M` event gives a process or thread.
  struct Name {
    enum class Of : std::uint8_t { kNothing, kProcess, kLabels, kSortIndex, kThread };
    Of of = Of::kNothing;
    ChromeId pid;
    ChromeId tid;
    std::string text;
    std::optional<std::string> ours;  // the lane of a thread, or the metadata of the rank
    std::int64_t number = 0;
  };
  struct EndOnRow {
    ChromeArrowEnd end;
    Row* row = nullptr;
  };
  struct KnownRow {
    ChromeId pid;
    ChromeId tid;
    Row* row = nullptr;
  };

  void addSpan(const ChromeEvent& event, const ChromePlace& place);
  void addName(const ChromeEvent& event);
  void addSample(const ChromeEvent& event, const ChromePlace& place);
  void addArrow(const ChromeEvent& event, const ChromePlace& place);
  void addCategory(std::string_view category, Event& event);
  void addEnd(const ChromeEvent& event);
  Row& rowOf(const ChromeEvent& event);
  Row& filledRowOf(const ChromeEvent& event);
  void complain(const char* message, const ChromePlace& place, const char* advice = "");
  static void moveRow(ChromeTrace& trace, Row& row, const EventRemap& remap);
  void moveNames(ChromeTrace& trace);
  void moveFields(ChromeTrace& trace);
  void moveEnds(ChromeTrace& trace);
  void clear();

  std::string file_;
  Timeline timeline_;    // strings of everything ever added, arguments of the present contents
  StringRemap strings_;  // from those strings to the trace's
  std::map<std::pair<ChromeId, ChromeId>, Row> rows_;
  std::map<std::pair<ChromeId, std::string>, std::vector<CounterSample>> counters_;
  std::vector<Row*> filled_;  // rows with an event or edge
  std::vector<Name> names_;
  std::vector<std::pair<std::string, std::string>> fields_;
  Diagnostics diagnostics_;
  std::vector<EndOnRow> ends_;  // of arrows
  std::int64_t elements_ = 0;
  std::int64_t arrowEnds_ = 0;
  std::int64_t arrows_ = 0;
  std::int64_t firstArrow_ = 0;
  // The rows of the latest events of a few threads, which traces mix. By hash.
  std::array<KnownRow, 64> known_;
  std::string latestCategory_;
  StringId latestCategoryId_ = 0;  // 0: not needed yet
  StringId categoryKey_ = 0;       // 0: not needed yet
  JobKind latestKind_ = JobKind::kOther;
};

/// Adds the elements of an array of Chrome events to `parsed`, from a text that begins with an
/// element or with the separators between two. Returns the number of bytes of the elements, and of
/// the separators between and after them. That is the whole text, or the part before something
/// else, or before an element that does not end in it. `line`: the line of the text's start.
std::size_t readChromeElements(std::string_view text, std::int64_t line, ParsedChromeBlock& parsed);

/// Adds one element, which begins in that line.
void readChromeElement(std::string_view text, std::int64_t line, ParsedChromeBlock& parsed);

}  // namespace pipetrace
