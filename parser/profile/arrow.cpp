#include "parser/profile/arrow.h"

#include <algorithm>
#include <compare>
#include <map>
#include <numeric>
#include <span>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "trace/event_arguments.h"

namespace pipetrace {
namespace {

std::unordered_map<std::int64_t, std::uint32_t> jobsOf(const Track& track) {
  std::unordered_map<std::int64_t, std::uint32_t> jobs;
  for (std::uint32_t e = 0; e < track.events.size(); ++e) {
    if (track.events[e].job >= 0) jobs.try_emplace(track.events[e].job, e);
  }
  return jobs;
}

/// Calls `visit` with the number and the place of each event of such lanes that has one.
template <typename Visit>
void forEachNumbered(const Timeline& timeline, bool (*isLane)(std::string_view), StringId key,
                     const Visit& visit) {
  for (std::uint32_t t = 0; t < timeline.tracks.size(); ++t) {
    const Track& track = timeline.tracks[t];
    if (!isLane(track.lane)) continue;
    for (std::uint32_t e = 0; e < track.events.size(); ++e) {
      for (const Argument& argument : timeline.argumentsOf(track.events[e])) {
        if (argument.key != key || argument.type != ArgumentType::kInteger) continue;
        visit(argument.integer, Arrow::Slice{t, e});
      }
    }
  }
}

const Event& eventAt(const Timeline& timeline, const Arrow::Slice& slice) {
  return timeline.tracks[slice.track].events[slice.event];
}

/// The fields that the links of a chain have in common.
struct ChainKey {
  std::int32_t pipeline = 0;
  std::int32_t step = 0;
  std::int32_t microBatch = 0;

  auto operator<=>(const ChainKey&) const = default;
};

/// A job or transfer that might be a link.
struct Candidate {
  Nanoseconds begin = 0;
  Arrow::Slice slice;
  std::int32_t rank = 0;
  JobKind kind = JobKind::kOther;

  auto order() const { return std::tuple(begin, isTransfer(kind), slice.track, slice.event); }
};

bool mayBeLink(const Event& event) {
  if (!hasInside(event)) return false;
  switch (event.kind) {
    case JobKind::kForward:
    case JobKind::kForwardBackward:
    case JobKind::kBackward:
    case JobKind::kBackwardInput:
    case JobKind::kSendForward:
    case JobKind::kRecvForward:
    case JobKind::kSendBackward:
    case JobKind::kRecvBackward: return event.step >= 0 && event.microBatch >= 0;
    default: return false;
  }
}

/// The pipeline of each rank, numbered by data-parallel and tensor-parallel index.
std::map<int, std::int32_t> pipelinesOf(const Timeline& timeline) {
  const auto indicesOf = [](const RankInfo& info) {
    return std::pair(info.dataParallelIndex.value_or(0), info.tensorParallelIndex.value_or(0));
  };
  std::map<std::pair<int, int>, std::int32_t> numbers;
  for (const auto& [rank, info] : timeline.ranks) numbers[indicesOf(info)];
  std::int32_t next = 0;
  for (auto& [indices, number] : numbers) number = next++;
  std::map<int, std::int32_t> pipelines;
  for (const auto& [rank, info] : timeline.ranks) pipelines[rank] = numbers.at(indicesOf(info));
  return pipelines;
}

/// Calls `visit` with the chain and the candidate of each event that might be a link, by track and
/// in the order of the track.
template <typename Visit>
void forEachCandidate(const Timeline& timeline, const Visit& visit) {
  const std::map<int, std::int32_t> pipelines = pipelinesOf(timeline);
  for (std::uint32_t t = 0; t < timeline.tracks.size(); ++t) {
    const Track& track = timeline.tracks[t];
    if (track.lane == kBubbleLane) continue;  // may be longer than all others
    const auto found = pipelines.find(track.rank);
    const std::int32_t pipeline = found == pipelines.end() ? 0 : found->second;
    for (std::uint32_t e = 0; e < track.events.size(); ++e) {
      const Event& event = track.events[e];
      if (!mayBeLink(event)) continue;
      visit(ChainKey{pipeline, event.step, event.microBatch},
            Candidate{event.begin, {t, e}, track.rank, event.kind});
    }
  }
}

/// Numbers the chains in the order of their keys, with gaps.
class ChainNumbers {
 public:
  explicit ChainNumbers(const Timeline& timeline) {
    std::size_t candidates = 0;
    ChainKey last;
    forEachCandidate(timeline, [&](const ChainKey& key, const Candidate&) {
      if (candidates++ == 0) first_ = last = key;
      first_.pipeline = std::min(first_.pipeline, key.pipeline);
      first_.step = std::min(first_.step, key.step);
      first_.microBatch = std::min(first_.microBatch, key.microBatch);
      last.pipeline = std::max(last.pipeline, key.pipeline);
      last.step = std::max(last.step, key.step);
      last.microBatch = std::max(last.microBatch, key.microBatch);
    });
    steps_ = distance(first_.step, last.step) + 1;
    microBatches_ = distance(first_.microBatch, last.microBatch) + 1;
    const double grid = static_cast<double>(distance(first_.pipeline, last.pipeline) + 1) *
                        static_cast<double>(steps_) * static_cast<double>(microBatches_);
    constexpr double kMostGaps = 8;  // per candidate; a count is small beside one
    if (grid <= kMostGaps * static_cast<double>(candidates) + 1024) {
      count_ = static_cast<std::size_t>(grid);
      return;
    }
    forEachCandidate(timeline,
                     [&](const ChainKey& key, const Candidate&) { sparse_.push_back(key); });
    std::sort(sparse_.begin(), sparse_.end());
    sparse_.erase(std::unique(sparse_.begin(), sparse_.end()), sparse_.end());
    count_ = sparse_.size();
  }

