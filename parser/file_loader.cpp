#include "parser/file_loader.h"

#include <algorithm>
#include <filesystem>

#include "parser/byte_source.h"
#include "parser/csv_format.h"
#include "parser/own_profile.h"
#include "trace/error.h"

namespace pipetrace {
namespace {

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

}  // namespace

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
    reading.diagnostics.add({.file = source.name(),
                             .message = source.damage() + "; what came before was read",
                             .advice = "copy the file again"});
  }
  return reading;
}

}  // namespace pipetrace
