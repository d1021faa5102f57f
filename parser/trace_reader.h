#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "parser/byte_source.h"
#include "trace/diagnostic.h"
#include "trace/timeline.h"

namespace pipetrace {

class NameTable;

/// Higher ranks are taken for nonsense: a rank plus one has to fit an int.
inline constexpr int kHighestRank = 1'000'000'000;

/// How sure a reader is that an input is in its format.
enum class FormatMatch : std::uint8_t { kNo, kPossible, kLikely, kCertain };

/// The files in which our recorder keeps a run. All others are profiles, or of other programs.
enum class RecordKind : std::uint8_t { kNone, kJobLog, kRing };

/// The times of jobs in traces of programs that have the host's annotations and the device's work.
enum class JobTime : std::uint8_t {
  kAuto,    ///< the device's where there is one, else those of the host's operators
  kDevice,  ///< the same, with a warning where there is none
  kHost,    ///< those of the host's annotations: when the work was launched, waits included
};

/// A request to a reader, besides the bytes.
struct ReadRequest {
  std::optional<int> rank;        ///< given by the file's name or place; formats of one rank use it
  std::optional<int> nameRank{};  ///< given by the names of all files (ranksInNames)
  int nextRank = 0;               ///< the first rank that no input before this one has taken
  int run = -1;                   ///< see LoadOptions::run
  int threads = 1;                ///< see LoadOptions::threads
  bool isPart = false;  ///< the input is a part of a growing log: its missing end is not reported
  JobTime jobTime = JobTime::kAuto;  ///< see LoadOptions::jobTime
  const NameTable* kinds = nullptr;  ///< see LoadOptions::kinds; null: none

  /// The rank of a file of one rank that does not say which.
  int rankOfFile() const { return rank.value_or(nameRank.value_or(nextRank)); }
  /// Whether nothing but its place among the inputs gives such a file its rank.
  bool isRankGuessed() const { return !rank && !nameRank; }
};

/// The process that a trace of one process recorded, as far as the trace says.
struct RecordedProcess {
  std::string id;              ///< differs from that of every other process of its host
  std::string run;             ///< its ranks and groups; the same in all traces of the process
  bool isRankGuessed = false;  ///< its ranks count from ReadRequest::nextRank
};

/// The result of a request.
struct ReadOutcome {
  std::int64_t events = 0;
  /// Arrows between slices that the input itself holds, as Perfetto counts them; nothing for
  /// formats that have none.
  std::optional<std::int64_t> arrows;
  std::string whyNone;       ///< with no event: the contents of the input, and what was expected
  std::string adviceOnNone;  ///< what to try then; may be empty
  RecordedProcess process;
};

/// The interface of the input formats: one derived class per format. Readers have no state; one
/// object may read many inputs.
class TraceReader {
 public:
  TraceReader() = default;
  virtual ~TraceReader() = default;
  TraceReader(const TraceReader&) = delete;
  TraceReader& operator=(const TraceReader&) = delete;

  /// "job log", "Chrome JSON": for messages.
  virtual std::string_view formatName() const = 0;

  virtual RecordKind record() const { return RecordKind::kNone; }

  /// Judges an input by its first bytes (kProbeSize, or all when it is shorter).
  virtual FormatMatch probe(std::string_view head) const = 0;

  /// Adds the contents of `source` to `timeline`, unsorted. Throws Error when it cannot be read at
  /// all; faults inside it go to `diagnostics`.
  virtual ReadOutcome read(ByteSource& source, const ReadRequest& request, Timeline& timeline,
                           Diagnostics& diagnostics) const = 0;

  static constexpr std::size_t kProbeSize = std::size_t{1} << 16;
};

/// The readers of the formats that inputs may have. A program has them all (makeTraceReaders()),
/// and hands them to what reads its inputs.
class TraceReaders {
 public:
  explicit TraceReaders(std::vector<std::unique_ptr<TraceReader>> readers)
      : readers_(std::move(readers)) {}

  /// The one that is surest of `head` (TraceReader::probe()), the first of equals; null when none
  /// accepts it.
  const TraceReader* choose(std::string_view head) const;

 private:
  std::vector<std::unique_ptr<TraceReader>> readers_;
};

inline const TraceReader* TraceReaders::choose(std::string_view head) const {
  const TraceReader* best = nullptr;
  FormatMatch surest = FormatMatch::kNo;
  for (const auto& reader : readers_) {
    const FormatMatch match = reader->probe(head);
    if (match > surest) {
      best = reader.get();
      surest = match;
    }
  }
  return best;
}

}  // namespace pipetrace
