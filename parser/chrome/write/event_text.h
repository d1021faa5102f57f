#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "parser/json/text_buffer.h"
#include "parser/profile/viewer_rows.h"
#include "trace/timeline.h"

namespace pipetrace {

/// Writes the elements of a traceEvents array for a timeline, each as one JSON object. Several
/// threads may use one at once.
class ChromeEventText {
 public:
  /// The references must outlive it. `ts` counts from `origin`, which must not be after any event's
  /// begin.
  ChromeEventText(const Timeline& timeline, const ViewerRows& rows, Nanoseconds origin);

  /// Appends an event of a track as a complete (`X`) event. Both numbers are positions in the
  /// timeline.
  void addEvent(TextBuffer& out, std::size_t track, std::size_t event) const;

  /// Appends one finite sample as a counter (`C`) event.
  void addSample(TextBuffer& out, const CounterSeries& series, const CounterSample& sample) const;

  /// One end of an arrow.
  struct Slice {
    const Event& event;
    const ViewerRow& row;
  };

  /// Appends the two flow events of an arrow, `s` and `f`, with a newline between them. The arrow
  /// leads from the end of one event to the start of the other, which must begin later. If the
  /// other begins before the first one ends, the arrow leaves before that begin. Each `id` is used
  /// once in a file.
  void addArrow(TextBuffer& out, std::int64_t id, const Slice& from, const Slice& to) const;

 private:
  /// A key of arguments, as it is written.
  struct Key {
    std::string json;  ///< with its colon; empty: no event has the key
    bool isReserved = false;
  };

  void addArguments(TextBuffer& out, const Event& event, bool ownName) const;
  void addListed(TextBuffer& out, const Event& event, bool first) const;
  void addFlowEnd(TextBuffer& out, std::string_view phase, std::int64_t id, const ViewerRow& row,
                  Nanoseconds time) const;

  const Timeline& timeline_;
  const ViewerRows& rows_;
  const Nanoseconds origin_;
  std::vector<std::string> idsOfRow_;  // `,"pid":1,"tid":2`, by ViewerRow::index
  std::vector<Key> keys_;              // by the id of the string
};

/// Appends a metadata (`M`) event. `arguments` is the inside of a JSON object. tid < 0: the event
/// is about the process.
void addChromeName(TextBuffer& out, std::string_view what, std::int64_t pid, std::int64_t tid,
                   std::string_view arguments);

/// Pieces of such arguments: `"key":"text"`, and the place of a row among the others.
std::string chromeField(std::string_view key, std::string_view text);
std::string chromeSortIndex(int index);

/// The `cname` of an event: one of the names that Catapult reserves. Catapult throws on any other;
/// Perfetto takes no notice. Empty: the viewer chooses.
std::string_view chromeColor(const Event& event);

}  // namespace pipetrace
