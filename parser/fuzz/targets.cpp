#include "parser/fuzz/targets.h"

#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "parser/chrome/reader.h"
#include "parser/chrome/write/writer.h"
#include "parser/csv_writer.h"
#include "parser/foreign/logs/megatron_reader.h"
#include "parser/foreign/logs/pattern_log_reader.h"
#include "parser/foreign/logs/pipeline_logger_reader.h"
#include "parser/foreign/names/given_names.h"
#include "parser/fuzz/ring_image.h"
#include "parser/job_log/job_log_reader.h"
#include "parser/job_log/lines/job_head.h"
#include "parser/perfetto/reader.h"
#include "parser/perfetto/writer.h"
#include "parser/ring/ring_file_reader.h"
#include "parser/sqlite/reader.h"
#include "parser/testing/timelines.h"
#include "trace/error.h"
#include "trace/log/log_format.h"
#include "trace/text/utf8.h"

namespace pipetrace::fuzz {
namespace {

void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "does not hold: %s\n", what);
  std::abort();
}

void checkEvents(const Timeline& timeline) {
  for (const Track& track : timeline.tracks) {
    require(timeline.ranks.contains(track.rank), "every track's rank is known");
    for (std::size_t i = 0; i < track.events.size(); ++i) {
      const Event& event = track.events[i];
      require(event.begin <= event.end, "no event ends before it begins");
      require(i == 0 || !startsBefore(event, track.events[i - 1]), "events are in order");
      require(event.name < timeline.strings.size(), "names are interned");
      for (const Argument& argument : timeline.argumentsOf(event)) {
        require(argument.key < timeline.strings.size(), "keys are interned");
        require(argument.type != ArgumentType::kText || argument.text < timeline.strings.size(),
                "texts are interned");
      }
    }
  }
}

void writeNowhere(const Timeline& timeline) {
  try {
    OutputFile out("/dev/null");
    writeChromeJson(timeline, {}, out);
    writePerfetto(timeline, {}, out);
    writeCsv(timeline, out);
  } catch (const Error&) {
    // A profile of more centuries than a number holds is refused.
  }
}

void readAndCheck(const TraceReader& reader, const std::string& bytes) {
  reader.probe(bytes);
  Timeline timeline;
  Diagnostics diagnostics;
  ByteSource source("fuzz", bytes);
  const ReadOutcome outcome = reader.read(source, {}, timeline, diagnostics);
  timeline.sort();
  require(static_cast<std::size_t>(outcome.events) == timeline.eventCount(), "events are counted");
  require((outcome.events == 0) == !outcome.whyNone.empty(), "nothing is explained");
  checkEvents(timeline);
  writeNowhere(timeline);
}

/// The timeline that the bytes give, and the diagnostics about them.
std::string resultOf(const TraceReader& reader, const std::string& bytes, int threads = 1) {
  Timeline timeline;
  Diagnostics diagnostics;
  ByteSource source("fuzz", bytes);
  const ReadOutcome outcome = reader.read(source, {.threads = threads}, timeline, diagnostics);
  timeline.sort();
  std::string text = test::describe(timeline) + outcome.whyNone;
  for (const Diagnostic& diagnostic : diagnostics.list()) text += "\n" + toText(diagnostic);
  return text;
}

/// Everything in `source`, by reads and peeks of the given sizes in turn.
std::string allOf(ByteSource& source, std::size_t readSize, std::size_t peekSize) {
  std::string bytes;
  std::string room(readSize, '\0');
  while (true) {
    const std::string ahead(source.peek(peekSize));
    const std::size_t n = source.read(room.data(), room.size());
    const std::string_view got = std::string_view(room).substr(0, n);
    require(got.starts_with(std::string_view(ahead).substr(0, n)), "a peek shows what is read");
    if (n == 0) {
      require(ahead.empty() || peekSize == 0, "an input that has ended shows nothing");
      return bytes;
    }
    bytes += got;
  }
}

