#include "parser/chrome_flows.h"

#include <algorithm>
#include <span>
#include <tuple>

namespace pipetrace {
namespace {

/// A job or transfer that might be a link.
struct Candidate {
  std::int32_t replica = 0;
  std::int32_t step = 0;
  std::int32_t microBatch = 0;
  ChromeArrow::Slice slice;
  std::int32_t rank = 0;
  Nanoseconds begin = 0;
  JobKind kind = JobKind::kOther;

  auto chain() const { return std::tuple(replica, step, microBatch); }
  auto order() const {
    return std::tuple(chain(), begin, isTransfer(kind), slice.track, slice.event);
  }
};

bool mayBeLink(const Event& event) {
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

std::vector<Candidate> candidatesOf(const Timeline& timeline) {
  std::vector<Candidate> list;
  for (std::uint32_t t = 0; t < timeline.tracks.size(); ++t) {
    const Track& track = timeline.tracks[t];
    const auto info = timeline.ranks.find(track.rank);
    const int replica =
        info == timeline.ranks.end() ? 0 : info->second.dataParallelIndex.value_or(0);
    for (std::uint32_t e = 0; e < track.events.size(); ++e) {
      const Event& event = track.events[e];
      if (!mayBeLink(event)) continue;
      list.push_back(
          {replica, event.step, event.microBatch, {t, e}, track.rank, event.begin, event.kind});
    }
  }
  std::sort(list.begin(), list.end(),
            [](const Candidate& a, const Candidate& b) { return a.order() < b.order(); });
  return list;
}

/// Whether the receive at `at` stands between a send of its direction and the job it is for: the
/// last send before it came from another rank, and the next job is one of its own rank.
bool isBetween(std::span<const Candidate> chain, std::size_t at) {
  const Candidate& recv = chain[at];
  const JobKind sent =
      recv.kind == JobKind::kRecvForward ? JobKind::kSendForward : JobKind::kSendBackward;
  const auto isNoRecv = [](const Candidate& c) { return !isRecv(c.kind); };
  const auto before = std::find_if(std::make_reverse_iterator(chain.begin() + std::ptrdiff_t(at)),
                                   chain.rend(), isNoRecv);
  const auto after = std::find_if(chain.begin() + std::ptrdiff_t(at) + 1, chain.end(), isNoRecv);
  return before != chain.rend() && before->kind == sent && before->rank != recv.rank &&
         after != chain.end() && after->rank == recv.rank;
}

/// The links among the candidates of one chain, in order.
std::vector<const Candidate*> linksOf(std::span<const Candidate> chain) {
  std::vector<const Candidate*> links;
  for (std::size_t i = 0; i < chain.size(); ++i) {
    if (!links.empty() && links.back()->begin == chain[i].begin) continue;
    if (isRecv(chain[i].kind) && !isBetween(chain, i)) continue;
    links.push_back(&chain[i]);
  }
  return links;
}

}  // namespace

std::vector<ChromeArrow> findArrows(const Timeline& timeline) {
  const std::vector<Candidate> candidates = candidatesOf(timeline);
  std::vector<ChromeArrow> arrows;
  for (auto from = candidates.begin(); from != candidates.end();) {
    const auto to = std::find_if(from, candidates.end(),
                                 [&](const Candidate& c) { return c.chain() != from->chain(); });
    const auto links = linksOf({from, to});
    for (std::size_t i = 1; i < links.size(); ++i) {
      arrows.push_back({links[i - 1]->slice, links[i]->slice});
    }
    from = to;
  }
  return arrows;
}

}  // namespace pipetrace
