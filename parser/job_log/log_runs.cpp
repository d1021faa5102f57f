#include "parser/job_log/log_runs.h"

#include <algorithm>
#include <new>
#include <utility>

#include "parser/job_log/lines/log_meta.h"
#include "trace/append.h"
#include "trace/error.h"

namespace pipetrace {
namespace {

/// Makes room for `more`, and for all that is foreseen if `upTo`, a part of the input, gave those
/// that are there then. A vector that doubles needs three times its memory for a moment.
template <typename Element>
void makeRoom(std::vector<Element>& list, std::size_t more, double upTo) {
  const std::size_t needed = list.size() + more;
  if (needed <= list.capacity()) return;
  constexpr double kSlack = 1.0 / 16;
  if (upTo <= 0 || upTo > 1) return;  // it doubles
  const auto foreseen = static_cast<double>(needed) / upTo * (1 + kSlack);
  try {
    list.reserve(std::max(needed, static_cast<std::size_t>(foreseen)));
  } catch (const std::bad_alloc&) {
    list.reserve(needed);
  }
}

}  // namespace

LogRuns::LogRuns(int wanted, bool isOfOneRank, StringTable& strings)
    : wanted_(wanted), isOfOneRank_(isOfOneRank), strings_(strings) {
  ranks_.emplace_back();
}

void LogRuns::add(LogShare& share, const StringTable& own, StringRemap& remap, double upTo) {
  remap.grow(own, strings_);
  for (std::size_t i = 0; i < share.used; ++i) {
    LogStretch& stretch = share.stretches[i];
    for (const LogStretch::About& about : stretch.about) {
      if (about.kind == LogLineKind::kMeta) addAbout(about);
    }
    run().findings.addAll(stretch.ofLines, lines_);
    jobLines_ += stretch.jobLines;
    if (stretch.jobLines > 0) ranks_[current_].begun = true;
    if (!isWanted()) continue;
    for (const LogStretch::About& about : stretch.about) {
      if (about.kind != LogLineKind::kMeta) addAbout(about);
    }
    run().findings.addAll(stretch.events.findings, lines_);
    addEvents(stretch.events, remap, upTo);
  }
  lines_ += share.lines;
}

void LogRuns::addAbout(const LogStretch::About& about) {
  const std::int64_t number = lines_ + about.line;
  switch (about.kind) {
    case LogLineKind::kMeta: beginRun(about.payload, number); break;
    case LogLineKind::kClock: readClockLine(run(), about.payload, number); break;
    case LogLineKind::kEnd: readEndLine(run(), about.payload, number); break;
    case LogLineKind::kFirstStep: readFirstStepLine(run(), about.payload, number); break;
    default: break;
  }
}

/// A Meta line opens a run of its rank. The first one of a log, before which no job has come, is
/// that of the run that is open anyway.
void LogRuns::beginRun(const std::string& payload, std::int64_t number) {
  LogRun meta;
  readMetaLine(meta, payload, number);
  const bool isOther = switchTo(meta.metaRank);
  RankRuns& rank = ranks_[current_];
  if (rank.begun) {
    ++rank.index;
    if (isWanted()) rank.run = {};
  }
  rank.begun = true;
  if (isOther) rank.run.findings.add(LogFinding::kSeveralRanks, number);
  if (isWanted()) readMetaLine(rank.run, payload, number);
}

/// Makes that rank the current one. Returns true when it is another but may not be: a file that is
/// named after one rank holds that rank only. It may have had another number in an older run.
bool LogRuns::switchTo(std::optional<int> rank) {
  RankRuns& current = ranks_[current_];
  if (!rank || current.rank == rank) return false;
  if (!current.rank || isOfOneRank_) {
    return std::exchange(current.rank, rank).has_value();
  }
  current_ = 0;
  while (current_ < ranks_.size() && ranks_[current_].rank != rank) ++current_;
  if (current_ == ranks_.size()) ranks_.emplace_back().rank = rank;
  return false;
}

void LogRuns::addEvents(LogRun& share, const StringRemap& strings, double upTo) {
  LogRun& target = run();
  makeRoom(target.arguments, share.arguments.size(), upTo);
  const EventRemap remap = appendArguments(share.arguments, strings, target.arguments);
  for (auto& [name, events] : share.lanes) {
    if (events.empty()) continue;
    std::vector<Event>& lane = target.laneOf(name);
    makeRoom(lane, events.size(), upTo);
    remap(events);
    lane.insert(lane.end(), events.begin(), events.end());
  }
  for (const auto& [name, series] : share.counters) {
    CounterSeries& all = target.counters[name];
    if (all.name.empty()) {
      all.name = name;
      all.unit = series.unit;
    }
    all.samples.insert(all.samples.end(), series.samples.begin(), series.samples.end());
  }
}

std::vector<std::string> LogRuns::openRings() const {
  std::vector<std::string> names;
  for (const RankRuns& rank : ranks_) {
    if (!rank.run.ringFile.empty() && !rank.run.info.hasEnd) names.push_back(rank.run.ringFile);
  }
  return names;
}

std::vector<LogRun> LogRuns::take(const std::string& name) {
  std::vector<LogRun> runs;
  for (RankRuns& rank : ranks_) {
    if (wanted_ > rank.index) throw Error(tooFewRuns(rank, name));
    rank.run.info.runs = rank.index + 1;
    rank.run.isLatest = wanted_ < 0 || wanted_ == rank.index;
    runs.push_back(std::move(rank.run));
  }
  return runs;
}

std::string LogRuns::tooFewRuns(const RankRuns& rank, const std::string& name) const {
  std::string text =
      name + " holds " + std::to_string(rank.index + 1) + (rank.index == 0 ? " run" : " runs");
  if (ranks_.size() > 1) text += " of rank " + std::to_string(*rank.rank);
  return text + ", so --run " + std::to_string(wanted_) + " is not there; they are counted from 0";
}

}  // namespace pipetrace