std::string gzipped(const std::string& bytes) {
  z_stream z{};
  require(deflateInit2(&z, 1, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK, "zlib starts");
  std::string out(deflateBound(&z, bytes.size()), '\0');
  z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  z.avail_in = static_cast<uInt>(bytes.size());
  z.next_out = reinterpret_cast<Bytef*>(out.data());
  z.avail_out = static_cast<uInt>(out.size());
  require(deflate(&z, Z_FINISH) == Z_STREAM_END, "zlib has room");
  out.resize(z.total_out);
  deflateEnd(&z);
  return out;
}

std::string inFrame(const std::string& bytes) {
  std::string out(ZSTD_compressBound(bytes.size()), '\0');
  const std::size_t size = ZSTD_compress(out.data(), out.size(), bytes.data(), bytes.size(), 1);
  require(ZSTD_isError(size) == 0, "zstd has room");
  out.resize(size);
  return out;
}

void readInPieces(const std::string& bytes) {
  ByteSource whole("fuzz", bytes);
  const std::string content = allOf(whole, std::size_t{1} << 16, 0);
  for (const std::size_t size : {1, 7, 600}) {
    ByteSource pieces("fuzz", bytes);
    require(allOf(pieces, size, 3 * size % 11) == content, "pieces are the whole");
    require(pieces.damage() == whole.damage(), "damage is found in pieces, too");
  }
  ByteSource anywhere("fuzz", bytes);
  if (const auto plain = anywhere.plainSize()) {
    require(*plain == bytes.size() && content == bytes, "what is plain is unchanged");
    std::string end(10, '\0');
    end.resize(anywhere.readAt(bytes.size() / 2, end.data(), end.size()));
    require(end == bytes.substr(bytes.size() / 2, 10), "any place can be read");
  }
}

/// Reads the bytes, plain, compressed or cut off while compressed, in pieces of all sizes.
void readAsBytes(const std::string& bytes) {
  readInPieces(bytes);
  std::string packed = gzipped(bytes);
  ByteSource source("fuzz", packed);
  require(allOf(source, 100, 3) == bytes, "what was compressed is the same again");
  require(source.damage().empty(), "whole compressed data has no damage");
  packed.resize(packed.size() - 1 - bytes.size() % packed.size());
  readInPieces(packed);
  std::string frames = inFrame(bytes) + inFrame(bytes);
  ByteSource decoded("fuzz", frames);
  require(allOf(decoded, 100, 3) == bytes + bytes, "what was in frames is the same again");
  require(decoded.damage().empty(), "whole frames have no damage");
  frames[bytes.size() % frames.size()] ^= 0x55;
  readInPieces(frames);
  frames.resize(frames.size() - 1 - bytes.size() % frames.size());
  readInPieces(frames);
}

/// Reads the bytes as a ring file, and the file that they are the image of (ring_image.h).
void readAsRingFile(const std::string& bytes) {
  readAndCheck(RingFileReader(), bytes);
  readAndCheck(RingFileReader(), ringOf(bytes));
}

/// Reads the bytes as a job log, by hand and by pattern.
void readAsJobLog(const std::string& bytes) {
  readAndCheck(JobLogReader(), bytes);
  require(resultOf(JobLogReader(LogReading::kFast), bytes) ==
              resultOf(JobLogReader(LogReading::kByPattern), bytes),
          "logs are read alike by hand and by pattern");
  for (std::size_t from = 0; from < bytes.size();) {
    const std::size_t end = std::min(bytes.find('\n', from), bytes.size());
    const std::string line = toUtf8(std::string_view(bytes).substr(from, end - from));
    from = end + 1;
    if (line.find(log_format::kInfo) == std::string::npos) continue;
    const auto byHand = readCanonicalHead(line);
    if (!byHand) continue;
    JobHead byPattern;
    require(readHeadByPattern(line, byPattern) == HeadResult::kRead, "the pattern reads it too");
    require(*byHand == byPattern, "both ways read the same");
  }
}

/// Reads the bytes as Chrome JSON, by hand and by the library.
void readAsChromeJson(const std::string& bytes) {
  readAndCheck(ChromeJsonReader(), bytes);
  const std::string result = resultOf(ChromeJsonReader(ChromeReading::kByLibrary), bytes);
  require(resultOf(ChromeJsonReader(ChromeReading::kFast), bytes) == result,
          "traces are read alike by hand and by the library");
  // Threads take time to start; without them the same blocks are read one after the other.
  const std::size_t blockSize = 16 + bytes.size() % 240;
  const int threads = bytes.size() % 8 == 0 ? 2 : 1;
  require(resultOf(ChromeJsonReader(ChromeReading::kFast, blockSize), bytes, threads) == result,
          "traces are read alike in blocks");
}

/// Reads the bytes as a file of a MegatronApp rank, and puts its iterations where they belong.
void readAsMegatron(const std::string& bytes) {
  readAndCheck(MegatronReader(), bytes);
  Timeline timeline;
  Diagnostics diagnostics;
  ByteSource source("fuzz", bytes);
  MegatronReader().read(source, {}, timeline, diagnostics);
  lineUpMegatronRanks(timeline, diagnostics);
  timeline.sort();
  checkEvents(timeline);
}

/// Takes the first line for --pattern, and reads the others by it.
void readAsPatternLog(const std::string& bytes) {
  const std::size_t end = std::min(bytes.find('\n'), bytes.size());
  try {
    const LinePattern pattern(bytes.substr(0, end), kNsPerUs);
    readAndCheck(PatternLogReader(pattern), bytes.substr(std::min(end + 1, bytes.size())));
  } catch (const Error&) {
    // The text is no usable expression.
  }
}

/// Reads the bytes as the file of --kinds, and looks up names in it.
void readAsKinds(const std::string& bytes) {
  try {
    const KindsFile names = KindsFile::parse(bytes, "kinds");
    for (const char* name : {"", "forward", "fwd_1", "bwd_99999999999", "blk(3)\n"}) {
      const auto found = names.find(name);
      require(!found || (found->isAsked && found->step >= kNotGiven && found->chunk >= kNotGiven),
              "numbers in names are not below 0");
    }
  } catch (const Error&) {
    // The error's message says what is wrong with the file.
  }
}

/// Reads the bytes with a reader that needs no options.
template <typename Reader>
void readAs(const std::string& bytes) {
  readAndCheck(Reader(), bytes);
}

}  // namespace

const std::map<std::string, Target>& targets() {
  static const std::map<std::string, Target> kTargets = {
      {"byte_source", {readAsBytes, 40}},
      {"chrome_json", {readAsChromeJson, 15}},
      {"job_log", {readAsJobLog, 100}},
      {"kinds", {readAsKinds, 100}},
      {"megatron", {readAsMegatron, 100}},
      {"pattern_log", {readAsPatternLog, 100}},
      {"perfetto", {readAs<PerfettoReader>, 25}},
      {"pipeline_logger", {readAs<PipelineLoggerReader>, 200}},
      {"ring_file", {readAsRingFile, 100}},
      {"sqlite", {readAs<SqliteReader>, 40}},
  };
  return kTargets;
}

}  // namespace pipetrace::fuzz