  std::size_t count() const { return count_; }

  std::size_t operator()(const ChainKey& key) const {
    if (!sparse_.empty()) {
      const auto found = std::lower_bound(sparse_.begin(), sparse_.end(), key);
      return static_cast<std::size_t>(found - sparse_.begin());
    }
    return (distance(first_.pipeline, key.pipeline) * steps_ + distance(first_.step, key.step)) *
               microBatches_ +
           distance(first_.microBatch, key.microBatch);
  }

 private:
  static std::size_t distance(std::int32_t from, std::int32_t to) {
    return static_cast<std::size_t>(std::int64_t{to} - from);
  }

  ChainKey first_;
  std::size_t steps_ = 0;
  std::size_t microBatches_ = 0;
  std::vector<ChainKey> sparse_;  // all keys in order, if a grid of them would have many gaps
  std::size_t count_ = 0;
};

/// The candidates of all chains, one chain after the other; those of chain i are at
/// [begins[i], begins[i + 1]).
struct Chains {
  std::vector<Candidate> candidates;
  std::vector<std::size_t> begins;
};

/// Counts the candidates of each chain and then puts each at its place, which is several times as
/// fast as sorting them.
Chains chainsOf(const Timeline& timeline) {
  const ChainNumbers numberOf(timeline);
  Chains chains;
  chains.begins.resize(numberOf.count() + 1);
  forEachCandidate(
      timeline, [&](const ChainKey& key, const Candidate&) { ++chains.begins[numberOf(key) + 1]; });
  std::partial_sum(chains.begins.begin(), chains.begins.end(), chains.begins.begin());
  chains.candidates.resize(chains.begins.back());
  std::vector<std::size_t> next = chains.begins;
  forEachCandidate(timeline, [&](const ChainKey& key, const Candidate& candidate) {
    chains.candidates[next[numberOf(key)]++] = candidate;
  });
  return chains;
}

/// Whether a receive stands between a send of its direction and the job that it is for. Receives
/// apart, the event before it is then the send, from another rank, and the one after it a job of
/// its own rank. Null: there is none.
bool isBetween(const Candidate* before, const Candidate& recv, const Candidate* after) {
  const JobKind sent =
      recv.kind == JobKind::kRecvForward ? JobKind::kSendForward : JobKind::kSendBackward;
  return before != nullptr && before->kind == sent && before->rank != recv.rank &&
         after != nullptr && after->rank == recv.rank;
}

/// Appends the arrows between the links among the candidates of one chain, which are in order.
void addArrows(std::span<const Candidate> chain, std::vector<Arrow>& arrows) {
  const auto isNoRecv = [](const Candidate& c) { return !isRecv(c.kind); };
  const Candidate* last = nullptr;
  const Candidate* before = nullptr;
  auto after = chain.begin();
  for (auto at = chain.begin(); at != chain.end(); ++at) {
    if (after <= at) after = std::find_if(at + 1, chain.end(), isNoRecv);
    const Candidate* const beforeThis = before;
    if (isNoRecv(*at)) before = &*at;
    if (last != nullptr && last->begin == at->begin) continue;
    const Candidate* const afterThis = after == chain.end() ? nullptr : &*after;
    if (isRecv(at->kind) && !isBetween(beforeThis, *at, afterThis)) continue;
    if (last != nullptr) arrows.push_back({last->slice, at->slice});
    last = &*at;
  }
}

}  // namespace

std::vector<Arrow> findArrows(const Timeline& timeline) {
  std::vector<Arrow> arrows = findMicroBatchArrows(timeline);
  for (const auto find : {findLaunchArrows, findMessageArrows}) {
    const std::vector<Arrow> more = find(timeline);
    arrows.insert(arrows.end(), more.begin(), more.end());
  }
  return arrows;
}

std::vector<Arrow> findLaunchArrows(const Timeline& timeline) {
  std::vector<Arrow> arrows;
  for (std::uint32_t h = 0; h < timeline.tracks.size(); ++h) {
    const Track& host = timeline.tracks[h];
    if (host.lane != kHostLane) continue;
    const Track* const compute = timeline.findTrack(host.rank, kComputeLane);
    if (compute == nullptr) continue;
    const auto c = static_cast<std::uint32_t>(compute - timeline.tracks.data());
    const auto jobs = jobsOf(*compute);
    for (std::uint32_t e = 0; e < host.events.size(); ++e) {
      const Event& from = host.events[e];
      const auto found = jobs.find(from.job);
      if (found == jobs.end() || !hasInside(from)) continue;
      const Event& to = compute->events[found->second];
      if (hasInside(to) && from.begin < to.begin) arrows.push_back({{h, e}, {c, found->second}});
    }
  }
  return arrows;
}

std::vector<Arrow> findMessageArrows(const Timeline& timeline) {
  std::vector<Arrow> arrows;
  const auto key = timeline.strings.find(message_arguments::kMessage);
  if (!key) return arrows;
  std::unordered_map<std::int64_t, Arrow::Slice> sends;
  forEachNumbered(timeline, isSendLane, *key, [&](std::int64_t number, const Arrow::Slice& slice) {
    if (hasInside(eventAt(timeline, slice))) sends.try_emplace(number, slice);
  });
  forEachNumbered(timeline, isRecvLane, *key, [&](std::int64_t number, const Arrow::Slice& slice) {
    const auto send = sends.find(number);
    if (send == sends.end() || !hasInside(eventAt(timeline, slice))) return;
    if (eventAt(timeline, send->second).begin < eventAt(timeline, slice).begin) {
      arrows.push_back({send->second, slice});
    }
  });
  return arrows;
}

std::vector<Arrow> findMicroBatchArrows(const Timeline& timeline) {
  Chains chains = chainsOf(timeline);
  std::vector<Arrow> arrows;
  arrows.reserve(chains.candidates.size());
  for (std::size_t i = 0; i + 1 < chains.begins.size(); ++i) {
    const std::span chain(chains.candidates.data() + chains.begins[i],
                          chains.begins[i + 1] - chains.begins[i]);
    std::sort(chain.begin(), chain.end(),
              [](const Candidate& a, const Candidate& b) { return a.order() < b.order(); });
    addArrows(chain, arrows);
  }
  return arrows;
}

}  // namespace pipetrace
