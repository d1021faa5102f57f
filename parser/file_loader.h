#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "parser/find_logs.h"
#include "parser/foreign/logs/pattern_log_reader.h"
#include "parser/foreign/names/given_names.h"
#include "parser/load_timeline.h"
#include "parser/runs/file_facts.h"
#include "parser/trace_reader.h"
#include "parser/trace_readers.h"
#include "trace/diagnostic.h"
#include "trace/timeline.h"

namespace pipetrace {

/// The result of reading one file by itself.
struct FileReading {
  Timeline timeline;
  Diagnostics diagnostics;
  ReadOutcome outcome;
  std::string name;                       ///< what messages call it
  std::string_view format;                ///< of the reader
  RecordKind record = RecordKind::kNone;  ///< likewise
  bool isOwnProfile = false;              ///< pipe-trace wrote it
  bool isLeftOut = false;                 ///< ... and it was not read because there are logs
  FileFacts facts;                        ///< empty where the file is the only one

  bool isLog() const { return record == RecordKind::kJobLog; }
};

/// Reads single files, apart from all others. Several threads may use it at once.
class FileLoader {
 public:
  /// `readers` and `options` must outlive it. `leaveOutProfiles`: a folder holds logs, and the
  /// profiles in it were made of them. `isOnlyFile`: no other file is read. Throws Error when the
  /// pattern or the file of kinds in the options cannot be used.
  FileLoader(const TraceReaders& readers, const LoadOptions& options, bool leaveOutProfiles,
             bool isOnlyFile);

  /// `nextRank`: see ReadRequest. Throws Error when the file cannot be read at all.
  FileReading load(const FoundLog& file, int nextRank) const;

 private:
  const TraceReaders& readers_;
  const LoadOptions& options_;
  bool leaveOutProfiles_;
  bool isOnlyFile_;
  std::optional<GivenNames> kinds_;
  std::optional<LinePattern> pattern_;
  std::optional<PatternLogReader> patternReader_;
};

}  // namespace pipetrace
