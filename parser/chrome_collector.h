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
#include "parser/chrome_process.h"
#include "parser/foreign_trace.h"
#include "parser/kineto_info.h"
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

  /// A field of the file besides its events that tells of a known program.
  void addField(std::string_view key, std::string_view json) { kineto_.readField(key, json); }

  /// `line`: where it stands, for diagnostics.
  void add(const ChromeEvent& event, std::int64_t line);

  /// Adds everything to the timeline, and says how many events that were. Call it once.
  std::int64_t finish(const ReadRequest& request);

  /// How many ends of flow arrows (`t`, `f`) there were.
  std::int64_t arrows() const { return arrows_; }

 private:
  using Row = ChromeProcess::Thread;
  using Edge = ChromeProcess::Edge;

  void addName(const ChromeEvent& event);
  void addMetadataOfRank(std::string_view text);
  void addSample(const ChromeEvent& event, std::int64_t line);
  Row& rowOf(const ChromeEvent& event);
  void matchEdges(Row& row);
  void closeEdge(Row& row, const Edge& begin, const Event& end);
  void shiftToEpoch(std::vector<Event>& events, Nanoseconds origin);
  std::int64_t finishOurs();
  std::int64_t finishForeign(const ReadRequest& request);
  ForeignTrace foreignTrace(int firstRank);
  void shiftForeign(ForeignTrace& trace, Nanoseconds base);
  void addCategory(const ChromeEvent& source, Event& event);
  void tellArrows();
  void tellLackingBase(const ForeignTrace& trace);
  std::int64_t moveRow(Row& row, int rank, const std::string& lane);
  void complain(const char* message, std::int64_t line, const char* advice = "",
                std::int64_t count = 1);

  Timeline& timeline_;
  Diagnostics& diagnostics_;
  std::string file_;
  std::optional<ChromeMetadata> metadata_;
  KinetoInfo kineto_;
  std::string latestCategory_;
  StringId latestCategoryId_ = 0;
  StringId categoryKey_ = 0;
  std::map<ChromeId, ChromeProcess> processes_;
  /// Where the latest events of a few threads went: traces mix them. By hash.
  struct KnownRow {
    ChromeId pid;
    ChromeId tid;
    Row* row = nullptr;
  };
  std::array<KnownRow, 64> rows_;
  std::int64_t arrows_ = 0;
  std::int64_t arrowEnds_ = 0;   // `s`, `t`, `f`
  std::int64_t firstArrow_ = 0;  // its line
};

}  // namespace pipetrace
