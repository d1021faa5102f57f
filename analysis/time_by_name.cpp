#include "analysis/time_by_name.h"

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "analysis/run/steps/interval.h"
#include "trace/text/display_name.h"
#include "trace/threads/in_parallel.h"

namespace pipetrace {
namespace {

/// The sums of one name.
struct Sum {
  const Event* first = nullptr;
  std::int64_t calls = 0;
  Nanoseconds own = 0;
  Nanoseconds total = 0;
  int open = 0;  // how many of them hold the event that is looked at
};

/// Jobs have the times of their work, which lies on other lanes, or are all that a log has.
bool isJob(const Event& event) { return isComputeLane(event.kind); }

/// The name of a step without its number: "ProfilerStep#7" is "ProfilerStep#".
std::string withoutNumber(std::string name) {
  const std::size_t last = name.find_last_not_of("0123456789");
  if (last != std::string::npos && name[last] == '#') name.resize(last + 1);
  return name;
}

/// The events of one rank.
class RankNames {
 public:
  RankNames(const Timeline& timeline, Timeline::Span span) : timeline_(timeline), span_(span) {}

  void add(const Track& track) {
    if (track.lane == kBubbleLane || track.lane == kHostLane) return;
    constexpr Nanoseconds kNearly = 20;  // a twentieth may be missing
    const bool isAlone = track.events.size() == 1 && track.events.front().kind == JobKind::kOther;
    const Nanoseconds run = span_.end - span_.begin;
    if (isAlone && track.events.front().duration() >= run - run / kNearly) return;
    for (const Event& event : track.events) {
      if (isJob(event)) {
        jobs_.push_back(&event);
      } else {
        events_.push_back(&event);
      }
    }
    addNested();
  }

  std::vector<TimeByName> take(int rank) {
    addJobs();
    std::map<std::string, TimeByName> byName;
    for (const auto& [key, sum] : sums_) {
      const Event& event = *sum.first;
      const std::string name = withoutNumber(event.name != 0 ? displayName(timeline_, event)
                                                             : std::string(logName(event.kind)));
      TimeByName& all = byName.try_emplace(name, TimeByName{name, rank}).first->second;
      all.calls += sum.calls;
      all.own += sum.own;
      all.total += sum.total;
    }
    std::vector<TimeByName> list;
    for (auto& [name, all] : byName) list.push_back(std::move(all));
    return list;
  }

 private:
  Sum& sumOf(const Event& event) {
    // Events without a name have that of their kind.
    const std::uint64_t key = event.name != 0
                                  ? std::uint64_t{event.name}
                                  : (std::uint64_t{1} << 32U) + static_cast<unsigned>(event.kind);
    Sum& sum = sums_[key];
    if (sum.first == nullptr) sum.first = &event;
    return sum;
  }

  /// Those of one lane, each of which may hold others.
  void addNested() {
    const auto holds = [](const Event* a, const Event* b) {
      return std::tuple(a->begin, -a->end) < std::tuple(b->begin, -b->end);
    };
    // Tracks are in the order of begins, so most are in this order, too.
    if (!std::is_sorted(events_.begin(), events_.end(), holds)) {
      std::sort(events_.begin(), events_.end(), holds);
    }
    std::vector<std::pair<const Event*, Sum*>> open;
    for (const Event* const event : events_) {
      while (!open.empty() && open.back().first->end < event->end) {
        --open.back().second->open;
        open.pop_back();
      }
      const bool isInside = !open.empty() && event->begin < open.back().first->end;
      Sum& sum = sumOf(*event);
      ++sum.calls;
      sum.own += event->duration();
      if (isInside) {
        open.back().second->own -= event->duration();
      } else if (!isTransfer(event->kind) && !isCollective(event->kind)) {
        covered_.push_back({event->begin, event->end});
      }
      if (sum.open == 0) sum.total += event->duration();
      ++sum.open;
      open.emplace_back(event, &sum);
    }
    for (const auto& [event, sum] : open) --sum->open;
    events_.clear();
  }

  /// Jobs, without what ran inside them.
  void addJobs() {
    const std::vector<Interval> covered = unionOf(std::move(covered_));
    for (const Event* const job : jobs_) {
      Sum& sum = sumOf(*job);
      ++sum.calls;
      sum.total += job->duration();
      sum.own += job->duration();
      auto part = std::partition_point(covered.begin(), covered.end(), [&](const Interval& each) {
        return each.end <= job->begin;
      });
      for (; part != covered.end() && part->begin < job->end; ++part) {
        sum.own -= std::min(part->end, job->end) - std::max(part->begin, job->begin);
      }
    }
  }

  const Timeline& timeline_;
  Timeline::Span span_;
  std::unordered_map<std::uint64_t, Sum> sums_;
  std::vector<const Event*> events_;
  std::vector<const Event*> jobs_;
  std::vector<Interval> covered_;  // by operators and kernels that lie in no other one
};

}  // namespace

std::vector<TimeByName> timesByName(const Timeline& timeline, int threads) {
  const auto& tracks = timeline.tracks;
  std::vector<std::pair<std::size_t, std::size_t>> ranks;  // their tracks
  for (std::size_t i = 0; i < tracks.size(); ++i) {
    if (i == 0 || tracks[i].rank != tracks[i - 1].rank) ranks.emplace_back(i, i);
    ranks.back().second = i + 1;
  }
  const Timeline::Span span = timeline.span();
  std::vector<std::vector<TimeByName>> ofRanks(ranks.size());
  inParallel(threads, ranks.size(), [&](std::size_t r) {
    RankNames names(timeline, span);
    for (std::size_t i = ranks[r].first; i < ranks[r].second; ++i) names.add(tracks[i]);
    ofRanks[r] = names.take(tracks[ranks[r].first].rank);
  });
  std::vector<TimeByName> all;
  for (auto& each : ofRanks) {
    all.insert(all.end(), std::make_move_iterator(each.begin()),
               std::make_move_iterator(each.end()));
  }
  std::sort(all.begin(), all.end(), [](const TimeByName& a, const TimeByName& b) {
    return std::tie(b.own, b.total, a.rank, a.name) < std::tie(a.own, a.total, b.rank, b.name);
  });
  return all;
}

}  // namespace pipetrace
