#include "parser/load_timeline.h"

#include <sys/stat.h>
#include <algorithm>
#include <atomic>
#include <exception>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "parser/byte_source.h"
#include "parser/csv_writer.h"
#include "parser/find_logs.h"
#include "parser/foreign/logs/megatron_reader.h"
#include "parser/foreign/logs/pattern_log_reader.h"
#include "parser/foreign/names/given_names.h"
#include "parser/own_profile.h"
#include "parser/runs/file_facts.h"
#include "parser/runs/find_runs.h"
#include "parser/runs/rank_names.h"
#include "parser/runs/run_parts.h"
#include "parser/timeline_joiner.h"
#include "parser/trace_reader.h"
#include "trace/diagnostic.h"
#include "trace/error.h"
#include "trace/text/number_text.h"
#include "trace/threads/turns.h"
#include "trace/timeline.h"

namespace pipetrace {

namespace {

/// The result of reading one file by itself.
struct FileReading {
  Timeline timeline;
  Diagnostics diagnostics;
  ReadOutcome outcome;
  std::string name;                       ///< what messages call it
  std::string_view format;                ///< of the reader
  RecordKind record = RecordKind::kNone;  ///< of the reader
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

namespace fs = std::filesystem;

/// Whether there are bytes that no text has: control characters other than white space, those that
/// terminals know, and escape.
bool holdsControlBytes(std::string_view bytes) {
  return std::any_of(bytes.begin(), bytes.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte < '\a' || (byte > '\r' && byte < ' ' && byte != '\x1b');
  });
}

/// Throws Error for files that hold another file: what comes out of them is read, they are not.
void refusePacked(std::string_view head, const std::string& name) {
  if (head.starts_with("\x1f\x8b\x08")) {
    throw Error(name + " is compressed twice; unpack it once with gunzip");
  }
  if (head.starts_with("PK\x03\x04")) {
    throw Error(name + " is a zip archive; unpack it and name the files in it");
  }
}

void addFacts(const FoundLog& file, int threads, FileReading& reading) {
  reading.facts = factsOf(reading.timeline, threads);
  reading.facts.path = file.path;
  reading.facts.format = reading.format;
  reading.facts.isLog = reading.isLog();
  reading.facts.isOurs = reading.isOwnProfile;
  reading.facts.process = reading.outcome.process;
  // A ring goes on with the log of its rank, wherever in time that ends.
  if (reading.record == RecordKind::kRing) reading.facts.span = {kNsMax, kNsMin};
}

FileLoader::FileLoader(const TraceReaders& readers, const LoadOptions& options,
                       bool leaveOutProfiles, bool isOnlyFile)
    : readers_(readers),
      options_(options),
      leaveOutProfiles_(leaveOutProfiles),
      isOnlyFile_(isOnlyFile) {
  if (!options.kinds.empty()) kinds_.emplace(options.kinds);
  if (options.pattern.empty()) return;
  pattern_.emplace(options.pattern, options.timeUnit);
  patternReader_.emplace(*pattern_);
}

FileReading FileLoader::load(const FoundLog& file, int nextRank) const {
  FileReading reading;
  ByteSource source(file.path);
  reading.name = source.name();
  if (options_.progress != nullptr) {
    source.countInto(&options_.progress->bytesRead);
    source.endWhen(&options_.progress->isCancelled);
  }
  const std::string_view head = source.peek(TraceReader::kProbeSize);
  refusePacked(head, source.name());
  reading.isOwnProfile = isOwnProfile(head);
  reading.isLeftOut =
      file.by == FoundBy::kEnding && leaveOutProfiles_ &&
      (reading.isOwnProfile || isPaddleProfileName(fs::path(file.path).filename().string()));
  if (reading.isLeftOut) return reading;
  const TraceReader* reader = patternReader_ ? &*patternReader_ : readers_.choose(head);
  if (reader == nullptr) throw Error(source.name() + " is in no format that can be read");
  reading.format = reader->formatName();
  reading.record = reader->record();
  const ReadRequest request{.rank = file.rank,
                            .nameRank = file.nameRank,
                            .nextRank = nextRank,
                            .run = options_.run,
                            .threads = options_.threads,
                            .jobTime = options_.jobTime,
                            .kinds = kinds_ ? &*kinds_ : nullptr};
  const bool isCsv = head.starts_with(kCsvHeader);
  const bool isText = !holdsControlBytes(head);
  reading.outcome = reader->read(source, request, reading.timeline, reading.diagnostics);
  if (isCsv && reading.outcome.events == 0) {
    reading.outcome.whyNone = "it is a profile as CSV, and CSV is not read back";
  }
  if (!isText && reading.outcome.events == 0 && reading.isLog()) {
    reading.outcome.whyNone = "it is not text, and in no format that pipe-trace knows";
    reading.outcome.adviceOnNone =
        "give a folder of workerlog.<rank> files, one such file, or a profile (docs/inputs.md)";
  }
  if (!isOnlyFile_) addFacts(file, options_.threads, reading);
  if (!source.damage().empty()) {
    reading.diagnostics.add(
        {.file = source.name(), .message = source.damage(), .advice = "copy the file again"});
  }
  return reading;
}

namespace fs = std::filesystem;

std::vector<FoundLog> filesOf(const std::vector<std::string>& inputs, bool asTexts,
                              Diagnostics& diagnostics) {
  std::vector<FoundLog> files;
  for (const std::string& input : inputs) {
    std::error_code error;  // opening the file reports what is wrong with its name
    if (input != "-" && fs::is_directory(input, error)) {
      const std::vector<FoundLog> found = findLogs(input, diagnostics, asTexts);
      files.insert(files.end(), found.begin(), found.end());
    } else {
      const std::optional<int> rank = rankOfLogName(fs::path(input).filename().string());
      if (rank) refuseFifo(input);
      files.push_back({input, rank});
    }
  }
  return files;
}

/// Removes files that are there under several names, and adds up the sizes of the rest.
void removeRepeated(std::vector<FoundLog>& files, LoadProgress* progress,
                    Diagnostics& diagnostics) {
  struct First {
    std::string path;
    FoundBy by;
  };
  std::map<std::pair<dev_t, ino_t>, First> seen;
  std::set<std::string> alsoNamed;
  std::int64_t size = 0;
  std::erase_if(files, [&](const FoundLog& file) {
    struct stat status {};
    if (file.path == "-" || ::stat(file.path.c_str(), &status) != 0) return false;
    if (!S_ISREG(status.st_mode)) return false;
    const auto [first, isNew] =
        seen.try_emplace({status.st_dev, status.st_ino}, First{file.path, file.by});
    if (isNew) {
      size += status.st_size;
    } else if (first->second.by == FoundBy::kEnding && file.by == FoundBy::kName) {
      alsoNamed.insert(first->second.path);
    } else {
      diagnostics.add(
          {.file = file.path,
           .message = "is the same file as " + first->second.path + " and was read once"});
    }
    return !isNew;
  });
  for (FoundLog& file : files) {
    if (alsoNamed.contains(file.path)) file.by = FoundBy::kName;
  }
  if (progress != nullptr) progress->bytesInAll = size;
}

void giveNameRanks(std::vector<FoundLog>& files) {
  std::vector<std::string> paths;  // job logs have their ranks by another rule
  for (const FoundLog& file : files) {
    if (!file.rank) paths.push_back(file.path);
  }
  const std::vector<std::optional<int>> ranks = ranksInNames(paths);
  auto next = ranks.begin();
  for (FoundLog& file : files) {
    if (!file.rank) file.nameRank = *next++;
  }
}

/// Joins the results of all files.
class RunLoader {
 public:
  RunLoader(const LoadOptions& options, bool hasFoundLogs, Diagnostics& diagnostics,
            std::vector<LoadedFile>* loaded)
      : options_(options),
        hasFoundLogs_(hasFoundLogs),
        diagnostics_(diagnostics),
        loaded_(loaded) {}

