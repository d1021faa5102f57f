#include "analysis/run/bubbles/rank_bubbles.h"

#include <algorithm>
#include <array>
#include <utility>

#include "trace/threads/large_pages.h"

namespace pipetrace {
namespace {

/// An idle time is the causes' on its path if these took at least a quarter of it, or if it is
/// shorter than this part of its step.
constexpr Nanoseconds kMostTimes = 4;
constexpr Nanoseconds kShortParts = 1000;

/// Divides `time` by the weights, of which one is not 0; rounded down, the largest gets the
/// remainder.
template <std::size_t N>
std::array<Nanoseconds, N> divided(Nanoseconds time, const std::array<Nanoseconds, N>& weights) {
  __extension__ using Wide = __int128;
  Nanoseconds total = 0;
  for (const Nanoseconds weight : weights) total += weight;
  std::size_t most = 0;
  Nanoseconds left = time;
  std::array<Nanoseconds, N> parts{};
  for (std::size_t i = 0; i < N; ++i) {
    if (weights[i] > weights[most]) most = i;
    Nanoseconds product = 0;  // of short times it fits
    parts[i] = __builtin_mul_overflow(time, weights[i], &product)
                   ? static_cast<Nanoseconds>(Wide{time} * weights[i] / total)
                   : product / total;
    left -= parts[i];
  }
  parts[most] += left;
  return parts;
}

}  // namespace

RankBubbles::RankBubbles(const RunBasis& run, const PipelineBasis& basis, std::uint32_t rank)
    : run_(run),
      graph_(run.graph()),
      links_(run.paths()),
      basis_(basis),
      number_(rank),
      rank_(graph_.ranks()[rank]),
      paths_(links_, rank),
      at_(rank_.first) {
  reserveLarge(bubbles_, 6 * static_cast<std::size_t>(rank_.end - rank_.first));
  for (Id id = rank_.first; id < rank_.end; ++id) {
    const Nanoseconds time = -run.times().imbalanceOf(run.times().group(id));
    if (time <= 0 && shortness_.empty()) continue;
    if (shortness_.empty()) shortness_.assign(id - rank_.first + 1, 0);
    shortness_.push_back(shortness_.back() + std::max<Nanoseconds>(0, time));
    mostShort_ = std::max(mostShort_, time);
  }
}

/// The job after the gap, if it ends the gap.
RankBubbles::Id RankBubbles::Gap::endedBy(const JobGraph& graph) const {
  if (next == JobGraph::kNone) return JobGraph::kNone;
  const Nanoseconds begin = graph.node(next).begin;
  if (begin < window->span.end) return next;
  // The window ends the gap. A job of the next step counts where steps overlap, and not where it
  // only is the first of that step.
  return begin < graph.node(window->lastCompute).end ? next : JobGraph::kNone;
}

void RankBubbles::classifyUpTo(std::size_t window) {
  const std::size_t end = std::min(window, basis_.windows.size());
  for (; window_ < end; ++window_) classifyWindow(basis_.windows[window_]);
  paths_.letGo();
}

void RankBubbles::classifyWindow(const BubbleWindow& window) {
  shortfall_ = 0;
  paths_.forget();
  Nanoseconds free = std::max(window.span.begin, busyUpTo_);
  while (true) {
    while (at_ < rank_.end && !isCompute(graph_.node(at_).kind)) ++at_;
    const bool isInside = at_ < rank_.end && graph_.node(at_).begin < window.span.end;
    const Nanoseconds end = isInside ? graph_.node(at_).begin : window.span.end;
    if (end > free) {
      classify({{free, end}, at_ < rank_.end ? at_ : JobGraph::kNone, previous_, &window});
    } else if (isInside && window.isWhole && window.hasPlan) {
      shortfall_ += basis_.planned->before(at_);
    }
    if (!isInside) break;
    addWaitsInside(at_, window.step);
    previous_ = at_;
    busyUpTo_ = std::max(busyUpTo_, graph_.node(at_).end);
    free = std::max(free, busyUpTo_);
    ++at_;
  }
}

void RankBubbles::classify(const Gap& gap) {
  const BubbleWindow& window = *gap.window;
  const Id endedBy = gap.endedBy(graph_);
  shares_.clear();
  causes_ = {};
  const OwnWork ownWork = putOwnWork(gap, endedBy);
  const Nanoseconds open = gap.span.length() - ownWork.all;
  const Own own = window.isWhole && window.hasPlan ? ownOf(gap, endedBy, open) : Own{};
  Nanoseconds excess = open - own.drain - own.other;
  add(BubbleClass::kDrain, own.drain);
  Nanoseconds sync = 0;
  if (endedBy == JobGraph::kNone) excess -= shareTail(gap, excess, ownWork, sync);
  Collected collected;
  if (excess > 0 && window.isWhole) collected = collectedFor(gap, endedBy);
  const bool hasCause = collected.total() > 0;
  const Nanoseconds missed = hasCause ? 0 : std::min(excess, shortfall_);
  shortfall_ -= missed;
  add(own.otherClass, own.other + missed);
  const Id met = endedBy == JobGraph::kNone ? JobGraph::kNone : links_.metBefore(endedBy);
  if (met != JobGraph::kNone) {
    // The plan knows no collectives, so the others may be late by it: then nothing on their way
    // took so long.
    const Nanoseconds caused = std::min(excess - missed, collected.total());
    if (caused > 0) shareExcess(caused, collected);
    addCause(BubbleClass::kSync, excess - missed - caused, met);
  } else if (hasCause) {
    // Without a plan the schedule's own share is in it, and nobody knows how much.
    const Nanoseconds caused = window.hasPlan ? excess : std::min(excess, collected.total());
    shareCaused(caused, collected, window);
    addCause(BubbleClass::kUnknown, excess - caused, JobGraph::kNone);
  } else {
    addCause(BubbleClass::kUnknown, excess - missed, JobGraph::kNone);
  }
  for (const BubbleClass cause : kCauses) {
    addShareOf(cause);
    if (cause != BubbleClass::kSync) continue;
    const Id ofTail = window.tail.of(cause).cause;
    add(cause, sync, ofTail != JobGraph::kNone ? ofTail : window.last);
  }
  fill(gap.span, window.step);
}

/// Adds for how long other ranks held up a job inside, by class and culprit.
void RankBubbles::addWaitsInside(Id job, std::int32_t step) {
  const InsideJobs& inside = graph_.inside();
  if (inside.lateIn(job) == 0) return;
  firstOfJob_ = inside_.size();
  const auto [first, end] = inside.meetingsOf(job);
  Bubble like{.step = step, .isInside = true};
  like.begin = graph_.node(job).begin;
  for (Id m = first; m < end; ++m) {
    if (inside.meetings()[m].late() > 0) addWaitInside(inside.meetings()[m], like);
  }
}

/// The member that came last had its reasons: its own work since both had met, or what its job
/// waited for.
void RankBubbles::addWaitInside(const InsideJobs::Meeting& wait, const Bubble& like) {
  Collected collected;
  if (!wait.lacksLast) {
    const InsideJobs::Chain chain = graph_.inside().chainOf(wait);
    for (const InsideJobs::Chain::Link& each : chain.links) {
      collected.add(BubbleClass::kPeerWait, each.excess, each.job);
    }
    if (chain.entry != JobGraph::kNone) {
      collected.add(links_.lateness(chain.entry));
      collected.add(paths_.upTo(chain.entry).collected);
      // A job that opens its step may come late to others: its rank loaded data before it. Else
      // nobody knows why it did not begin sooner.
      const bool opensStep = links_.predecessor(chain.entry) == JobGraph::kNone;
      if (opensStep) collected.add(links_.loadsBefore(chain.entry));
      if (opensStep && collected.total() == 0) {
        collected.add(BubbleClass::kLateStart, 1, chain.entry);
      }
    }
    if (collected.total() == 0 && wait.last != InsideJobs::kNone) {
      collected.add(BubbleClass::kPeerWait, 1, graph_.inside().meetings()[wait.last].job);
    }
  }
  if (collected.total() == 0) collected.add(BubbleClass::kUnknown, 1, JobGraph::kNone);
  const auto parts = divided(wait.late(), collected.sums);
  for (const BubbleClass cause : kCauses) {
    const std::size_t c = causeIndex(cause);
    if (parts[c] == 0) continue;
    Bubble more = like;
    more.bubbleClass = cause;
    more.cause = collected.culprit[c];
    more.end = more.begin + parts[c];
    if (cause == BubbleClass::kBlocked && more.cause != JobGraph::kNone) {
      more.isAtSender = JobGraph::isSendEnd(more.cause);
      more.cause = graph_.messageOf(more.cause);
    }
    more.culprit = culpritOf(cause, more.cause);
    const auto same =
        std::find_if(inside_.begin() + static_cast<std::ptrdiff_t>(firstOfJob_), inside_.end(),
                     [&](const Bubble& each) {
                       return each.bubbleClass == cause && each.culprit == more.culprit;
                     });
    if (same == inside_.end()) {
      inside_.push_back(more);
    } else {
      same->end += parts[c];
    }
  }
}

/// The causes of a gap's excess.
Collected RankBubbles::collectedFor(const Gap& gap, Id endedBy) {
  if (endedBy == JobGraph::kNone) {
    PathsOfRank::Path path = paths_.from(gap.window->lastCompute);
    if (graph_.node(gap.window->lastCompute).rank != number_) {
      addShortness(gap, path.end, path.collected);
    }
    return path.collected;
  }
  // The time before the data of the job are there is not the loader's.
  const Id last = links_.predecessor(endedBy);
  const Id input = lastInputOf(endedBy);
  const bool isLoad = last != JobGraph::kNone && loadsData(graph_.node(last).kind);
  if (isLoad && input != JobGraph::kNone && graph_.node(input).begin < graph_.node(last).end) {
    PathsOfRank::Path path = paths_.from(input);
    addShortness(gap, path.end, path.collected);
    return path.collected;
  }
  Collected collected = links_.lateness(endedBy);
  // What is loaded behind a wait for a message began late by that.
  const bool isBehindWait = isLoad && graph_.hasWaits() && graph_.waitedUntil(last) != kNsMin;
  if (isBehindWait) collected.add(links_.lateness(last));
  const PathsOfRank::Path path = paths_.upTo(isBehindWait ? last : endedBy);
  collected.add(path.collected);
  addShortness(gap, path.end, collected);
  return collected;
}

/// The causes of the wait for a job of another pipeline.
Collected RankBubbles::collectedForWait(Id job) {
  const WaitPath& path = run_.waitPath(job);
  const bool isOnIt = std::binary_search(path.ranks.begin(), path.ranks.end(), number_);
  return path.isWhole && !isOnIt ? path.collected : paths_.from(job).collected;
}

/// Adds what made a pipeline begin its step later than that of the rank, which waits so much longer
/// where they meet at its end; returns by how much. What it did before is no cause, but for what it
/// loaded, and an optimizer that is longer than others.
Nanoseconds RankBubbles::addLateOpening(const Gap& gap, const WaitPath& path,
                                        Collected& collected) const {
  if (path.opening == JobGraph::kNone) return 0;
  const JobGraph::Node& opening = graph_.node(path.opening);
  const Nanoseconds from = std::max(gap.window->span.begin, path.couldOpen);
  constexpr std::size_t kLate = causeIndex(BubbleClass::kLateStart);
  constexpr std::size_t kSync = causeIndex(BubbleClass::kSync);
  const Nanoseconds updates =
      std::min(std::max<Nanoseconds>(0, from - gap.window->span.begin), path.updates.sums[kSync]);
  const Nanoseconds late = opening.begin - from;
  if (late + updates <= 0) return 0;
  const Id firstCompute = gap.window->firstCompute;
  if (links_.isBelowClockBound(firstCompute, path.opening, late + updates)) return 0;
  collected.add(BubbleClass::kSync, updates, path.updates.culprit[kSync]);
  // The path itself has what passed since the rank's last event of the step, such as `lr`.
  const Nanoseconds rest =
      std::max<Nanoseconds>(0, late - links_.lateness(path.opening).sums[kLate]);
  const Nanoseconds loading = std::min(rest, path.loads.sums[kLate]);
  collected.add(BubbleClass::kLateStart, loading, path.loads.culprit[kLate]);
  if (path.couldOpen == kNsMin) {
    collected.add(BubbleClass::kUnknown, rest - loading, JobGraph::kNone);
  } else {
    collected.add(BubbleClass::kLateStart, rest - loading, path.opening);
  }
  return late + updates;
}

/// What the window's tail waits for. Where that is a job of another pipeline, which began its step
/// late, it is what this has more of in the step than the rank's own: both have messages on their
/// way, and that is no reason to wait.
Collected RankBubbles::collectedForTail(const Gap& gap) {
  const BubbleWindow& window = *gap.window;
  const Id job = window.tail.wait.cause;
  const bool isOfOther = graph_.ranks()[graph_.node(job).rank].replica != rank_.replica;
  if (!isOfOther || window.isWholeRun) return collectedForWait(job);
  // A few microseconds more or less are chance.
  constexpr Nanoseconds kLeastPart = 4;
  Collected more = run_.waitPath(job).ofStep;
  const Nanoseconds late = addLateOpening(gap, run_.waitPath(job), more);
  if (late * kLeastPart <= window.tail.wait.time) return collectedForWait(job);
  const Collected& own = run_.waitPath(window.lastCompute).ofStep;
  for (std::size_t c = 0; c < more.sums.size(); ++c) {
    more.sums[c] = std::max<Nanoseconds>(0, more.sums[c] - own.sums[c]);
  }
  return more.total() > 0 ? more : collectedForWait(job);
}

/// Shares out what a gap after the rank's last job has of the time after the pipeline's last
/// compute job, as that time divides into its parts. Returns how much of the excess it took, and
/// sets its `sync`. The rank's own collectives, which have their time, count in it, or in what is
/// unknown: the rank reduces gradients while the others do.
Nanoseconds RankBubbles::shareTail(const Gap& gap, Nanoseconds excess, const OwnWork& ownWork,
                                   Nanoseconds& sync) {
  const StepTail& tail = gap.window->tail;
  const Nanoseconds from = graph_.node(gap.window->lastCompute).end;
  const Nanoseconds late = gap.span.end - std::clamp(from, gap.span.begin, gap.span.end);
  const Nanoseconds time = std::min(excess + ownWork.collectives + ownWork.unknown, late);
  if (excess <= 0 || late <= 0) return 0;
  const bool isWhole = gap.window->isWhole;
  Collected waits;
  if (isWhole && tail.wait.time > 0) waits = collectedForTail(gap);
  const bool isCaused = waits.total() > 0;
  constexpr std::size_t kSync = causeIndex(BubbleClass::kSync);
  constexpr std::size_t kUnknown = causeIndex(BubbleClass::kUnknown);
  constexpr std::size_t kWait = kCauses.size();
  std::array<Nanoseconds, kCauses.size() + 1> weights{};
  if (isWhole) {
    for (std::size_t c = 0; c < tail.parts.size(); ++c) weights[c] = tail.parts[c].time;
    (isCaused ? weights[kWait] : weights[kSync]) += tail.wait.time;
  } else {
    weights[kSync] = late;
  }
  auto parts = divided(time, weights);
  Nanoseconds left = time;
  for (const auto& [part, own] :
       {std::pair(kSync, ownWork.collectives), std::pair(kUnknown, ownWork.unknown)}) {
    if (own > parts[part]) weights[part] = 0;
    left -= std::min(own, parts[part]);
    parts[part] -= std::min(own, parts[part]);
  }
  const Nanoseconds used = std::min(excess, left);
  // Its collectives took more time than their part.
  if (used < left) parts = divided(used, weights);
  sync = parts[kSync];
  for (const BubbleClass cause : kCauses) {
    if (cause == BubbleClass::kSync) continue;
    const bool isUnknown = cause == BubbleClass::kUnknown;
    addCause(cause, parts[causeIndex(cause)], isUnknown ? JobGraph::kNone : tail.of(cause).cause);
  }
  if (isCaused) shareCaused(parts[kWait], waits, *gap.window);
  return used;
}

/// A rank that is faster than the others waits because of that: it did its own jobs since the end
/// of the path in less time than the plan has.
void RankBubbles::addShortness(const Gap& gap, Id after, Collected& collected) const {
  if (mostShort_ <= 0 || gap.previous == JobGraph::kNone) return;
  Id from = after == JobGraph::kNone ? JobGraph::kNone : after + 1;
  if (after == JobGraph::kNone) {
    const StepJobs& jobs = basis_.jobs;
    const std::int32_t step = jobs.stepOf(gap.previous);
    if (step < 0) return;
    from = jobs.jobs(jobs.indexOf(step), static_cast<std::size_t>(rank_.position)).front();
  }
  if (from > gap.previous) return;
  const Nanoseconds time =
      shortness_[gap.previous + 1 - rank_.first] - shortness_[from - rank_.first];
  collected.add(BubbleClass::kImbalance, time, mostShort_, gap.previous);
}

/// Puts what stays at its own times in the gap.
RankBubbles::OwnWork RankBubbles::putOwnWork(const Gap& gap, Id endedBy) {
  own_.clear();
  findOwnWork(gap, endedBy);
  firstOfGap_ = bubbles_.size();
  Nanoseconds upTo = gap.span.begin;
  OwnWork work;
  for (Bubble own : own_) {
    own.begin = std::max(own.begin, upTo);
    own.end = std::min(own.end, gap.span.end);
    if (own.begin >= own.end) continue;
    work.all += own.end - own.begin;
    const bool isUnknown = own.bubbleClass == BubbleClass::kUnknown;
    if (graph_.node(own.cause).isCollective) {
      (isUnknown ? work.unknown : work.collectives) += own.end - own.begin;
    }
    upTo = own.end;
    if (isUnknown) own.cause = JobGraph::kNone;
    own.culprit = culpritOf(own.bubbleClass, own.cause);
    put(own);
  }
  return work;
}

/// When data could be there: where their receive was posted after `loaded`, once they were made.
Nanoseconds RankBubbles::thereAt(Id input, Nanoseconds loaded) const {
  const JobGraph::Node& node = graph_.node(input);
  if (!node.isMessage || node.inputs[0] == JobGraph::kNone) return node.end;
  const Event* const receive = graph_.message(input).receive;
  const bool isPostedAfter = receive != nullptr && receive->begin >= loaded;
  return isPostedAfter ? graph_.node(node.inputs[0]).end : node.end;
}

/// Fills own_, in order; jobs before collectives.
void RankBubbles::findOwnWork(const Gap& gap, Id endedBy) {
  Id id = gap.previous == JobGraph::kNone ? rank_.first : gap.previous + 1;
  for (; id < rank_.end && graph_.node(id).begin < gap.span.end; ++id) {
    const JobGraph::Node& node = graph_.node(id);
    if (isCompute(node.kind) || node.end <= gap.span.begin) continue;
    // While the next job has not got its data, loading others costs nothing.
    const Id input = loadsData(node.kind) ? lastInputOf(endedBy) : JobGraph::kNone;
    const Nanoseconds begin =
        input == JobGraph::kNone ? node.begin : std::max(node.begin, thereAt(input, node.end));
    if (begin >= node.end) continue;
    own_.push_back({begin, node.end, id, id, gap.window->step, classOfWork(node.kind)});
  }
  if (rank_.firstCollective == rank_.endOfCollectives) return;
  const std::size_t jobs = own_.size();
  for (std::size_t i = 0; i < jobs; ++i) addCollectives(gap, own_[i].cause);
  if (endedBy != JobGraph::kNone) addCollectives(gap, endedBy);
  std::stable_sort(own_.begin(), own_.end(),
                   [](const Bubble& a, const Bubble& b) { return a.begin < b.begin; });
}

/// Adds the collectives that a job waited for last, from the end of its other inputs on. Up to its
/// last member's begin a collective only waits. Nobody knows when a member without a log began.
void RankBubbles::addCollectives(const Gap& gap, Id job) {
  const JobGraph::Node& node = graph_.node(job);
  if (node.collective == JobGraph::kNone) return;
  Nanoseconds ready = gap.span.begin;
  for (const Id other : {node.before, node.inputs[0], node.inputs[1]}) {
    if (other != JobGraph::kNone) ready = std::max(ready, graph_.node(other).end);
  }
  Id id = node.collective;
  while (id != JobGraph::kNone && graph_.node(id).isCollective) {
    const JobGraph::Node& collective = graph_.node(id);
    if (collective.end <= ready) return;
    const Nanoseconds begin = std::max(ready, collective.begin);
    own_.push_back({begin, collective.end, id, id, gap.window->step,
                    collective.lacksInput ? BubbleClass::kUnknown : BubbleClass::kSync});
    id = collective.before;
  }
}

/// The same, of what may have other causes, too: causes that took far less time than it made nobody
/// wait for so long.
void RankBubbles::shareCaused(Nanoseconds excess, const Collected& collected,
                              const BubbleWindow& window) {
  const bool isShort = excess * kShortParts < window.span.length();
  const bool isAll = isShort || excess <= kMostTimes * collected.total();
  const Nanoseconds caused = isAll ? excess : collected.total();
  shareExcess(caused, collected);
  addCause(BubbleClass::kUnknown, excess - caused, JobGraph::kNone);
}

void RankBubbles::shareExcess(Nanoseconds excess, const Collected& collected) {
  std::array<Nanoseconds, kCauses.size()> weights{};
  for (std::size_t i = 0; i < kCauses.size(); ++i) {
    weights[i] = collected.sums[causeIndex(kCauses[i])];
  }
  const auto parts = divided(excess, weights);
  for (std::size_t i = 0; i < kCauses.size(); ++i) {
    addCause(kCauses[i], parts[i], collected.culprit[causeIndex(kCauses[i])]);
  }
}

/// The input of a job that ended last; kNone: it has none, or there is no job.
RankBubbles::Id RankBubbles::lastInputOf(Id job) const {
  Id last = JobGraph::kNone;
  if (job == JobGraph::kNone) return last;
  for (const Id input : graph_.node(job).inputs) {
    if (input == JobGraph::kNone) continue;
    if (last == JobGraph::kNone || graph_.node(last).end < graph_.node(input).end) last = input;
  }
  return last;
}

/// The job that needs the message; kNone: it is none of the next ones on its rank.
RankBubbles::Id RankBubbles::userOf(Id message) const {
  constexpr Id kMost = 64;
  const JobGraph::Rank& rank = graph_.ranks()[graph_.node(message).rank];
  const Nanoseconds arrived = graph_.node(message).begin;
  const auto jobs = graph_.nodes().subspan(rank.first, rank.end - rank.first);
  const auto next = std::partition_point(
      jobs.begin(), jobs.end(), [&](const JobGraph::Node& job) { return job.begin < arrived; });
  const Id first = rank.first + static_cast<Id>(next - jobs.begin());
  for (Id id = first; id < std::min(rank.end, first + kMost); ++id) {
    const JobGraph::Node& job = graph_.node(id);
    if (job.inputs[0] == message || job.inputs[1] == message) return id;
  }
  return JobGraph::kNone;
}

/// The job that is to blame for a bubble with that cause.
RankBubbles::Id RankBubbles::culpritOf(BubbleClass bubbleClass, Id id) const {
  if (id == JobGraph::kNone) return JobGraph::kNone;
  const JobGraph::Node& cause = graph_.node(id);
  if (bubbleClass == BubbleClass::kBlocked) return id;
  if (cause.isMessage) {
    const bool isOfReceiver =
        bubbleClass == BubbleClass::kLateStart && !isPostedBySender(graph_, id);
    const Id user = isOfReceiver ? userOf(id) : JobGraph::kNone;
    return user == JobGraph::kNone ? cause.inputs[0] : user;
  }
  if (cause.isCollective) return cause.inputs[0] != JobGraph::kNone ? cause.inputs[0] : id;
  if (bubbleClass != BubbleClass::kTransfer) return id;
  const Id first = graph_.producer(id, 0);
  const Id second = graph_.producer(id, 1);
  if (first == JobGraph::kNone || second == JobGraph::kNone) {
    return first == JobGraph::kNone ? second : first;
  }
  return graph_.node(first).end < graph_.node(second).end ? second : first;
}

void RankBubbles::add(BubbleClass bubbleClass, Nanoseconds time, Id cause) {
  if (time > 0) shares_.push_back({bubbleClass, time, cause, culpritOf(bubbleClass, cause)});
}

void RankBubbles::addShareOf(BubbleClass cause) {
  const CauseShare& share = causes_[causeIndex(cause)];
  if (cause != BubbleClass::kBlocked || share.time <= 0) return add(cause, share.time, share.job);
  add(cause, share.time, graph_.messageOf(share.job));
  shares_.back().isAtSender = JobGraph::isSendEnd(share.job);
}

/// Lays shares_ out in the gap, where the rank's own work leaves room.
void RankBubbles::fill(Interval gap, std::int32_t step) {
  const std::size_t ownEnd = bubbles_.size();
  std::size_t own = firstOfGap_;
  Nanoseconds at = gap.begin;
  for (Share& share : shares_) {
    while (share.time > 0 && at < gap.end) {
      if (own < ownEnd && bubbles_[own].begin <= at) {
        at = bubbles_[own++].end;
        continue;
      }
      const Nanoseconds room = own < ownEnd ? bubbles_[own].begin : gap.end;
      const Nanoseconds end = std::min(at + share.time, room);
      put({at, end, share.cause, share.culprit, step, share.bubbleClass, share.isAtSender});
      share.time -= end - at;
      at = end;
    }
  }
  if (ownEnd == firstOfGap_) return;
  std::sort(bubbles_.begin() + static_cast<std::ptrdiff_t>(firstOfGap_), bubbles_.end(),
            [](const Bubble& a, const Bubble& b) { return a.begin < b.begin; });
}

/// The schedule's own share of a gap with `open` time, cut to that.
RankBubbles::Own RankBubbles::ownOf(const Gap& gap, Id endedBy, Nanoseconds open) {
  const auto position = static_cast<std::size_t>(rank_.position);
  const auto stepOf = [&](Id job) { return basis_.jobs.stepOf(job); };
  const std::int32_t step = gap.window->step;
  Own own;
  const bool isCut = endedBy != JobGraph::kNone && graph_.node(endedBy).begin > gap.span.end;
  if (endedBy == JobGraph::kNone || (isCut && stepOf(endedBy) != step)) {
    if (gap.previous == JobGraph::kNone || stepOf(gap.previous) == step) {
      own.drain = basis_.planned->after(step, position);
    }
  } else {
    own.other = basis_.planned->before(endedBy);
    own.otherClass = classBefore(endedBy);
    const bool isMeeting = gap.previous != JobGraph::kNone &&
                           stepOf(gap.previous) != stepOf(endedBy) &&
                           graph_.node(gap.previous).end > gap.window->span.begin;
    if (isMeeting) own.drain = basis_.planned->after(stepOf(gap.previous), position);
  }
  shortfall_ += std::max<Nanoseconds>(0, own.drain + own.other - open);
  own.drain = std::min(own.drain, open);
  own.other = std::min(own.other, open - own.drain);
  return own;
}

/// The class of the schedule's own idle time before a job.
BubbleClass RankBubbles::classBefore(Id job) {
  const std::int32_t step = basis_.jobs.stepOf(job);
  if (step < 0) return BubbleClass::kSteady;
  if (step != phasesOf_) {
    phasesOf_ = step;
    lastForward_ = firstOther_ = JobGraph::kNone;
    const StepJobs& jobs = basis_.jobs;
    for (const Id id : jobs.jobs(jobs.indexOf(step), static_cast<std::size_t>(rank_.position))) {
      const JobKind kind = graph_.node(id).kind;
      if (kind == JobKind::kForward || kind == JobKind::kForwardBackward) lastForward_ = id;
      const bool runsForward = kind == JobKind::kForward || kind == JobKind::kRecompute;
      if (!runsForward && firstOther_ == JobGraph::kNone) firstOther_ = id;
    }
  }
  if (lastForward_ == JobGraph::kNone || job > lastForward_) return BubbleClass::kDrain;
  return job <= firstOther_ ? BubbleClass::kWarmUp : BubbleClass::kSteady;
}

}  // namespace pipetrace
