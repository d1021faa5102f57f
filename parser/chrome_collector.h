#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "parser/chrome_event.h"
#include "parser/chrome_metadata.h"
#include "parser/trace_reader.h"

namespace pipetrace {

/// Gathers the events of one Chrome trace by process and thread, in any order, and makes tracks of
/// them once all names and the origin of time are known.
class ChromeCollector {
 public:
  /// The references must outlive it. `file` names the input in diagnostics.
  ChromeCollector(Timeline& timeline, Diagnostics& diagnostics, std::string file)
      : timeline_(timeline), diagnostics_(diagnostics), file_(std::move(file)) {}

  /// The trace is one of ours.
  void setMetadata(ChromeMetadata metadata) { metadata_ = std::move(metadata); }

  /// `line`: where it stands, for diagnostics.
  void add(const ChromeEvent& event, std::int64_t line);

  /// Adds everything to the timeline, and says how many events that were. Call it once.
  std::int64_t finish(const ReadRequest& request);

 private:
  /// A `B` or `E` that waits for its partner.
  struct Edge {
    Event event;  // begin is the edge's time
    bool isBegin = false;
    std::int64_t line = 0;
  };

  struct Row {
    std::string name;
    std::string lane;
    std::vector<Event> events;
    std::vector<Edge> edges;
  };

  struct Process {
    std::string name;
    std::int64_t sortIndex = 0;
    std::map<ChromeId, Row> rows;
    std::map<std::string, CounterSeries> counters;
  };

  void addName(const ChromeEvent& event);
  void addSample(const ChromeEvent& event, std::int64_t line);
  Row& rowOf(const ChromeEvent& event);
  void matchEdges(Row& row);
  void closeEdge(Row& row, const Edge& begin, const Event& end);
  void shiftToEpoch(std::vector<Event>& events);
  std::int64_t finishOurs();
  std::int64_t finishForeign(int firstRank);
  std::int64_t moveRow(Row& row, int rank, const std::string& lane);
  void complain(const char* message, std::int64_t line, const char* advice = "",
                std::int64_t count = 1);

  Timeline& timeline_;
  Diagnostics& diagnostics_;
  std::string file_;
  std::optional<ChromeMetadata> metadata_;
  std::map<ChromeId, Process> processes_;
  /// Where the latest events of a few threads went: traces mix them. By hash.
  struct KnownRow {
    ChromeId pid;
    ChromeId tid;
    Row* row = nullptr;
  };
  std::array<KnownRow, 64> rows_;
};

}  // namespace pipetrace