  int nextRank() const { return joiner_.nextRank(); }

  /// Leaves out a file that was found by its ending and turned out not to be readable.
  void leaveOut(const FoundLog& file, const std::string& why) {
    diagnostics_.add({.file = file.path, .message = "was left out: " + why});
    if (whyFirst_.empty()) whyFirst_ = why;
  }

  void add(const FoundLog& file, FileReading reading) {
    if (reading.isLeftOut) {
      return note(file, "is a profile of logs in the same folder and was left out",
                  "name it to read it");
    }
    if (reading.outcome.events == 0 && whyFirst_.empty()) {
      whyFirst_ = reading.outcome.whyNone;
      adviceFirst_ = reading.outcome.adviceOnNone;
    }
    if (reading.outcome.events == 0 && file.by == FoundBy::kEnding) {
      for (const Diagnostic& diagnostic : reading.diagnostics.list()) {
        if (diagnostic.severity != Severity::kNote) diagnostics_.add(diagnostic);
      }
      return note(file, "holds no trace and was left out: " + reading.outcome.whyNone);
    }
    if (hasFoundLogs_ && file.by == FoundBy::kEnding) {
      if (const auto other = rankThatIsNotOfTheLogs(reading.timeline)) {
        diagnostics_.add({.file = reading.name,
                          .message = "was left out: it has rank " + std::to_string(*other) +
                                     ", which is not in the run of the logs beside it",
                          .advice = "name it to read it all the same"});
        return;
      }
    }
    for (const Diagnostic& diagnostic : reading.diagnostics.list()) diagnostics_.add(diagnostic);
    if (reading.facts.process.isRankGuessed) giveRankOfProcess(reading);
    const auto all = static_cast<std::int64_t>(reading.timeline.eventCount());
    const std::int64_t events =
        joiner_.add(std::move(reading.timeline), reading.name, kindOf(reading.facts), ofJoining_);
    if (reading.facts.events > 0) facts_.push_back(std::move(reading.facts));
    if (loaded_ != nullptr) {
      loaded_->push_back({reading.name, reading.format, reading.record, events,
                          reading.outcome.arrows, all - events});
    }
    if (reading.outcome.events == 0) {
      withoutJobs_.push_back({.file = reading.name,
                              .message = "no job in it: " + reading.outcome.whyNone,
                              .advice = "that rank is missing from the profile"});
    }
  }

