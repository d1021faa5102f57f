#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "parser/chrome/elements.h"
#include "parser/chrome/event.h"
#include "parser/chrome/trace.h"
#include "parser/foreign/chrome_process.h"
#include "trace/append.h"

namespace pipetrace {

/// What consecutive elements of a Chrome trace have given, apart from all others: several threads
/// fill one each, and what is in them is put together in the order of the trace.
class ChromeShare {
 public:
  /// `file` names the input in diagnostics.
  explicit ChromeShare(std::string file) : file_(std::move(file)) {}
  ChromeShare(const ChromeShare&) = delete;
  ChromeShare& operator=(const ChromeShare&) = delete;

  void add(const ChromeEvent& event, const ChromePlace& place);

  /// An element that is no event.
  void addBroken(const ChromePlace& place);

  /// A field of the file besides its events.
  void addField(std::string_view key, std::string_view json);

  /// Adds all of it to what came before it in the trace, always the same, and is empty afterwards.
  void moveTo(ChromeTrace& trace);

  /// As if nothing had ever been added.
  void forget();

 private:
  struct Row {
    ChromeId pid;
    ChromeId tid;
    std::vector<Event> events;
    std::vector<ChromeProcess::Edge> edges;
  };
  /// What an `M` event says of a process or thread.
  struct Name {
    enum class Of : std::uint8_t { kNothing, kProcess, kLabels, kSortIndex, kThread };
    Of of = Of::kNothing;
    ChromeId pid;
    ChromeId tid;
    std::string text;
    std::optional<std::string> ours;  // the lane of a thread, or what is known of the rank
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
  Timeline timeline_;    // strings of all that was ever added, arguments of what is here
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
  // Where the latest events of a few threads went: traces mix them. By hash.
  std::array<KnownRow, 64> known_;
  std::string latestCategory_;
  StringId latestCategoryId_ = 0;  // 0: not needed yet
  StringId categoryKey_ = 0;       // 0: not needed yet
  JobKind latestKind_ = JobKind::kOther;
};

}  // namespace pipetrace
