#include "parser/ring/ring_file_reader.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <filesystem>
#include <set>
#include <system_error>
#include <tuple>
#include <utility>

#include "parser/job_log/lines/log_events.h"
#include "parser/job_log/lines/rank_part.h"
#include "parser/ring/recorder_state.h"
#include "parser/ring/ring_contents.h"
#include "trace/log/log_format.h"
#include "trace/log/log_writer.h"
#include "trace/text/decimal_time.h"
#include "trace/text/display_name.h"
#include "trace/text/log_numbers.h"

namespace pipetrace {
namespace {

namespace lf = log_format;

/// The identity of a job of a lane, the same in the ring and in the log.
using Identity = std::tuple<std::int64_t, Nanoseconds, Nanoseconds, std::int32_t>;

/// The jobs in the ring that are in the log as well: they were written, and their slots not given
/// back any more.
std::set<std::pair<std::string_view, Identity>> inBoth(const RankPart& part,
                                                       const RingContents& ring) {
  std::set<std::pair<std::string_view, Identity>> inRing;
  for (const RingContents::Job& job : ring.jobs) {
    if (!job.isInLogPossibly) continue;
    const Identity identity(job.line.job, job.line.begin, job.line.end,
                            static_cast<std::int32_t>(job.line.microBatch));
    inRing.emplace(job.line.stream, identity);
  }
  std::set<std::pair<std::string_view, Identity>> both;
  if (inRing.empty()) return both;
  for (const auto& [lane, events] : part.lanes) {
    for (const Event& event : events) {
      const auto found =
          inRing.find({lane, Identity(event.job, event.begin, event.end, event.microBatch)});
      if (found != inRing.end()) both.insert(*found);
    }
  }
  return both;
}

/// The identity of a sample: counter, time, and the bits of the value, as it may be no number.
using Sample = std::tuple<std::string_view, Nanoseconds, std::uint64_t>;

std::set<Sample> samplesInBoth(const RankPart& part, const RingContents& ring) {
  std::set<Sample> inRing;
  for (const CounterLine& each : ring.samples) {
    inRing.emplace(each.name, each.time, std::bit_cast<std::uint64_t>(each.value));
  }
  std::set<Sample> both;
  if (inRing.empty()) return both;
  for (const auto& [name, series] : part.counters) {
    for (const auto& each : series.samples) {
      const auto found =
          inRing.find(Sample(name, each.time, std::bit_cast<std::uint64_t>(each.value)));
      if (found != inRing.end()) both.insert(*found);
    }
  }
  return both;
}

/// Turns jobs into the lines that would have been written, and reads those.
class LineAdder {
 public:
  LineAdder(RankPart& part, StringTable& strings) : part_(part), events_(strings) {}

  void add(const RingContents::Job& job) {
    line_.clear();
    if (job.isCompute) {
      const StreamLine& from = job.line;
      writer_.append(line_, JobLine{.type = from.type,
                                    .number = from.microBatch,
                                    .microBatch = from.microBatch,
                                    .begin = from.begin,
                                    .end = from.end,
                                    .id = from.job,
                                    .step = from.step,
                                    .stage = from.stage,
                                    .chunk = from.chunk,
                                    .stream = from.stream,
                                    .action = job.action,
                                    .details = job.details,
                                    .phase = from.phase});
    } else {
      StreamLine line = job.line;
      line.members = job.action;
      writer_.append(line_, line);
    }
    line_.pop_back();
    if (job.isUntimed) line_ += ", " + std::string(lf::kUntimed) + " = 1";
    if (job.isCompute) {
      events_.addJob(part_, line_, 0);
    } else {
      events_.addStream(part_, payload(lf::kStream), 0);
    }
  }

  void add(const CounterLine& sample) {
    line_.clear();
    writer_.append(line_, sample);
    line_.pop_back();
    events_.addCounter(part_, payload(lf::kCounter), 0);
  }

 private:
  std::string_view payload(std::string_view mark) const {
    return std::string_view(line_).substr(line_.find(mark) + mark.size());
  }