  /// Throws Error when the files hold no event, or are of several runs.
  Timeline take(const std::vector<FoundLog>& files, const std::vector<std::string>& inputs) {
    if (joiner_.timeline().eventCount() == 0) throw Error(nothingIn(files));
    if (facts_.size() > 1) {
      const std::vector<FilesOfRun> runs = findRuns(facts_);
      if (runs.size() > 1) throw Error(severalRunsText(facts_, runs, inputs, options_.program));
    }
    checkRanks();
    for (const Diagnostic& diagnostic : ofJoining_.list()) diagnostics_.add(diagnostic);
    for (Diagnostic& diagnostic : withoutJobs_) diagnostics_.add(std::move(diagnostic));
    Timeline timeline = joiner_.take();
    lineUpMegatronRanks(timeline, diagnostics_);
    giveParts(facts_, timeline, diagnostics_);
    timeline.sort(options_.threads);
    return timeline;
  }

 private:
  static TimelineJoiner::Kind kindOf(const FileFacts& facts) {
    if (facts.isLog) return TimelineJoiner::Kind::kLog;
    return facts.process.id.empty() ? TimelineJoiner::Kind::kTrace : TimelineJoiner::Kind::kProcess;
  }

  /// Throws Error where nothing says which ranks several files with jobs are of. The order of files
  /// says nothing: a shell puts gpt-10 before gpt-2.
  void checkRanks() {
    std::map<int, const FileFacts*> guessed;  // by rank
    std::set<int> others;
    for (const FileFacts& file : facts_) {
      if (!file.hasForward && !file.hasBackward) continue;
      for (const auto& [rank, span] : file.ranks) {
        if (file.process.isRankGuessed) {
          guessed.try_emplace(rank, &file);
        } else {
          others.insert(rank);
        }
      }
    }
    if (guessed.empty() || guessed.size() + others.size() < 2) return;
    const std::string& first = guessed.begin()->second->path;
    const std::string& last = guessed.rbegin()->second->path;
    if (first == last) {
      diagnostics_.add({.file = first,
                        .message = "nothing says which rank it is; it is taken for rank " +
                                   std::to_string(guessed.begin()->first) +
                                   ", the next one by its place among the inputs",
                        .advice = "name it by its rank, such as rank0.json"});
      return;
    }
    const std::size_t more = guessed.size() - 2;
    throw Error("nothing says which ranks " + first + (more > 0 ? ", " : " and ") + last +
                (more > 0 ? " and " + countText(more, "more file") : "") +
                " are: neither their contents nor numbers in their names that count from 0; name "
                "them by their ranks, such as rank0.json and rank1.json");
  }

  /// Gives a trace that names no rank the rank of an earlier trace of the same process.
  void giveRankOfProcess(FileReading& reading) const {
    FileFacts& facts = reading.facts;
    const auto earlier = std::find_if(facts_.begin(), facts_.end(), [&](const FileFacts& other) {
      return other.process.isRankGuessed && !facts.process.id.empty() &&
             other.process.id == facts.process.id && other.host == facts.host &&
             other.process.run == facts.process.run && areApart(other.span, facts.span);
    });
    if (earlier == facts_.end() || facts.ranks.size() != 1 || earlier->ranks.size() != 1) return;
    const int rank = earlier->ranks.begin()->first;
    for (Track& track : reading.timeline.tracks) track.rank = rank;
    for (CounterSeries& series : reading.timeline.counters) series.rank = rank;
    reading.timeline.ranks = {{rank, std::move(reading.timeline.ranks.begin()->second)}};
    reading.timeline.ranks.begin()->second.rank = rank;
    facts.ranks = {{rank, facts.span}};
  }

  void note(const FoundLog& file, std::string message, std::string advice = {}) {
    diagnostics_.add({.severity = Severity::kNote,
                      .file = file.path,
                      .message = std::move(message),
                      .advice = std::move(advice)});
  }

