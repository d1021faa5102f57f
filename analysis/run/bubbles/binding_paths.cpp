#include "analysis/run/bubbles/binding_paths.h"

#include <algorithm>
#include <utility>

#include "analysis/median.h"

namespace pipetrace {
namespace {

bool endsPaths(JobKind kind) { return kind == JobKind::kLr || kind == JobKind::kOptimizer; }

}  // namespace

void Collected::add(const Collected& other) {
  for (std::size_t c = 0; c < kCauses.size(); ++c) {
    const bool isLarger = other.largest[c] > largest[c];
    sums[c] += other.sums[c];
    largest[c] = isLarger ? other.largest[c] : largest[c];
    culprit[c] = isLarger ? other.culprit[c] : culprit[c];
  }
}

Nanoseconds Collected::total() const {
  Nanoseconds total = 0;
  for (const Nanoseconds sum : sums) total += sum;
  return total;
}

BindingPaths::BindingPaths(const JobGraph& graph, const MedianDurations& times, StepBegins begins,
                           const std::set<int>& asynchronous)
    : graph_(graph),
      times_(times),
      begins_(std::move(begins)),
      links_(graph.nodes().size()),
      stretches_(graph.nodes().size() / kStride + 1) {
  for (const int replica : asynchronous) leastUpdates_[replica] = leastUpdateOf(replica);
  usualOptimizers_ = usualOptimizers();
}

BindingPaths::Stretch BindingPaths::stretchFrom(Id node) const {
  constexpr int kMostNodes = 32;
  Stretch stretch;
  Id& at = stretch.next = node;
  if (node >= graph_.nodes().size()) return stretch;
  for (int nodes = 0; nodes < kMostNodes; ++nodes) {
    const Link& own = link(at);
    if (own.rank != JobGraph::kNone) stretch.ranks |= bitOf(own.rank);
    if (own.waitsInside) stretch.ranks |= ranksInside(at);
    add(at, own, stretch.collected);
    at = own.before;
    if (at == JobGraph::kNone || at % kStride == 0) break;
  }
  return stretch;
}

BindingPaths::LeastUpdate BindingPaths::leastUpdateOf(int replica) const {
  LeastUpdate least{.optimizer = kNsMax, .collective = kNsMax};
  for (const JobGraph::Rank& rank : graph_.ranks()) {
    if (rank.replica != replica) continue;
    const auto medianOfThose = [&](Id first, Id end, const auto& counts) {
      std::vector<Nanoseconds> lengths;
      for (Id id = first; id < end; ++id) {
        const JobGraph::Node& node = graph_.node(id);
        if (counts(node)) lengths.push_back(node.end - node.begin);
      }
      return medianOf(lengths);
    };
    const auto isOptimizer = [](const auto& node) { return node.kind == JobKind::kOptimizer; };
    const auto any = [](const auto&) { return true; };
    least.optimizer = std::min(least.optimizer, medianOfThose(rank.first, rank.end, isOptimizer));
    least.collective =
        std::min(least.collective, medianOfThose(rank.firstCollective, rank.endOfCollectives, any));
  }
  return least;
}

/// The length of an optimizer job by replica: the lower median of its ranks' medians. Without those
/// of which one rank alone has any, and of asynchronous pipelines.
std::map<int, Nanoseconds> BindingPaths::usualOptimizers() const {
  std::map<int, std::vector<Nanoseconds>> medians;
  for (const JobGraph::Rank& rank : graph_.ranks()) {
    if (leastUpdates_.contains(rank.replica)) continue;
    std::vector<Nanoseconds> lengths;
    for (Id id = rank.first; id < rank.end; ++id) {
      const JobGraph::Node& node = graph_.node(id);
      if (node.kind == JobKind::kOptimizer) lengths.push_back(node.end - node.begin);
    }
    if (!lengths.empty()) medians[rank.replica].push_back(medianOf(lengths));
  }
  std::map<int, Nanoseconds> usual;
  for (auto& [replica, ofRanks] : medians) {
    if (ofRanks.size() > 1) usual[replica] = lowerMedianOf(ofRanks);
  }
  return usual;
}

Nanoseconds BindingPaths::longerThanUsual(Id id) const {
  const JobGraph::Node& node = graph_.node(id);
  const auto usual = usualOptimizers_.find(graph_.ranks()[node.rank].replica);
  if (node.kind != JobKind::kOptimizer || usual == usualOptimizers_.end()) return 0;
  return std::max<Nanoseconds>(0, node.end - node.begin - usual->second);
}

/// By how much an optimizer is longer than is usual in its pipeline, and how long the sum of
/// gradients before it moves, as far as the step after it had begun there.
Nanoseconds BindingPaths::updateExcess(Id id) const {
  const JobGraph::Node& node = graph_.node(id);
  const JobGraph::Rank& rank = graph_.ranks()[node.rank];
  if (node.kind != JobKind::kOptimizer) return 0;
  const Nanoseconds longer = longerThanUsual(id);
  if (longer == 0 && node.collective == JobGraph::kNone) return 0;
  Id next = id + 1;
  while (next < rank.end && !isCompute(graph_.node(next).kind)) ++next;
  if (next >= rank.end) return 0;
  const auto begin = begins_.find({rank.replica, graph_.node(next).step});
  if (begin == begins_.end() || node.end <= begin->second) return 0;
  Nanoseconds excess = std::min(longer, node.end - begin->second);
  if (node.collective != JobGraph::kNone) {
    const JobGraph::Node& sum = graph_.node(node.collective);
    const Nanoseconds moves = sum.end - std::max(sum.begin, begin->second);
    // Nobody knows when a member without a log began.
    excess += sum.lacksInput ? 0 : std::max<Nanoseconds>(0, moves);
  }
  return excess;
}

/// Null: its pipeline is not asynchronous.
const BindingPaths::LeastUpdate* BindingPaths::leastUpdateOf(const JobGraph::Node& node) const {
  if (leastUpdates_.empty()) return nullptr;
  const auto found = leastUpdates_.find(graph_.ranks()[node.rank].replica);
  return found == leastUpdates_.end() ? nullptr : &found->second;
}

bool BindingPaths::isBelowClockBound(Id from, Id to, Nanoseconds time) const {
  if (from == JobGraph::kNone) return false;
  const JobGraph::Rank& a = graph_.ranks()[graph_.node(from).rank];
  const JobGraph::Rank& b = graph_.ranks()[graph_.node(to).rank];
  return a.clock != b.clock && time < a.clockBound + b.clockBound;
}

bool BindingPaths::areClocksApart(Id a, Id b) const {
  if (graph_.clocksApart().empty() || a == JobGraph::kNone || b == JobGraph::kNone) return false;
  return graph_.areClocksApart(graph_.node(a).rank, graph_.node(b).rank);
}

BindingPaths::Link BindingPaths::linkOf(Id id) const {
  const JobGraph::Node& node = graph_.node(id);
  Link link;
  link.rank = node.rank;
  link.isCollective = node.isCollective;
  link.hasLastMember = node.isCollective && node.inputs[0] != JobGraph::kNone;
  const Nanoseconds length = node.end - node.begin;
  if (node.isMessage || node.isCollective) {
    link.rank = JobGraph::kNone;
    // Nobody knows when a sender or a member that is missing began.
    const bool isKnown = !node.lacksInput && !areClocksApart(node.inputs[0], id);
    link.workCause = isKnown ? BubbleClass::kTransfer : BubbleClass::kUnknown;
    link.work = isBelowClockBound(node.inputs[0], id, length) ? 0 : length;
    if (node.isCollective && leastUpdateOf(node) != nullptr) {
      link.work -= leastUpdateOf(node)->collective;
      if (link.workCause == BubbleClass::kTransfer) link.workCause = BubbleClass::kSync;
    }
  } else if (isCompute(node.kind)) {
    link.group = times_.group(id);
    link.workCause = BubbleClass::kPeerWait;
    link.waitsInside = graph_.inside().hasChain(id);
    link.work = link.waitsInside ? 0 : graph_.lengthOf(id) - times_.median(id);
  } else if (loadsData(node.kind) || savesState(node.kind)) {
    link.workCause = classOfWork(node.kind);
    link.work = length;
  } else if (endsPaths(node.kind)) {
    const LeastUpdate* const least = leastUpdateOf(node);
    link.workCause = BubbleClass::kSync;
    if (least == nullptr) {
      const bool isBehindUpdate = node.kind == JobKind::kLr &&
                                  id > graph_.ranks()[node.rank].first &&
                                  graph_.node(id - 1).kind == JobKind::kOptimizer;
      if (isBehindUpdate) link.before = id - 1;
      link.work = updateExcess(id);
      return link;
    }
    link.work = length - (node.kind == JobKind::kOptimizer ? least->optimizer : 0);
  }
  link.work = std::max<Nanoseconds>(0, link.work);
  if (graph_.hasLines() && !link.waitsInside && opensStep(node)) return link;
  link.before = waitedFor(id);
  if (graph_.isOnLine(id) && node.inputs[0] != JobGraph::kNone) {
    setLateInLine(id, link);
    return link;
  }
  Id lateId = link.hasLastMember ? node.inputs[0] : id;
  if (link.waitsInside) {
    lateId = entryOf(id);
    if (lateId == JobGraph::kNone) {  // a rank without a trace
      link.before = JobGraph::kNone;
      return link;
    }
    link.before = waitedForByChain(id, lateId);
  }
  const JobGraph::Node& late = graph_.node(lateId);
  Nanoseconds ready = kNsMin;
  Id last = JobGraph::kNone;
  for (const Id other : {late.before, late.collective, inputOf(lateId, 0), inputOf(lateId, 1)}) {
    if (other == JobGraph::kNone || graph_.node(other).end <= ready) continue;
    ready = graph_.node(other).end;
    last = other;
  }
  if (last == JobGraph::kNone || ready >= late.begin) return link;
  // The time before a step begins is in no window of it.
  const bool isOfStep = isCompute(late.kind) || loadsData(late.kind);
  if (isOfStep && graph_.node(last).step != late.step) {
    // A job that waited inside for one of another pipeline waited since its own step began.
    const auto begin = begins_.find({graph_.ranks()[node.rank].replica, late.step});
    if (begin != begins_.end()) ready = std::max(ready, begin->second);
    if (ready >= late.begin) return link;
  }
  if (isBelowClockBound(last, lateId, late.begin - ready)) return link;
  link.late = late.begin - ready;
  // Where no message is logged, the time after the producer's end is the message's.
  const auto isJob = [&](Id input) {
    return input != JobGraph::kNone && !graph_.node(input).isMessage;
  };
  const bool needsMessage = !node.isMessage && !node.isCollective && !node.gotDataEarly &&
                            (isJob(node.inputs[0]) || isJob(node.inputs[1]));
  const bool areApart = areClocksApart(last, lateId) || areClocksApart(node.inputs[0], id) ||
                        areClocksApart(node.inputs[1], id);
  // Nobody knows whose message the rank waited for: that is no late start.
  const Nanoseconds waited = graph_.hasWaits() ? graph_.waitedUntil(lateId) : kNsMin;
  const bool comesLate = node.isMessage && graph_.hasWaits() && isWaitedForLate(id);
  const bool isMostlyWait = comesLate || (waited > ready && 2 * (waited - ready) > link.late);
  const bool isKnown = !node.lacksInput && !areApart && !isMostlyWait;
  link.lateCause = !isKnown       ? BubbleClass::kUnknown
                   : needsMessage ? BubbleClass::kTransfer
                                  : BubbleClass::kLateStart;
  return link;
}

/// Whether the receiver's thread came to wait for a message when that was under way.
bool BindingPaths::isWaitedForLate(Id message) const {
  const JobGraph::Message& ends = graph_.message(message);
  const Nanoseconds begin = graph_.node(message).begin;
  return ends.receive != nullptr && ends.receive->begin < begin &&
         (ends.send == nullptr || ends.send->begin < begin);
}

bool BindingPaths::opensStep(const JobGraph::Node& job) const {
  if (!isCompute(job.kind)) return false;
  const auto found = begins_.find({graph_.ranks()[job.rank].replica, job.step});
  return found != begins_.end() && found->second == job.begin;
}

/// What a message on a line waited for beside its turn: the job that made its data, or the last job
/// of its receiver that had ended when it was posted. The line must have been free by then: else
/// that is what it waited for.
JobGraph::Id BindingPaths::gateInLine(Id message) const {
  const JobGraph::Node& node = graph_.node(message);
  const Id maker = node.inputs[0];
  const Id before = node.before;
  const bool isPosted = before != JobGraph::kNone && before < graph_.jobCount() &&
                        graph_.node(before).rank == node.rank;
  if (!isPosted || graph_.node(before).end <= graph_.node(maker).end) return maker;
  if (!isEarlier(before, message)) return maker;
  const Id front = graph_.lineEnd(graph_.lastEndOf(message)).before;
  const bool isFree =
      front == JobGraph::kNone || graph_.eventOf(front).end < graph_.node(before).end;
  return isFree ? before : maker;
}

/// A message on a line is late since the end of what it waited for, but for the time in which
/// messages in front held its line. Where none did, it is late since its rank was free to post it.
void BindingPaths::setLateInLine(Id message, Link& link) const {
  const JobGraph::Node& node = graph_.node(message);
  if (link.before != JobGraph::kNone && link.before != node.inputs[0]) {
    link.late = std::max<Nanoseconds>(0, node.begin - graph_.node(link.before).end);
    link.lateCause = BubbleClass::kLateStart;
    return;
  }
  const Nanoseconds time = node.begin - graph_.node(node.inputs[0]).end;
  if (time <= 0 || isBelowClockBound(node.inputs[0], message, time)) return;
  if (areClocksApart(node.inputs[0], message)) {
    link.late = time;
    link.lateCause = BubbleClass::kUnknown;
    return;
  }
  const LineDelay delay = delayOf(message);
  const Nanoseconds inLine = delay.blocked.time + delay.transfer.time;
  link.waitsInLine = inLine > 0;
  link.late = time - inLine;
  const Id front = graph_.lineEnd(graph_.lastEndOf(message)).before;
  const Nanoseconds lineFree = front == JobGraph::kNone ? kNsMin : graph_.eventOf(front).end;
  if (node.before != JobGraph::kNone && graph_.node(node.before).end > lineFree) {
    const Nanoseconds free = node.begin - graph_.node(node.before).end;
    link.late = std::clamp<Nanoseconds>(free, 0, link.late);
  }
  link.lateCause = BubbleClass::kLateStart;
}

/// Goes back along the line of the end that began last, up to what ended before the data was there.
BindingPaths::LineDelay BindingPaths::delayOf(Id message) const {
  const JobGraph::Node& node = graph_.node(message);
  const Nanoseconds data = graph_.node(node.inputs[0]).end;
  Nanoseconds upTo = node.begin;
  LineDelay delay;
  Id at = graph_.lineEnd(graph_.lastEndOf(message)).before;
  while (at != JobGraph::kNone && upTo > data) {
    const Nanoseconds end = std::min(graph_.eventOf(at).end, upTo);
    if (end <= data) break;
    const JobGraph::LineEnd& place = graph_.lineEnd(at);
    const Nanoseconds from = std::clamp(place.heldFrom, data, end);
    const Nanoseconds begin = std::clamp(graph_.node(graph_.messageOf(at)).begin, from, end);
    delay.blocked.add(begin - from, at);
    delay.transfer.add(end - begin, at);
    upTo = from;
    at = place.before;
  }
  return delay;
}

void BindingPaths::addDelay(Id message, Collected& collected) const {
  const LineDelay delay = delayOf(message);
  const LineDelay::Part& held = delay.transfer;
  if (held.time > 0) {
    collected.add(BubbleClass::kTransfer, held.time, held.most, graph_.messageOf(held.end));
  }
  collected.add(BubbleClass::kBlocked, delay.blocked.time, delay.blocked.most, delay.blocked.end);
}

bool BindingPaths::isEarlier(Id a, Id b) const {
  const JobGraph::Node& x = graph_.node(a);
  const JobGraph::Node& y = graph_.node(b);
  if (x.begin != y.begin) return x.begin < y.begin;
  return x.end != y.end ? x.end < y.end : a < b;
}

/// An input of a node. Clocks that are microseconds apart may let a message begin after the job
/// that needs it. Then the job that made its data stands for it.
JobGraph::Id BindingPaths::inputOf(Id node, int i) const {
  const Id input = graph_.node(node).inputs[i];
  const bool isLate =
      input != JobGraph::kNone && graph_.node(input).isMessage && !isEarlier(input, node);
  return isLate ? graph_.node(input).inputs[0] : input;
}

/// Only what began earlier counts, so that no path comes back, whatever the clocks say.
JobGraph::Id BindingPaths::waitedFor(Id id) const {
  const JobGraph::Node& node = graph_.node(id);
  if (node.isCollective) {
    const Id last = node.inputs[0];
    const Id before = last == JobGraph::kNone ? node.before : graph_.node(last).before;
    return before != JobGraph::kNone && isEarlier(before, id) ? before : JobGraph::kNone;
  }
  if (graph_.isOnLine(id) && node.inputs[0] != JobGraph::kNone) {
    const Id gate = gateInLine(id);
    return isEarlier(gate, id) ? gate : JobGraph::kNone;
  }
  Id binding = JobGraph::kNone;
  const Id ofJob[] = {node.before, node.collective, inputOf(id, 0), inputOf(id, 1)};
  const Id ofMessage[] = {node.inputs[0], node.before, JobGraph::kNone, JobGraph::kNone};
  for (const Id other : node.isMessage ? ofMessage : ofJob) {  // the first of those that tie
    if (other == JobGraph::kNone || !isEarlier(other, id)) continue;
    if (binding == JobGraph::kNone || graph_.node(other).end > graph_.node(binding).end) {
      binding = other;
    }
  }
  return binding;
}

// Jobs that waited inside for other ranks.

JobGraph::Id BindingPaths::entryOf(Id job) const { return graph_.inside().chain(job).entry; }

/// Times on a path descend: where clocks lead a chain to something later, it ends.
JobGraph::Id BindingPaths::waitedForByChain(Id job, Id entry) const {
  const Id before = waitedFor(entry);
  if (before == JobGraph::kNone || entry == job) return before;
  return graph_.node(before).end < graph_.node(job).end ? before : JobGraph::kNone;
}

void BindingPaths::addInside(Id job, Collected& collected) const {
  const InsideJobs::Chain chain = graph_.inside().chain(job);
  for (const InsideJobs::Chain::Link& each : chain.links) {
    collected.add(BubbleClass::kPeerWait, each.excess, each.job);
  }
  if (chain.entry == JobGraph::kNone) {
    collected.add(BubbleClass::kUnknown, graph_.inside().lateIn(job), JobGraph::kNone);
  }
}

JobGraph::Id BindingPaths::addInsideUpTo(Id job, std::uint32_t rank, Collected& collected) const {
  const InsideJobs::Chain chain = graph_.inside().chain(job);
  for (const InsideJobs::Chain::Link& each : chain.links) {
    if (graph_.node(each.job).rank == rank) return each.job;
    collected.add(BubbleClass::kPeerWait, each.excess, each.job);
  }
  const bool isEntered = chain.entry != JobGraph::kNone && graph_.node(chain.entry).rank == rank;
  return isEntered ? chain.entry : JobGraph::kNone;
}

std::uint64_t BindingPaths::ranksInside(Id job) const {
  const InsideJobs::Chain chain = graph_.inside().chain(job);
  std::uint64_t ranks = 0;
  for (const InsideJobs::Chain::Link& each : chain.links)
    ranks |= bitOf(graph_.node(each.job).rank);
  if (chain.entry != JobGraph::kNone) ranks |= bitOf(graph_.node(chain.entry).rank);
  return ranks;
}

Collected BindingPaths::loadsBefore(Id job) const {
  Collected collected;
  const std::uint32_t rank = graph_.node(job).rank;
  for (Id id = job; id > graph_.ranks()[rank].first && !isCompute(graph_.node(id - 1).kind); --id) {
    const JobGraph::Node& node = graph_.node(id - 1);
    if (loadsData(node.kind)) collected.add(BubbleClass::kLateStart, node.end - node.begin, id - 1);
  }
  return collected;
}

JobGraph::Id BindingPaths::metBefore(Id job) const {
  const std::uint32_t rank = graph_.node(job).rank;
  Id at = predecessor(job);
  while (at != JobGraph::kNone && graph_.node(at).rank == rank && endsPaths(graph_.node(at).kind)) {
    at = predecessor(at);
  }
  return at != JobGraph::kNone && graph_.node(at).isCollective ? at : JobGraph::kNone;
}

void BindingPaths::letGo() const {
  links_.letGo();
  stretches_.letGo();
}

void BindingPaths::letAllGo() const {
  links_.clear();
  stretches_.clear();
}

/// What loads data begins late for the same reason as the compute job right behind it, such as a
/// send that its rank waited for. Other nodes are their own.
JobGraph::Id BindingPaths::loadedFor(Id node) const {
  if (node >= graph_.jobCount() || !loadsData(graph_.node(node).kind)) return node;
  const JobGraph::Rank& rank = graph_.ranks()[graph_.node(node).rank];
  Id job = node;
  while (job < rank.end && loadsData(graph_.node(job).kind)) ++job;
  return job < rank.end && isCompute(graph_.node(job).kind) ? job : node;
}

Collected BindingPaths::lateness(Id node) const {
  Collected collected;
  addLate(node, knownLink(node), collected);
  return collected;
}

Collected BindingPaths::of(Id node) const {
  Collected collected;
  add(node, knownLink(node), collected);
  return collected;
}

PathsOfRank::Path PathsOfRank::upTo(Id node) {
  Collected late;
  Id at = paths_.link(node).before;
  const auto isOwnUpdate = [&](Id id) {
    return id != JobGraph::kNone && paths_.link(id).rank == rank_ &&
           endsPaths(paths_.graph_.node(id).kind);
  };
  while (isOwnUpdate(at)) {
    paths_.addLate(at, paths_.link(at), late);
    at = paths_.link(at).before;
  }
  if (at != JobGraph::kNone && paths_.link(at).isCollective) {
    paths_.addLate(at, paths_.link(at), late);
    at = paths_.link(at).before;
  }
  return walk(at, late);
}

std::size_t PathsOfRank::KnownPaths::slotOf(Id node) const {
  constexpr std::uint64_t kFactor = 0x9E3779B97F4A7C15;  // Knuth's multiplicative hashing
  const std::size_t mask = slots_.size() - 1;
  std::size_t slot = (node * kFactor >> 32U) & mask;
  while (slots_[slot].round == round_ && slots_[slot].node != node) slot = (slot + 1) & mask;
  return slot;
}

const PathsOfRank::Path* PathsOfRank::KnownPaths::find(Id node) const {
  if (paths_.empty()) return nullptr;
  const Slot& slot = slots_[slotOf(node)];
  return slot.round == round_ ? &paths_[slot.path] : nullptr;
}

void PathsOfRank::KnownPaths::add(Id node, const Path& path) {
  if (2 * paths_.size() >= slots_.size()) {
    const std::vector<Slot> old =
        std::exchange(slots_, std::vector<Slot>(std::max<std::size_t>(64, 2 * slots_.size())));
    for (const Slot& each : old) {
      if (each.round == round_) slots_[slotOf(each.node)] = each;
    }
  }
  Slot& slot = slots_[slotOf(node)];
  if (slot.round == round_) return;
  slot = {node, round_, static_cast<std::uint32_t>(paths_.size())};
  paths_.push_back(path);
}

void PathsOfRank::KnownPaths::clear() {
  paths_.clear();
  ++round_;
}

/// The job of the rank that a job waited for inside; what lies before it is added.
JobGraph::Id PathsOfRank::ownInside(Id job, const BindingPaths::Link& link) {
  if (!link.waitsInside) return JobGraph::kNone;
  Collected before;
  const Id own = paths_.addInsideUpTo(job, rank_, before);
  if (own != JobGraph::kNone) segments_.back().second.add(before);
  return own;
}

PathsOfRank::Path PathsOfRank::walk(Id from, const Collected& first) {
  // Short paths are gone again each time; of long ones one node of that many has its sum kept.
  constexpr int kShort = 32;
  constexpr Id kStride = 32;
  segments_.clear();
  segments_.emplace_back(JobGraph::kNone, first);
  Path path;
  Id& at = path.end = from;
  const std::uint64_t ownRank = BindingPaths::bitOf(rank_);
  for (int steps = 0; at != JobGraph::kNone; ++steps) {
    // A stretch without the rank has its first node, too: that need not be looked at by itself.
    const BindingPaths::Stretch* stretch = nullptr;
    if (at % BindingPaths::kStride == 0) {
      stretch = &paths_.stretch(at);
      if ((stretch->ranks & ownRank) != 0) stretch = nullptr;
    }
    const BindingPaths::Link* const link = stretch == nullptr ? &paths_.link(at) : nullptr;
    if (link != nullptr && link->rank == rank_) break;
    if (steps >= kShort && at % kStride == 0) {
      if (const Path* const rest = known_.find(at)) {
        segments_.back().second.add(rest->collected);
        path.end = rest->end;
        break;
      }
      segments_.emplace_back(at, Collected{});
    }
    Collected& collected = segments_.back().second;
    if (stretch != nullptr) {
      collected.add(stretch->collected);
      at = stretch->next;
    } else if (const Id own = ownInside(at, *link); own != JobGraph::kNone) {
      at = own;
      break;
    } else {
      paths_.add(at, *link, collected);
      at = link->before;
    }
  }
  for (std::size_t i = segments_.size() - 1; i > 0; --i) {
    known_.add(segments_[i].first, {segments_[i].second, path.end});
    segments_[i - 1].second.add(segments_[i].second);
  }
  path.collected = segments_.front().second;
  return path;
}

}  // namespace pipetrace