  RankPart& part_;
  LogEvents events_;
  LogWriter writer_;
  std::string line_;
};

std::string describe(const RingContents::OpenJob& open) {
  std::string text = std::string(open.line.type) + " of micro-batch " +
                     std::to_string(open.line.microBatch) + " on stream " +
                     std::string(open.line.stream);
  if (open.line.step >= 0) text += " in step " + std::to_string(open.line.step);
  if (!open.action.empty()) text += " (" + std::string(open.action) + ")";
  text += ", begun at ";
  appendMilliseconds(text, open.line.begin);
  return text;
}

/// "F2 (step 3)"
std::string inShort(const RingContents::OpenJob& open) {
  const JobKind kind = jobKindFromLogName(open.line.type);
  std::string text =
      shortName({.microBatch = static_cast<std::int32_t>(open.line.microBatch), .kind = kind});
  if (text.empty()) text = std::string(open.line.type);
  if (isTransfer(kind) && open.line.microBatch >= 0) {
    text += " " + std::to_string(open.line.microBatch);
  }
  if (!open.isCompute) text += " on " + std::string(open.line.stream);
  if (open.line.step >= 0) text += " (step " + std::to_string(open.line.step) + ")";
  return text;
}

const char* whyUnwritten(RecorderState recorder) {
  switch (recorder) {
    case RecorderState::kRecords: return "has not written them yet";
    case RecorderState::kEnded: return "had not written them when it ended";
    case RecorderState::kUnknown: break;
  }
  return "had not written them when it ended, or it still runs";
}

/// The words around a job that was open, and around those of several ranks.
struct OpenJobWording {
  const char* before;
  const char* after;
  const char* ofSeveral;
};

OpenJobWording wordingOfOpenJobs(RecorderState recorder) {
  switch (recorder) {
    case RecorderState::kRecords: return {"the program is in ", "", "now in"};
    case RecorderState::kEnded: return {"the program ended in ", "", "ended in"};
    case RecorderState::kUnknown: break;
  }
  return {"the program ended in ", ", unless it still runs", "ended in, unless they still run"};
}

/// Reports the jobs that were open. Each of several ranks is reported with one job: that of its
/// compute stream, if one was open.
void reportOpenJobs(const std::vector<RingContents::OpenJob>& jobs, int rank,
                    RecorderState recorder, const std::string& file, Diagnostics& diagnostics) {
  const OpenJobWording wording = wordingOfOpenJobs(recorder);
  auto foremost =
      std::find_if(jobs.begin(), jobs.end(), [](const auto& job) { return job.isCompute; });
  if (foremost == jobs.end()) foremost = jobs.begin();
  for (auto job = jobs.begin(); job != jobs.end(); ++job) {
    Diagnostic report{.severity = Severity::kNote,
                      .file = file,
                      .message = wording.before + describe(*job) + wording.after,
                      .ofSeveral = wording.ofSeveral};
    if (job == foremost) report.share = "rank " + std::to_string(rank) + " " + inShort(*job);
    diagnostics.add(std::move(report));
  }
}

/// Whether the log has jobs of a stream that the ring file did not keep, for want of room. Older
/// files do not say how many such streams there are.
bool hasOtherStreams(const RankPart& part, const RingContents& ring) {
  return std::any_of(part.lanes.begin(), part.lanes.end(), [&](const auto& lane) {
    const auto isOfStream = [&](const Event& event) {
      return event.kind != JobKind::kKernel && lane.first != lf::kNcclLane;
    };
    return !ring.keeps(lane.first) &&
           std::any_of(lane.second.begin(), lane.second.end(), isOfStream);
  });
}

void addContents(RankPart& part, const RingContents& ring, int rank, const std::string& file,
                 StringTable& strings, Diagnostics& diagnostics) {
  const auto known = inBoth(part, ring);
  const std::int64_t before = part.eventCount();
  LineAdder adder(part, strings);
  for (const RingContents::Job& job : ring.jobs) {
    const Identity identity(job.line.job, job.line.begin, job.line.end,
                            static_cast<std::int32_t>(job.line.microBatch));
    if (!job.isInLogPossibly || !known.contains({job.line.stream, identity})) adder.add(job);
  }
  const std::int64_t jobs = part.eventCount() - before;
  const auto knownSamples = samplesInBoth(part, ring);
  for (const CounterLine& each : ring.samples) {
    if (!knownSamples.contains({each.name, each.time, std::bit_cast<std::uint64_t>(each.value)})) {
      adder.add(each);
    }
  }
  const RecorderState recorder = part.missingEnd.recorder;
  if (jobs > 0) {
    const std::string why = ": the program " + std::string(whyUnwritten(recorder));
    diagnostics.add(
        {.severity = Severity::kNote,
         .file = file,
         .message = std::to_string(jobs) + " jobs that are not in the log are read from here" + why,
         .ofSeveral = "jobs that are not in the log are read from here" + why});
  }
  reportOpenJobs(ring.open, rank, recorder, file, diagnostics);
  if (ring.lanesNotKept > 0) {
    const std::string what =
        "streams found no room in this ring file: what they recorded and did not write cannot be "
        "read";
    diagnostics.add({.file = file,
                     .message = std::to_string(ring.lanesNotKept) + " " + what,
                     .advice = "make room on the disk of the logs before the program begins",
                     .ofSeveral = what});
  }
  part.info.dropped = addCounts(part.info.dropped, ring.dropped);
  if (ring.dropped > 0) part.findings.add(LogFinding::kDropped, 0, ring.dropped);
}

/// The state of the recorder of a rank's part whose ring file is at `ringPath`.
RecorderState recorderOf(const RankPart& part, const std::string& logPath,
                         const std::string& ringPath, const RingContents& ring) {
  if (!part.isLatest) return RecorderState::kEnded;
  const RecorderState state = recorderState(logPath, part.info.host, ring.process);
  if (state != RecorderState::kEnded) return state;
  // If it had closed its log after that was read, the ring file would be gone.
  std::error_code error;
  return std::filesystem::exists(ringPath, error) ? state : RecorderState::kUnknown;
}

void sayUnreadable(const std::string& file, const std::string& why, Diagnostics& diagnostics) {
  diagnostics.add({.file = file,
                   .message = "this ring file cannot be read: " + why,
                   .advice = "what was recorded last, and not written, is missing"});
}

}  // namespace

void addLeftOverRing(RankPart& part, int rank, const std::string& logPath, const LogRings& rings,
                     StringTable& strings, Diagnostics& diagnostics) {
  const RingSnapshot* const snapshot = rings.find(part.ringFile);
  if (part.info.hasEnd || snapshot == nullptr) return;
  const std::string path = rings.pathOf(part.ringFile);
  std::string whyNot;
  if (const auto ring = readRing(snapshot->bytes(), whyNot)) {
    const bool isWhole =
        ring->dropped == 0 && ring->lanesNotKept == 0 && !hasOtherStreams(part, *ring);
    part.missingEnd = {
        .ring = isWhole ? MissingEnd::Ring::kRead : MissingEnd::Ring::kReadWithLosses,
        .recorder = recorderOf(part, logPath, path, *ring)};
    addContents(part, *ring, rank, path, strings, diagnostics);
  } else {
    sayUnreadable(path, whyNot, diagnostics);
  }
}

FormatMatch RingFileReader::probe(std::string_view head) const {
  return isRing(head) ? FormatMatch::kCertain : FormatMatch::kNo;
}

ReadOutcome RingFileReader::read(ByteSource& source, const ReadRequest& request, Timeline& timeline,
                                 Diagnostics& diagnostics) const {
  const RingSnapshot snapshot(source);
  ReadOutcome outcome;
  const auto ring = readRing(snapshot.bytes(), outcome.whyNone);
  if (!ring) return outcome;
  RankPart part;
  readMetaLine(part, ring->meta, 0);
  const int rank = part.metaRank.value_or(request.rank.value_or(request.nextRank));
  addContents(part, *ring, rank, source.name(), timeline.strings, diagnostics);
  part.findings.report(source.name(), diagnostics);
  outcome.events = part.eventCount();
  if (outcome.events == 0) {
    outcome.whyNone = "everything that was recorded is in the log";
    return outcome;
  }
  part.moveTo(timeline, rank);
  return outcome;
}

}  // namespace pipetrace
