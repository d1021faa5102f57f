#include "ingest/run_follower.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <limits>
#include <sstream>
#include <string_view>
#include <utility>

#include "analysis/run/run.h"
#include "parser/byte_source.h"
#include "parser/job_log/job_log_reader.h"
#include "parser/job_log/lines/log_events.h"
#include "parser/job_log/lines/log_line.h"
#include "parser/job_log/lines/rank_part.h"
#include "parser/job_log/log_tail.h"
#include "parser/trace_reader.h"
#include "trace/append.h"
#include "trace/checked_span.h"
#include "trace/error.h"
#include "trace/log/log_format.h"
#include "trace/log/rank_info_fields.h"
#include "trace/text/ranks_text.h"

namespace pipetrace {
namespace {

namespace fs = std::filesystem;
namespace lf = log_format;

/// Throws Error for a file that is no job log: no other file grows.
void checkGrows(const std::string& input, const TraceReaders& readers) {
  const std::string advice =
      " cannot be followed, only job logs that still grow; leave out --follow";
  if (input.ends_with(".gz")) throw Error(input + " (compressed)" + advice);
  ByteSource source(input);
  const std::string_view head = source.peek(TraceReader::kProbeSize);
  const TraceReader* const reader = readers.choose(head);
  // A file that is only likely to be a log may be the output of a program that logs later.
  const bool isProfile = reader != nullptr && reader->record() != RecordKind::kJobLog &&
                         reader->probe(head) == FormatMatch::kCertain;
  if (isProfile) throw Error(input + " (" + std::string(reader->formatName()) + ")" + advice);
}

void addInfo(RankInfo& info, const RankInfo& more) {
  info.clockReadings.insert(info.clockReadings.end(), more.clockReadings.begin(),
                            more.clockReadings.end());
  if (!more.hasEnd) return;
  info.hasEnd = true;
  visitRankFieldsIn<RankFieldPlace::kEnd>([&](auto, auto member) { info.*member = more.*member; });
}

/// The last step that every rank has finished: those that go on are in the next one already.
/// kNotGiven when there is none. `isEnd`: nothing more will come, so an optimizer ends a step.
std::int32_t lastFinished(const Timeline& timeline, bool isEnd) {
  std::int32_t last = std::numeric_limits<std::int32_t>::max();
  std::int32_t highest = kNotGiven;
  for (const auto& [rank, info] : timeline.ranks) {
    std::int32_t latest = kNotGiven;
    std::int32_t ended = kNotGiven;  // by an optimizer
    if (const Track* const track = timeline.findTrack(rank, kComputeLane)) {
      for (const Event& event : track->events) {
        latest = std::max(latest, event.step);
        if (event.kind == JobKind::kOptimizer) ended = std::max(ended, event.step);
      }
    }
    highest = std::max(highest, latest);
    if (info.hasEnd) continue;
    last = std::min(last, isEnd && ended == latest ? latest : latest - 1);
  }
  return std::max<std::int32_t>(std::min(last, highest), kNotGiven);
}

}  // namespace

void checkFollowable(const std::vector<std::string>& inputs, const TraceReaders& readers) {
  for (const std::string& input : inputs) {
    std::error_code error;
    if (input == "-") throw Error("--follow reads files, not standard input");
    if (!std::filesystem::exists(input, error)) {
      throw Error("cannot follow " + input +
                  ": it is not there; make the folder, or check the name");
    }
    if (std::filesystem::is_regular_file(input, error)) checkGrows(input, readers);
  }
}

RunFollower::RunFollower(RunRequest request, TakeSteps take)
    : request_(std::move(request)), take_(std::move(take)) {
  findNewLogs();
}

void RunFollower::findNewLogs() {
  for (const std::string& input : request_.inputs) {
    std::error_code error;
    std::vector<FoundLog> found;
    if (fs::is_directory(input, error)) {
      Diagnostics dropped;  // they are about folders with logs that are whole
      try {
        found = findLogs(input, dropped);
      } catch (const Error&) {
        continue;  // no log yet
      }
    } else {
      found.push_back({input, rankOfLogName(fs::path(input).filename().string())});
    }
    for (const FoundLog& log : found) {
      // A compressed log does not grow any more.
      if (log.by == FoundBy::kEnding || log.path.ends_with(".gz")) continue;
      if (!known_.insert(log.path).second) continue;
      logs_.push_back({.tail = LogTail(log.path), .rank = log.rank});
    }
  }
}

void RunFollower::look() {
  for (Log& log : logs_) readNew(log);
  handOn(false);
}

void RunFollower::lookAtRecorders() {
  for (Log& log : logs_) {
    if (!log.isDone && log.isUpToDate && !isClosed(log)) log.recorder.look();
  }
}

std::string RunFollower::newlyOutOfSight() {
  std::vector<int> ranks;
  for (Log& log : logs_) {
    const bool isFollowed = log.rank && !log.isDone && log.isUpToDate && !isClosed(log);
    if (!isFollowed || log.isNamed || !log.recorder.isOutOfSight()) continue;
    log.isNamed = true;
    ranks.push_back(*log.rank);
  }
  return ranks.empty() ? "" : ranksText(ranks);
}

void RunFollower::finish() {
  for (const Log& log : logs_) {
    if (!log.recorder.isGone() || log.isDone || isClosed(log)) continue;
    diagnostics_.add(
        {.file = log.tail.path(),
         .message = "no Profiler End line: the program ended without closing its log",
         .advice = "convert the logs again, without --follow: that reads ring files, too"});
  }
  handOn(true);
}

void RunFollower::readNew(Log& log) {
  while (!log.isDone) {
    std::string text = log.tail.next();
    if (log.tail.wasReplaced()) return stopAt(log, "it was cut short or replaced");
    if (text.empty()) break;
    addText(log, std::move(text));
  }
  log.isUpToDate = true;
}

void RunFollower::stopAt(Log& log, const std::string& why) {
  log.isDone = true;
  diagnostics_.add(
      {.file = log.tail.path(),
       .message = why + ": a new run has begun, which is not in the profile",
       .advice = "start " + request_.reading.program + " --follow again to follow that one"});
}

void RunFollower::addText(Log& log, std::string text) {
  text.insert(0, log.opening);
  const std::size_t meta = lastMetaLine(text);
  if (meta != std::string::npos && log.hasBegun) {
    if (log.isUpToDate) {
      text.resize(text.find(lf::kMeta));
      text.resize(text.rfind('\n') + 1);
      stopAt(log, "it goes on");
    } else {
      // The last of the runs that it holds already is followed.
      if (log.rank) forgetRank(*log.rank);
      text.erase(0, meta);
    }
  }
  const std::string ours = linesOfProfiler(text);
  log.recorder.addLines(ours);
  // A name at which there is no ring file: a living program's records come in its log.
  ByteSource source(log.tail.path() + "/followed", std::move(text));
  Timeline part;
  Diagnostics found;
  const ReadOutcome outcome = JobLogReader().read(
      source,
      {.rank = log.rank,
       .nextRank = pending_.ranks.empty() ? 0 : pending_.ranks.rbegin()->first + 1,
       .isPart = true},
      part, found);
  for (Diagnostic diagnostic : found.list()) {
    diagnostic.file = log.tail.path();
    diagnostic.line = 0;  // counted from where this look began
    diagnostics_.add(std::move(diagnostic));
  }
  log.hasBegun = log.hasBegun || outcome.events > 0;
  log.opening = log.hasBegun ? "" : ours;
  if (outcome.events == 0) return addInfoOf(log, ours);
  log.rank = part.ranks.begin()->first;
  hasNew_ = true;
  keep(std::move(part));
}

/// Takes the information from lines without any event.
void RunFollower::addInfoOf(const Log& log, const std::string& lines) {
  if (!log.hasBegun || lines.empty()) return;
  RankPart part;
  LogEvents events(pending_.strings);
  std::istringstream in(lines);
  for (std::string text; std::getline(in, text);) {
    const LogLine line = classifyLogLine(text);
    if (line.kind == LogLineKind::kClock) readClockLine(part, line.payload, 0);
    if (line.kind == LogLineKind::kEnd) readEndLine(part, line.payload, 0);
    if (line.kind == LogLineKind::kCounter) events.addCounter(part, line.payload, 0);
  }
  for (auto& [name, series] : part.counters) {
    series.rank = *log.rank;
    pending_.counters.push_back(std::move(series));
  }
  addInfo(pending_.ranks.at(*log.rank), part.info);
  hasNew_ = true;
}

void RunFollower::forgetRank(int rank) {
  pending_.ranks.erase(rank);
  std::erase_if(pending_.tracks, [&](const Track& track) { return track.rank == rank; });
  std::erase_if(pending_.counters, [&](const CounterSeries& s) { return s.rank == rank; });
}

void RunFollower::keep(Timeline part) {
  for (auto& [rank, info] : part.ranks) {
    const auto [known, isNew] = pending_.ranks.try_emplace(rank, info);
    if (!isNew) addInfo(known->second, info);
  }
  append(std::move(part), pending_);
}

int RunFollower::worldSize() const {
  int ranks = 1;
  for (const auto& [rank, info] : pending_.ranks) {
    ranks = std::max(ranks, info.worldSize.value_or(1));
  }
  return ranks;
}

bool RunFollower::allRanksAreThere() const {
  return pending_.ranks.size() >= static_cast<std::size_t>(worldSize());
}

std::string RunFollower::waitsFor() const {
  if (logs_.empty()) return "job logs (workerlog.<rank>)";
  if (pending_.ranks.empty()) return "the first job in " + logs_.front().tail.path();
  if (allRanksAreThere()) return {};
  std::vector<int> missing;
  for (int rank = 0; rank < worldSize(); ++rank) {
    if (!pending_.ranks.contains(rank)) missing.push_back(rank);
  }
  return ranksText(missing);
}

bool RunFollower::isClosed(const Log& log) const {
  const auto found = log.rank ? pending_.ranks.find(*log.rank) : pending_.ranks.end();
  return found != pending_.ranks.end() && found->second.hasEnd;
}

bool RunFollower::isOver() const {
  const auto isGone = [](const Log& log) { return log.recorder.isGone(); };
  const bool mayBeOver = allRanksAreThere() || std::any_of(logs_.begin(), logs_.end(), isGone);
  return mayBeOver && std::all_of(logs_.begin(), logs_.end(), [&](const Log& log) {
           return isGone(log) || isClosed(log) || (log.isDone && !log.hasBegun);
         });
}

/// The pending events, completed. Where the log gives no steps, they are counted on from the steps
/// already dropped.
Timeline RunFollower::completed() const {
  checkedSpan(pending_);
  Timeline timeline = pending_;
  bool hasSteps = false;
  for (const Track& track : timeline.tracks) {
    hasSteps = hasSteps || std::any_of(track.events.begin(), track.events.end(),
                                       [](const Event& e) { return e.step != kNotGiven; });
  }
  Diagnostics dropped;  // they are about a run that is not over
  completeTimeline(timeline, dropped);
  if (hasSteps) return timeline;
  for (Track& track : timeline.tracks) {
    for (Event& event : track.events) {
      if (event.step != kNotGiven) event.step += firstKept_;
    }
  }
  return timeline;
}

bool RunFollower::isHandedOn(int rank, const Event& event) const {
  if (event.kind == JobKind::kBubble) return event.step <= lastHandedOn_;
  return handedOn_.contains(
      {rank, event.kind, event.begin, event.end, event.job, event.microBatch});
}

void RunFollower::handOn(bool isEnd) {
  const bool everything = isOver();
  if (!isEnd && (!hasNew_ || !allRanksAreThere())) return;
  hasNew_ = false;
  if (pending_.eventCount() == 0 && pending_.counters.empty()) return;
  pending_.sort();
  Timeline timeline = completed();
  const std::int32_t last = lastFinished(timeline, isEnd);
  const bool hasLast = everything || (isEnd && !pending_.counters.empty());
  if (!hasLast && (last == kNotGiven || last == lastHandedOn_)) return;
  Steps steps;
  for (const Track& track : timeline.tracks) {
    auto& ofTrack = steps.emplace_back();
    for (const Event& event : track.events) ofTrack.push_back(event.step);
  }
  handOn(std::move(timeline), last, everything);
  std::set<std::int32_t> added;
  for (const auto& ofTrack : steps) added.insert(ofTrack.begin(), ofTrack.end());
  steps_ += std::count_if(added.begin(), added.end(), [&](std::int32_t step) {
    return step != kNotGiven && step > lastHandedOn_ && step <= last &&
           request_.selection.wantsStep(step);
  });
  lastHandedOn_ = std::max(lastHandedOn_, last);
  forget(steps, last);
  if (everything) pending_.tracks.clear();
}

void RunFollower::handOn(Timeline timeline, std::int32_t last, bool everything) {
  if (request_.bubbles) {
    Run run(std::move(timeline));
    const bool isAsynchronous = run.summary().isAsynchronous();
    if (isAsynchronous) noteWithoutBubbles();
    timeline = std::move(run)
                   .ready(isAsynchronous ? BubbleChoice::kAsRead : BubbleChoice::kFound)
                   .timeline;
  }
  for (Track& track : timeline.tracks) {
    std::erase_if(track.events, [&](const Event& event) {
      const bool isFinished = event.step != kNotGiven && event.step <= last;
      return !(isFinished || everything) || isHandedOn(track.rank, event);
    });
  }
  std::erase_if(timeline.tracks, [](const Track& track) { return track.events.empty(); });
  select(timeline);
  if (timeline.eventCount() == 0 && timeline.counters.empty()) return;
  hasHandedOn_ = true;
  take_(timeline);
}

/// The steps of such a run are one, which ends with the run.
void RunFollower::noteWithoutBubbles() {
  if (std::exchange(isWithoutBubbles_, true)) return;
  diagnostics_.add({.severity = Severity::kNote,
                    .message = "weights change inside steps, so the run counts as one step: the "
                               "profile gets no bubbles while it grows",
                    .advice = "convert the logs afterwards, without --follow"});
}

void RunFollower::select(Timeline& timeline) {
  const Selection& wanted = request_.selection;
  if (!wanted.steps.empty()) {
    timeline.counters.clear();
    timeline = withSteps(std::move(timeline), wanted.steps);
    selectSamples(timeline);
  }
  if (!wanted.ranks.empty()) timeline = withRanks(std::move(timeline), wanted.ranks);
  if (!wanted.skippedTypes.empty())
    timeline = withoutTypes(std::move(timeline), wanted.skippedTypes);
}

/// Takes the pending samples up to the last written end of the selected steps. Later ones wait for
/// more; those before the first begin belong to none.
void RunFollower::selectSamples(Timeline& timeline) {
  if (timeline.eventCount() > 0) {
    const Timeline::Span span = timeline.span();
    selected_ = {std::min(selected_.begin, span.begin), std::max(selected_.end, span.end)};
  }
  for (CounterSeries& series : pending_.counters) {
    const auto isDue = [&](const CounterSample& s) { return s.time <= selected_.end; };
    CounterSeries due{series.rank, series.name, series.unit, {}};
    std::copy_if(series.samples.begin(), series.samples.end(), std::back_inserter(due.samples),
                 [&](const auto& s) { return isDue(s) && s.time >= selected_.begin; });
    std::erase_if(series.samples, isDue);
    if (!due.samples.empty()) timeline.counters.push_back(std::move(due));
  }
}

/// Keeps the events that are not in the profile, and its last step: its jobs reach into the next.
void RunFollower::forget(const Steps& steps, std::int32_t last) {
  handedOn_.clear();
  std::vector<Argument> arguments;
  std::swap(arguments, pending_.arguments);
  for (std::size_t t = 0; t < pending_.tracks.size(); ++t) {
    Track& track = pending_.tracks[t];
    std::vector<Event> kept;
    for (std::size_t e = 0; e < track.events.size(); ++e) {
      const std::int32_t step = steps[t][e];
      if (step != kNotGiven && step < last) continue;
      Event event = track.events[e];
      if (step == last) {
        handedOn_.insert(
            {track.rank, event.kind, event.begin, event.end, event.job, event.microBatch});
      }
      const auto from = arguments.begin() + event.firstArgument;
      const std::vector<Argument> own(from, from + event.argumentCount);
      if (!own.empty()) pending_.setArguments(event, own);
      kept.push_back(event);
    }
    track.events = std::move(kept);
  }
  if (request_.selection.steps.empty()) pending_.counters.clear();
  std::erase_if(pending_.counters, [](const CounterSeries& s) { return s.samples.empty(); });
  firstKept_ = last;
}

Diagnostics RunFollower::takeDiagnostics() { return std::exchange(diagnostics_, {}); }

}  // namespace pipetrace
