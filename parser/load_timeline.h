#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "parser/trace_reader.h"
#include "trace/diagnostic.h"
#include "trace/nanoseconds.h"
#include "trace/timeline.h"

namespace pipetrace {

class TraceReaders;

/// The progress of loading. Another thread may read it meanwhile, and may ask loadTimeline() to end
/// early.
struct LoadProgress {
  std::atomic<std::int64_t> bytesRead{0};
  std::atomic<std::int64_t> bytesInAll{0};  ///< of the files to read; 0: not known
  /// Once it is true, loadTimeline() throws Error at its next look at a file.
  std::atomic<bool> isCancelled{false};
};

/// One input of loadTimeline(), and how it was read.
struct LoadedFile {
  std::string path;
  std::string_view format;  ///< TraceReader::formatName() of the reader that was chosen
  RecordKind record = RecordKind::kNone;  ///< of the reader that was chosen
  std::int64_t events = 0;
  std::optional<std::int64_t> arrows;  ///< see ReadOutcome::arrows
  std::int64_t leftOut = 0;            ///< events on lanes that an earlier file has given
};

struct LoadOptions {
  /// Which run of a log that holds several, counted from 0; -1 is the last.
  int run = -1;
  /// How many threads may read; 0: one per core. The result does not depend on it.
  int threads = 0;
  /// A regular expression (LinePattern) for the lines of all inputs, which are then logs: it says
  /// which part of a line is which field of a job. Empty: formats are chosen by content.
  std::string pattern;
  /// The unit of the times that the pattern finds, in nanoseconds.
  Nanoseconds timeUnit = kNsPerMs;
  /// Presets and files that give names of other programs' jobs their kinds (GivenNames). Without
  /// any, unambiguous names are known.
  std::vector<std::string> kinds;
  /// Which times jobs have that were recorded on the host and on a device.
  JobTime jobTime = JobTime::kAuto;
  /// The program that errors name in the commands that they advise.
  std::string program = "pipe-trace";
  /// Updated during loading, if given; must outlive the call.
  LoadProgress* progress = nullptr;
};

/// Reads every input of every program: files, folders (searched as findLogs() says), "-" for
/// standard input. The reader of a file is chosen by the file's content, not by its name.
///
/// No job counts twice. A file that is named or found several times is read once; of each lane of a
/// rank the first file counts (TimelineJoiner). Where a folder holds job logs, the profiles in it
/// that pipe-trace or PaddlePaddle's converter wrote are left out. Files that were found by their
/// ending and hold no trace are passed over. All of that is reported in `diagnostics`.
///
/// Throws Error when an input, or a log in a folder, is missing or unreadable, when a folder holds
/// nothing to read, and when no input has an event. Faults inside a file (cut-off lines, bad
/// numbers) are added to `diagnostics`, and reading goes on. The timeline is sorted. `files`, if
/// given, gets an entry for each file that was read, in order.
Timeline loadTimeline(const std::vector<std::string>& inputs, const TraceReaders& readers,
                      const LoadOptions& options, Diagnostics& diagnostics,
                      std::vector<LoadedFile>* files = nullptr);

}  // namespace pipetrace