  /// A rank of a trace that is not in the run of the logs, all of which have been added. The run
  /// has as many ranks as they say. If they say nothing, it has those up to the highest with a log.
  std::optional<int> rankThatIsNotOfTheLogs(const Timeline& trace) const {
    int size = 0;
    int highest = -1;
    for (const auto& [rank, info] : joiner_.timeline().ranks) {
      size = std::max(size, info.worldSize.value_or(0));
      highest = std::max(highest, rank);
    }
    if (highest < 0) return std::nullopt;  // no log had a job
    for (const auto& [rank, info] : trace.ranks) {
      if (rank >= std::max(size, highest + 1)) return rank;
    }
    return std::nullopt;
  }

  /// One sentence for inputs none of which held an event.
  std::string nothingIn(const std::vector<FoundLog>& files) const {
    std::string text = "no job in " + files.front().path + ": " + whyFirst_;
    if (files.size() > 1) {
      text += ", and none in " + std::to_string(files.size() - 1) + " more";
    }
    if (!adviceFirst_.empty()) return text + "; " + adviceFirst_;
    return text + (options_.pattern.empty()
                       ? "; give a folder of workerlog.<rank> files, one such file, or a profile "
                         "that pipe-trace wrote. The log of another program is read with "
                         "--pattern (docs/inputs.md)"
                       : "; try the pattern on one of the lines. It has to match a part of it, "
                         "with numbers as start and as end or duration");
  }

  const LoadOptions& options_;
  bool hasFoundLogs_;
  Diagnostics& diagnostics_;
  std::vector<LoadedFile>* loaded_;
  TimelineJoiner joiner_;
  Diagnostics ofJoining_;
  std::vector<FileFacts> facts_;  // of the files that have events
  std::string whyFirst_;
  std::string adviceFirst_;
  std::vector<Diagnostic>
      withoutJobs_;  // reported if other inputs hold some, else the error says it
};

/// Counts the logs at the front whose names give their ranks, and which are read sooner by one
/// thread each than one after the other by all.
std::size_t countSmallLogs(std::span<const FoundLog> files) {
  constexpr off_t kSmall = off_t{4} << 20;
  const auto isSmallLog = [](const FoundLog& file) {
    struct stat status {};
    return file.rank && file.path != "-" && ::stat(file.path.c_str(), &status) == 0 &&
           S_ISREG(status.st_mode) && status.st_size < kSmall;
  };
  return static_cast<std::size_t>(std::find_if_not(files.begin(), files.end(), isSmallLog) -
                                  files.begin());
}

/// Reads the files, several at once on several threads, and adds them in order.
void loadAll(std::span<const FoundLog> files, const FileLoader& loader, RunLoader& run,
             int threads) {
  std::atomic<std::size_t> next{0};
  const std::size_t useful = std::min(static_cast<std::size_t>(threads), files.size());
  Turns::run(static_cast<int>(useful), [&](Turns& turns) {
    for (std::size_t i = 0; (i = next++) < files.size();) {
      const FoundLog& file = files[i];
      std::optional<FileReading> reading;
      std::exception_ptr error;
      try {
        // With one thread, all files before this one have been added.
        reading = loader.load(file, useful == 1 ? run.nextRank() : kHighestRank);
      } catch (const Error&) {
        error = std::current_exception();
      }
      if (!turns.await(static_cast<std::int64_t>(i))) return;
      try {
        if (error) std::rethrow_exception(error);
        const bool mayNeedRank = useful > 1 && !reading->isLog();
        run.add(file, mayNeedRank ? loader.load(file, run.nextRank()) : std::move(*reading));
      } catch (const Error& why) {
        if (file.by != FoundBy::kEnding) throw;
        run.leaveOut(file, why.what());
      }
      turns.finish();
    }
  });
}

}  // namespace

Timeline loadTimeline(const std::vector<std::string>& inputs, const TraceReaders& readers,
                      const LoadOptions& options, Diagnostics& diagnostics,
                      std::vector<LoadedFile>* loaded) {
  std::vector<FoundLog> files = filesOf(inputs, !options.pattern.empty(), diagnostics);
  removeRepeated(files, options.progress, diagnostics);
  giveNameRanks(files);
  if (files.empty()) throw Error("nothing to read: name a folder of job logs or a profile");

  const bool hasFoundLogs = std::any_of(files.begin(), files.end(), [](const FoundLog& file) {
    return file.by == FoundBy::kLogName;
  });
  const FileLoader loader(readers, options, hasFoundLogs, files.size() == 1);
  RunLoader run(options, hasFoundLogs, diagnostics, loaded);
  const std::span all(files);
  for (std::size_t next = 0; next < files.size();) {
    const std::size_t count = countSmallLogs(all.subspan(next));
    loadAll(all.subspan(next, std::max<std::size_t>(count, 1)), loader, run,
            count > 1 ? threadCount(options.threads) : 1);
    next += std::max<std::size_t>(count, 1);
  }
  return run.take(files, inputs);
}

}  // namespace pipetrace
