#include "parser/job_log/rank_parts.h"

#include <algorithm>
#include <new>
#include <utility>

#include "parser/job_log/lines/log_meta.h"
#include "trace/append.h"
#include "trace/error.h"

namespace pipetrace {
namespace {

/// Makes room for `more` elements. If a part `upTo` of the input gave all elements so far, it makes
/// room for as many as the whole will give. A vector that doubles needs three times its memory for
/// a moment.
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

RankParts::RankParts(int wanted, bool isOfOneRank, StringTable& strings)
    : wanted_(wanted), isOfOneRank_(isOfOneRank), strings_(strings) {
  ranks_.emplace_back();
}

void RankParts::add(ParsedLogBlock& parsed, const StringTable& own, StringRemap& remap,
                    double upTo) {
  remap.grow(own, strings_);
  for (std::size_t i = 0; i < parsed.used; ++i) {
    LogSection& section = parsed.sections[i];
    for (const LogSection::About& about : section.about) {
      if (about.kind == LogLineKind::kMeta) addAbout(about);
    }
    part().findings.addAll(section.ofLines, lines_);
    jobLines_ += section.jobLines;
    if (section.jobLines > 0) ranks_[current_].begun = true;
    if (!isWanted()) continue;
    for (const LogSection::About& about : section.about) {
      if (about.kind != LogLineKind::kMeta) addAbout(about);
    }
    part().findings.addAll(section.events.findings, lines_);
    addEvents(section.events, remap, upTo);
  }
  lines_ += parsed.lines;
}

void RankParts::addAbout(const LogSection::About& about) {
  const std::int64_t number = lines_ + about.line;
  switch (about.kind) {
    case LogLineKind::kMeta: beginRun(about.payload, number); break;
    case LogLineKind::kClock: readClockLine(part(), about.payload, number); break;
    case LogLineKind::kEnd: readEndLine(part(), about.payload, number); break;
    case LogLineKind::kFirstStep: readFirstStepLine(part(), about.payload, number); break;
    default: break;
  }
}

/// A Meta line opens a run of its rank. The first one of a log, with no job before it, belongs to
/// the run that is open anyway.
void RankParts::beginRun(const std::string& payload, std::int64_t number) {
  RankPart meta;
  readMetaLine(meta, payload, number);
  const bool isOther = switchTo(meta.metaRank);
  RankRuns& rank = ranks_[current_];
  if (rank.begun) {
    ++rank.index;
    if (isWanted()) rank.part = {};
  }
  rank.begun = true;
  if (isOther) rank.part.findings.add(LogFinding::kSeveralRanks, number);
  if (isWanted()) readMetaLine(rank.part, payload, number);
}

/// Makes that rank the current one. Returns true when it is another but may not be: a file that is
/// named after one rank holds that rank only. In an older run it may have had another number.
bool RankParts::switchTo(std::optional<int> rank) {
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

void RankParts::addEvents(RankPart& added, const StringRemap& strings, double upTo) {
  RankPart& target = part();
  makeRoom(target.arguments, added.arguments.size(), upTo);
  const EventRemap remap = appendArguments(added.arguments, strings, target.arguments);
  for (auto& [name, events] : added.lanes) {
    if (events.empty()) continue;
    std::vector<Event>& lane = target.laneOf(name);
    makeRoom(lane, events.size(), upTo);
    remap(events);
    lane.insert(lane.end(), events.begin(), events.end());
  }
  for (const auto& [name, series] : added.counters) {
    CounterSeries& all = target.counters[name];
    if (all.name.empty()) {
      all.name = name;
      all.unit = series.unit;
    }
    all.samples.insert(all.samples.end(), series.samples.begin(), series.samples.end());
  }
}

std::vector<std::string> RankParts::openRings() const {
  std::vector<std::string> names;
  for (const RankRuns& rank : ranks_) {
    if (!rank.part.ringFile.empty() && !rank.part.info.hasEnd) names.push_back(rank.part.ringFile);
  }
  return names;
}

std::vector<RankPart> RankParts::take(const std::string& name) {
  std::vector<RankPart> parts;
  for (RankRuns& rank : ranks_) {
    if (wanted_ > rank.index) throw Error(tooFewRuns(rank, name));
    rank.part.info.runs = rank.index + 1;
    rank.part.isLatest = wanted_ < 0 || wanted_ == rank.index;
    parts.push_back(std::move(rank.part));
  }
  return parts;
}

std::string RankParts::tooFewRuns(const RankRuns& rank, const std::string& name) const {
  std::string text =
      name + " holds " + std::to_string(rank.index + 1) + (rank.index == 0 ? " run" : " runs");
  if (ranks_.size() > 1) text += " of rank " + std::to_string(*rank.rank);
  return text + ", so --run " + std::to_string(wanted_) + " is not there; they are counted from 0";
}

}  // namespace pipetrace
