#include "analysis/run/graph/inside_jobs.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <unordered_map>

#include "analysis/median.h"
#include "analysis/run/graph/job_graph.h"
#include "trace/event_arguments.h"
#include "trace/kernel_names.h"
#include "trace/log/log_format.h"
#include "trace/threads/in_parallel.h"

namespace pipetrace {
namespace {

using Id = InsideJobs::Id;
using Meeting = InsideJobs::Meeting;
using Computed = std::pair<Nanoseconds, Nanoseconds>;

std::vector<int> numbersIn(std::string_view text) {
  std::vector<int> numbers;
  while (!text.empty()) {
    int number = 0;
    const auto [next, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc()) break;
    numbers.push_back(number);
    text.remove_prefix(static_cast<std::size_t>(next - text.data()));
    if (text.starts_with(' ')) text.remove_prefix(1);
  }
  return numbers;
}

/// Nobody meets in it.
bool isOfOneRank(std::string_view ranks) { return ranks.find(' ') == std::string_view::npos; }

/// A collective of a rank, before all ranks are known.
struct Found {
  Nanoseconds begin = 0;
  Nanoseconds end = 0;
  std::int64_t bytes = -1;
  std::int64_t sequence = -1;
  StringId group = 0;
  StringId use = 0;
  StringId partners = 0;           // 0: all
  StringId message = 0;            // 0: it is no end of one
  Id job = InsideJobs::kNone;      // that it holds up
  Id starter = InsideJobs::kNone;  // the job that started it
  std::uint16_t place = 0;         // in that
  std::uint16_t nth = 0;           // in that, among those of its group and kind
  JobKind kind = JobKind::kAllReduce;
};

/// The arguments of collectives; kNone: the timeline has no such ones.
struct Keys {
  static constexpr StringId kNone = ~StringId{0};

  explicit Keys(const StringTable& table)
      : strings(table),
        group(find(collective_arguments::kGroup)),
        use(find(collective_arguments::kUse)),
        partners(find(collective_arguments::kPartners)),
        message(find(collective_arguments::kMessage)),
        sequence(find(collective_arguments::kSequence)),
        communicator(find(log_format::kCommunicator)),
        sequenceThere(find(log_format::kSequence)),
        untimed(find(log_format::kUntimed)),
        bytes(find(log_format::kBytes)) {}

  StringId find(std::string_view key) const { return strings.find(key).value_or(kNone); }

  const StringTable& strings;
  StringId group;
  StringId use;
  StringId partners;
  StringId message;
  StringId sequence;
  // Of job logs: NCCL's own numbers, with the times of kernels unless it is untimed.
  StringId communicator;
  StringId sequenceThere;
  StringId untimed;
  StringId bytes;
};

/// The ranks of communicators in job logs, which name no ranks: those that have it. Those over
/// replicas are left out: such logs do not say what runs beside a sum of gradients.
using Communicators = std::map<StringId, std::vector<int>>;

Communicators communicatorsOf(const Timeline& timeline, const Keys& keys) {
  Communicators found;
  if (keys.communicator == Keys::kNone) return found;
  for (const Track& track : timeline.tracks) {
    if (track.lane == kComputeLane || track.lane == kBubbleLane) continue;
    for (const Event& event : track.events) {
      if (!isCollective(event.kind) || event.job < 0) continue;
      for (const Argument& argument : timeline.argumentsOf(event)) {
        if (argument.key != keys.communicator || argument.type != ArgumentType::kText) continue;
        std::vector<int>& ranks = found[argument.text];
        if (ranks.empty() || ranks.back() != track.rank) ranks.push_back(track.rank);
      }
    }
  }
  for (auto each = found.begin(); each != found.end();) {
    std::vector<int>& ranks = each->second;
    std::sort(ranks.begin(), ranks.end());
    ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
    const auto replicaOf = [&](int rank) { return timeline.ranks.at(rank).dataParallelIndex; };
    const bool isOfOneReplica = std::all_of(ranks.begin(), ranks.end(), [&](int rank) {
      return replicaOf(rank) && replicaOf(rank) == replicaOf(ranks.front());
    });
    each = ranks.size() > 1 && isOfOneReplica ? std::next(each) : found.erase(each);
  }
  return found;
}

/// The job that a collective holds up: one after that which started it, if it is in that when it
/// ends.
Id heldUpBy(const JobGraph& graph, const JobGraph::Rank& rank, const Found& collective) {
  if (collective.end <= graph.node(collective.starter).end) return collective.starter;
  const auto first = graph.nodes().begin() + collective.starter;
  const auto next =
      std::partition_point(first, graph.nodes().begin() + rank.end,
                           [&](const JobGraph::Node& node) { return node.begin < collective.end; });
  const JobGraph::Node& job = *std::prev(next);
  const bool isHeld = isCompute(job.kind) && collective.end <= job.end;
  return isHeld ? static_cast<Id>(std::prev(next) - graph.nodes().begin()) : collective.starter;
}

std::vector<Found> collectivesOf(const Timeline& timeline, const JobGraph& graph,
                                 const JobGraph::Rank& rank, const Keys& keys,
                                 const Communicators& communicators) {
  std::vector<Found> found;
  const auto isOne = [](const Event& event) { return isCollective(event.kind) && event.job >= 0; };
  std::size_t most = 0;
  for (const Track& track : tracksOf(timeline, rank.number)) {
    most +=
        static_cast<std::size_t>(std::count_if(track.events.begin(), track.events.end(), isOne));
  }
  found.reserve(most);
  std::unordered_map<std::int64_t, Id> jobs;  // by Event::job
  for (const Track& track : tracksOf(timeline, rank.number)) {
    if (track.lane == kComputeLane || track.lane == kBubbleLane) continue;
    for (const Event& event : track.events) {
      if (!isOne(event)) continue;
      Found each{.begin = event.begin, .end = event.end, .kind = event.kind};
      bool isUntimed = false;
      for (const Argument& argument : timeline.argumentsOf(event)) {
        const bool isGroup =
            argument.key == keys.group && !isOfOneRank(timeline.strings[argument.text]);
        if (isGroup) each.group = argument.text;
        if (argument.key == keys.use) each.use = argument.text;
        if (argument.key == keys.partners) each.partners = argument.text;
        if (argument.key == keys.message) each.message = argument.text;
        if (argument.key == keys.sequence) each.sequence = argument.integer;
        if (argument.key == keys.bytes) each.bytes = argument.integer;
        if (argument.key == keys.sequenceThere) each.sequence = argument.integer;
        if (argument.key == keys.untimed) isUntimed = true;
        const bool isKnown = argument.key == keys.communicator &&
                             argument.type == ArgumentType::kText &&
                             communicators.contains(argument.text);
        if (isKnown) each.group = argument.text;
      }
      if (isUntimed) continue;
      if (each.group == 0) continue;
      if (jobs.empty()) {
        for (Id id = rank.first; id < rank.end; ++id) {
          if (isCompute(graph.node(id).kind)) jobs.emplace(graph.node(id).event->job, id);
        }
      }
      const auto job = jobs.find(event.job);
      if (job == jobs.end()) continue;
      each.job = job->second;
      found.push_back(each);
    }
  }
  const auto byJob = [](const Found& a, const Found& b) {
    return std::tie(a.job, a.begin, a.end, a.group, a.use, a.kind, a.message) <
           std::tie(b.job, b.begin, b.end, b.group, b.use, b.kind, b.message);
  };
  const auto sort = [&] {  // mostly they are in order
    if (!std::is_sorted(found.begin(), found.end(), byJob)) {
      std::sort(found.begin(), found.end(), byJob);
    }
  };
  sort();
  std::map<std::tuple<StringId, StringId, JobKind, StringId>, std::uint16_t> counts;
  for (std::size_t i = 0; i < found.size(); ++i) {
    Found& each = found[i];
    const bool isFirst = i == 0 || each.job != found[i - 1].starter;
    if (isFirst) counts.clear();
    each.place = isFirst ? std::uint16_t{0} : static_cast<std::uint16_t>(found[i - 1].place + 1);
    each.nth = counts[{each.group, each.use, each.kind, each.message}]++;
    each.starter = each.job;
    each.job = heldUpBy(graph, rank, each);
  }
  sort();
  return found;
}

/// When kernels of a rank computed, in order and apart. Empty: it has no device, or no kernels.
std::vector<Computed> computedOn(const Timeline& timeline, int rank) {
  std::vector<Computed> all;
  for (const Track& track : tracksOf(timeline, rank)) {
    const auto computes = [&](const Event& event) {
      return event.kind == JobKind::kKernel && !isCommunicationKernel(timeline.strings[event.name]);
    };
    if (std::none_of(track.events.begin(), track.events.end(), computes)) continue;
    for (const Event& event : track.events) {
      if (event.kind == JobKind::kCopy || computes(event)) all.emplace_back(event.begin, event.end);
    }
  }
  std::sort(all.begin(), all.end());
  std::size_t kept = 0;
  for (const Computed& each : all) {
    if (kept > 0 && each.first <= all[kept - 1].second) {
      all[kept - 1].second = std::max(all[kept - 1].second, each.second);
    } else {
      all[kept++] = each;
    }
  }
  all.resize(kept);
  return all;
}

/// Traces have begins and lengths in microseconds with three digits, or fewer.
constexpr Nanoseconds kRounding = kNsPerUs;

/// Clocks of hosts are not used where they are contradicted by one collective in this number.
constexpr std::int64_t kMostWrong = 50;

/// The job, the kind, the place: what is alike over steps, micro-batches and ranks.
using SegmentPlace = std::tuple<std::int32_t, JobKind, std::int16_t, std::uint16_t, bool>;

SegmentPlace placeOf(const JobGraph::Node& job, std::uint16_t place, bool isTail) {
  return {job.stage, job.kind, job.event->part, place, isTail};
}

}  // namespace

/// Makes all of it, on many ranks at once.
class InsideJobs::Builder {
 public:
  Builder(InsideJobs& inside, const Timeline& timeline, const JobGraph& graph, int threads)
      : inside_(inside), timeline_(timeline), graph_(graph), threads_(threads) {}

  void build() {
    const Keys keys(timeline_.strings);
    communicators_ = communicatorsOf(timeline_, keys);
    if (keys.group == Keys::kNone && communicators_.empty()) return;
    found_.resize(graph_.ranks().size());
    forRanks([&](std::size_t r) {
      found_[r] = collectivesOf(timeline_, graph_, graph_.ranks()[r], keys, communicators_);
    });
    join();
    if (inside_.meetings_.empty()) return;
    meet();
    inside_.parts_.resize(graph_.jobCount());
    hasDevice_.resize(graph_.ranks().size());
    heldOtherwise_.resize(graph_.ranks().size());
    forRanks([&](std::size_t r) { divideJobs(r); });
    inside_.late_.resize(graph_.jobCount());
    for (Id job = 0; job < graph_.jobCount(); ++job) {
      inside_.late_[job] = inside_.parts_[job].waiting;
      const auto [first, end] = inside_.meetingsOf(job);
      for (Id m = first; m < end; ++m) {
        inside_.late_[job] += inside_.meetings_[m].late() - inside_.meetings_[m].waitingInside;
      }
    }
    for (const auto& ofRank : heldOtherwise_) {
      for (const auto& [meeting, time] : ofRank) {
        if (time != 0) inside_.heldOtherwise_.emplace_back(meeting, time);
      }
    }
    findUsual();
  }

 private:
  template <typename Work>
  void forRanks(const Work& work) {
    inParallel(threads_, graph_.ranks().size(), work);
  }

  /// Puts the collectives of all ranks in one array, by job, numbers their sets, and lists the
  /// members of each group.
  void join() {
    using OfSet = std::tuple<StringId, StringId, JobKind, std::int64_t>;
    std::map<std::pair<OfSet, StringId>, std::uint32_t> sets;  // with the partners
    std::map<OfSet, std::uint32_t> whole;
    std::size_t count = 0;
    for (const std::vector<Found>& found : found_) count += found.size();
    inside_.meetings_.reserve(count);
    places_.reserve(count);
    firstOfRank_.push_back(0);
    for (std::vector<Found>& found : found_) {
      for (const Found& each : found) {
        const OfSet key{each.group, each.use, each.kind, each.bytes};
        const auto number = static_cast<std::uint32_t>(inside_.sets_.size());
        const auto [set, isNew] = sets.try_emplace({key, each.partners}, number);
        if (isNew) {
          Set& made = inside_.sets_.emplace_back();
          made.whole = whole.try_emplace(key, number).first->second;
          if (each.partners != 0) made.partners = numbersIn(timeline_.strings[each.partners]);
          std::sort(made.partners.begin(), made.partners.end());
          const auto communicator = communicators_.find(each.group);
          made.ranks = communicator == communicators_.end()
                           ? numbersIn(timeline_.strings[each.group])
                           : communicator->second;
          std::sort(made.ranks.begin(), made.ranks.end());
          made.kind = each.kind;
          made.bytes = each.bytes;
          made.axis = axisOf(each.use, made.ranks);
        }
        Group& group = groups_[{each.group, each.use, each.kind, each.message}];
        group.members.push_back(static_cast<Id>(inside_.meetings_.size()));
        group.areNumbered = group.areNumbered && each.sequence >= 0;
        places_.push_back({each.sequence, each.starter, each.nth});
        inside_.meetings_.push_back(
            {.begin = each.begin,
             .end = each.end,
             .job = each.job,
             .set = set->second,
             .place = each.place,
             .jobsSince = static_cast<std::uint8_t>(std::min<Id>(each.job - each.starter, 255))});
      }
      found = {};
      firstOfRank_.push_back(static_cast<Id>(inside_.meetings_.size()));
    }
    inside_.firstOf_.resize(graph_.jobCount() + 1);
    Id next = 0;
    for (Id job = 0; job <= graph_.jobCount(); ++job) {
      while (next < inside_.meetings_.size() && inside_.meetings_[next].job < job) ++next;
      inside_.firstOf_[job] = next;
    }
    for (const JobGraph::Rank& rank : graph_.ranks()) {
      const auto index = static_cast<std::uint32_t>(&rank - graph_.ranks().data());
      inside_.ranks_.push_back(rank.number);
      inside_.rankOf_.insert(inside_.rankOf_.end(), rank.end - rank.first, index);
    }
  }

  GroupAxis axisOf(StringId use, const std::vector<int>& ranks) const {
    for (const GroupAxis axis :
         {GroupAxis::kTensor, GroupAxis::kContext, GroupAxis::kExpert, GroupAxis::kData}) {
      if (use != 0 && timeline_.strings[use] == axisWords(axis)) return axis;
    }
    if (use != 0) return GroupAxis::kOther;
    const auto info = timeline_.ranks.find(ranks.front());
    if (info == timeline_.ranks.end()) return GroupAxis::kUnknown;
    for (const CommunicationGroup& group : info->second.groups) {
      std::vector<int> sorted = group.ranks;
      std::sort(sorted.begin(), sorted.end());
      if (sorted == ranks) return group.axis;
    }
    return GroupAxis::kUnknown;
  }

  /// What members of one collective have in common: by its number in the group where all have one,
  /// else by its place in jobs that are alike.
  using Key = std::tuple<std::int64_t, std::int64_t, std::int64_t, std::int64_t>;

  /// Where a collective was started.
  struct Place {
    std::int64_t sequence = -1;
    Id starter = kNone;
    std::uint16_t nth = 0;
  };

  Key keyOf(const Place& each, bool bySequence) const {
    if (bySequence) return {each.sequence, 0, 0, 0};
    const JobGraph::Node& job = graph_.node(each.starter);
    return {job.step, job.microBatch,
            (std::int64_t{job.stage} << 32) + static_cast<std::int64_t>(job.kind),
            (std::int64_t{job.event->part} << 32) + each.nth};
  }

  /// Collectives of the same ranks, use and kind. Sizes may differ between members.
  struct Group {
    std::vector<Id> members;  // of all ranks
    bool areNumbered = true;  // each has a number
  };

  /// Finds who met whom, and how long each waited.
  void meet() {
    struct Member {
      Key key;
      std::uint32_t rank = 0;
      Id meeting = 0;
      auto operator<=>(const Member&) const = default;
    };
    inside_.instanceOf_.resize(inside_.meetings_.size());
    std::map<std::pair<StringId, StringId>, bool> bySequence;  // of all kinds
    std::vector<std::pair<Group*, bool>> groups;
    std::vector<std::uint32_t> firstInstance;
    std::uint32_t instances = 0;
    for (const auto& [key, group] : groups_) {
      const auto [ranks, use, kind, message] = key;
      const auto known = bySequence.try_emplace({ranks, use}, true).first;
      known->second = known->second && group.areNumbered;
    }
    for (auto& [key, group] : groups_) {
      const auto [ranks, use, kind, message] = key;
      groups.emplace_back(&group, bySequence.at({ranks, use}));
      firstInstance.push_back(instances);
      instances += static_cast<std::uint32_t>(group.members.size());
    }
    inParallel(threads_, groups.size(), [&](std::size_t g) {
      std::vector<Member> list;
      list.reserve(groups[g].first->members.size());
      for (const Id meeting : groups[g].first->members) {
        list.push_back({keyOf(places_[meeting], groups[g].second), rankOf(meeting), meeting});
      }
      groups[g].first->members = {};
      std::sort(list.begin(), list.end());
      std::vector<Id> members;
      const auto visit = [&](const auto& use) {
        std::uint32_t instance = firstInstance[g];
        for (std::size_t i = 0; i < list.size(); ++instance) {
          members.clear();
          const Key key = list[i].key;
          for (; i < list.size() && list[i].key == key; ++i) {
            inside_.instanceOf_[list[i].meeting] = instance;
            // A rank comes to a collective once; others of its number are apart.
            const bool isAgain = !members.empty() && rankOf(members.back()) == list[i].rank;
            if (!isAgain) members.push_back(list[i].meeting);
          }
          use();
        }
      };
      std::int64_t all = 0;
      std::int64_t wrong = 0;
      bool onOneClock = true;
      visit([&] {
        ++all;
        wrong += contradicts(members) ? 1 : 0;
        onOneClock = onOneClock && areOnOneClock(members);
      });
      const bool isAllToAll =
          inside_.setOf(inside_.meetings_[list.front().meeting]).kind == JobKind::kAllToAll;
      const bool byBegins = onOneClock || (isAllToAll && kMostWrong * wrong < all);
      visit([&] { findWaits(members, byBegins); });
    });
    groups_.clear();
    places_ = {};
    findWaitsForMissing();
  }

  std::uint32_t rankOf(Id meeting) const { return inside_.rankOf_[inside_.meetings_[meeting].job]; }

  /// Members of one collective. A rank of a ring waits for its neighbours only.
  bool waitsFor(Id one, Id other) const { return inside_.waitsFor(one, other); }
  bool waitsForAll(const std::vector<Id>& members) const {
    return std::all_of(members.begin(), members.end(),
                       [&](Id m) { return inside_.setOf(inside_.meetings_[m]).partners.empty(); });
  }

  bool areOnOneClock(const std::vector<Id>& members) const {
    const auto clockOf = [&](Id m) { return graph_.ranks()[rankOf(m)].clock; };
    return std::all_of(members.begin(), members.end(),
                       [&](Id m) { return clockOf(m) == clockOf(members.front()); });
  }

  /// Whether a member ends before the last one begins, which no clock that is right shows.
  bool contradicts(const std::vector<Id>& members) const {
    if (!waitsForAll(members)) {
      return std::any_of(members.begin(), members.end(), [&](Id one) {
        return std::any_of(members.begin(), members.end(), [&](Id other) {
          return waitsFor(one, other) &&
                 inside_.meetings_[other].begin > inside_.meetings_[one].end;
        });
      });
    }
    Nanoseconds begin = kNsMin;
    Nanoseconds end = kNsMax;
    for (const Id m : members) {
      begin = std::max(begin, inside_.meetings_[m].begin);
      end = std::min(end, inside_.meetings_[m].end);
    }
    return begin > end;
  }

  /// `byBegins`: the begins of members say who came when; else their lengths do, as they end
  /// together.
  void findWaits(const std::vector<Id>& members, bool byBegins) {
    std::vector<Meeting>& all = inside_.meetings_;
    const auto comesAfter = [&](Id a, Id b) {
      return byBegins ? all[a].begin > all[b].begin
                      : all[a].end - all[a].begin < all[b].end - all[b].begin;
    };
    const bool forAll = waitsForAll(members);
    const auto shortest = *std::min_element(members.begin(), members.end(), [&](Id a, Id b) {
      return all[a].end - all[a].begin < all[b].end - all[b].begin;
    });
    Id lastOfAll = members.front();
    for (const Id each : members) {
      if (comesAfter(each, lastOfAll)) lastOfAll = each;
    }
    for (const Id each : members) {
      Id last = lastOfAll;
      if (!forAll) {  // of those that it waits for; by lengths it may be longer than this one
        last = byBegins ? each : kNone;
        for (const Id other : members) {
          if (waitsFor(each, other) && (last == kNone || comesAfter(other, last))) last = other;
        }
      }
      if (last == each || last == kNone) continue;
      Meeting& meeting = all[each];
      const Nanoseconds length = meeting.end - meeting.begin;
      const Nanoseconds waiting = byBegins ? all[last].begin - meeting.begin
                                           : length - (all[shortest].end - all[shortest].begin);
      meeting.waiting = std::clamp<Nanoseconds>(waiting, 0, length);
      if (meeting.waiting > 0) meeting.last = last;
    }
  }

  /// Where members have no trace, all may have waited for one of them: a collective takes no longer
  /// by itself than the shortest of its kind and size.
  void findWaitsForMissing() {
    std::map<std::tuple<JobKind, std::int64_t, std::size_t>, Nanoseconds> shortest;
    std::vector<char> lacks(inside_.sets_.size());
    const auto keyOfSet = [&](const Set& set) {
      return std::tuple(set.kind, set.bytes, set.ranks.size());
    };
    for (std::size_t s = 0; s < lacks.size(); ++s) {
      const Set& set = inside_.sets_[s];
      const std::vector<int>& ranks = set.partners.empty() ? set.ranks : set.partners;
      lacks[s] = std::any_of(ranks.begin(), ranks.end(), [&](int rank) {
        return std::none_of(graph_.ranks().begin(), graph_.ranks().end(),
                            [&](const JobGraph::Rank& r) { return r.number == rank; });
      });
    }
    if (std::none_of(lacks.begin(), lacks.end(), [](char l) { return l != 0; })) return;
    for (const Meeting& each : inside_.meetings_) {
      const auto [least, isNew] = shortest.try_emplace(keyOfSet(inside_.setOf(each)), kNsMax);
      least->second = std::min(least->second, each.end - each.begin - each.waiting);
    }
    for (Meeting& each : inside_.meetings_) {
      if (lacks[each.set] == 0) continue;
      const Nanoseconds least = shortest.at(keyOfSet(inside_.setOf(each)));
      const Nanoseconds more = each.end - each.begin - each.waiting - least;
      if (more <= std::max<Nanoseconds>(kNsPerUs * 20, least / 4)) continue;
      each.waiting += more;
      each.last = kNone;
      each.lacksLast = true;
    }
  }

  /// Divides the jobs of a rank into their parts.
  void divideJobs(std::size_t r) {
    const JobGraph::Rank& rank = graph_.ranks()[r];
    const std::vector<Computed> computed = computedOn(timeline_, rank.number);
    hasDevice_[r] = computed.empty() ? 0 : 1;
    const Id first = firstOfRank_[r];
    std::vector<Id> order(firstOfRank_[r + 1] - first);
    for (Id i = 0; i < order.size(); ++i) order[i] = first + i;
    std::vector<Meeting>& all = inside_.meetings_;
    std::stable_sort(order.begin(), order.end(),
                     [&](Id a, Id b) { return all[a].begin < all[b].begin; });
    std::size_t next = 0;     // in order: what has not begun yet
    std::vector<Id> running;  // those that may reach into what comes
    std::size_t atComputed = 0;
    for (Id job = rank.first; job < rank.end; ++job) {
      const JobGraph::Node& node = graph_.node(job);
      if (!isCompute(node.kind)) continue;
      while (next < order.size() && all[order[next]].begin < node.end) {
        running.push_back(order[next++]);
      }
      std::erase_if(running, [&](Id m) { return all[m].end <= node.begin; });
      while (atComputed < computed.size() && computed[atComputed].second <= node.begin)
        ++atComputed;
      divide(job, running, std::span(computed).subspan(atComputed), !computed.empty(),
             heldOtherwise_[r]);
    }
  }

  /// `running`: all of the rank that run during the job. `computed`: from the first that may.
  void divide(Id job, const std::vector<Id>& running, std::span<const Computed> computed,
              bool hasDevice, std::map<Id, Nanoseconds>& heldOtherwise) {
    const JobGraph::Node& node = graph_.node(job);
    Parts& parts = inside_.parts_[job];
    std::vector<Meeting>& all = inside_.meetings_;
    const auto [firstOwn, endOwn] = inside_.meetingsOf(job);
    // The times between which nothing changes.
    std::vector<Nanoseconds>& cuts = cutsOfThread();
    cuts.assign({node.begin, node.end});
    const auto cut = [&](Nanoseconds time) {
      if (node.begin < time && time < node.end) cuts.push_back(time);
    };
    std::size_t endComputed = 0;
    while (endComputed < computed.size() && computed[endComputed].first < node.end) {
      cut(computed[endComputed].first);
      cut(computed[endComputed++].second);
    }
    for (const Id m : running) {
      cut(all[m].begin);
      cut(all[m].begin + all[m].waiting);
      cut(all[m].end);
    }
    std::sort(cuts.begin(), cuts.end());
    std::size_t atComputed = 0;
    Id ownNext = firstOwn;
    Nanoseconds ownSince = 0;  // own and launch-bound time since the last of its meetings
    for (std::size_t i = 0; i + 1 < cuts.size(); ++i) {
      const Nanoseconds from = cuts[i];
      const Nanoseconds length = cuts[i + 1] - from;
      while (ownNext < endOwn && all[ownNext].begin <= from) {
        all[ownNext++].segment = std::exchange(ownSince, 0);
      }
      if (length == 0) continue;
      while (atComputed < endComputed && computed[atComputed].second <= from) ++atComputed;
      const bool computes = atComputed < endComputed && computed[atComputed].first <= from;
      Id held = kNone;
      if (!computes) {
        std::size_t after = atComputed;
        while (after < endComputed && computed[after].first <= from) ++after;
        const Nanoseconds goesOn = after < endComputed ? computed[after].first : node.end;
        for (const Id m : running) {
          if (all[m].begin > from || all[m].end <= from) continue;
          // Work goes on while a sum of gradients still runs: that held up nothing.
          const bool isReducing = isReduction(inside_.setOf(all[m]).kind);
          if (isReducing && all[m].end > goesOn + kRounding) continue;
          const bool endsLater = held == kNone || all[m].end > all[held].end ||
                                 (all[m].end == all[held].end && comesFirst(m, held));
          if (endsLater) held = m;
        }
        if (held != kNone && all[held].end > goesOn + kRounding) {
          Id other = kNone;
          for (const Id m : running) {
            if (all[m].begin > from || all[m].end <= from || all[m].end > goesOn + kRounding) {
              continue;
            }
            if (other == kNone || all[m].end > all[other].end) other = m;
          }
          heldOtherwise[held] -= length;
          if (other != kNone) heldOtherwise[other] += length;
        }
      }
      if (held == kNone) {
        (computes || !hasDevice ? parts.own : parts.launchBound) += length;
        ownSince += length;
      } else if (from < all[held].begin + all[held].waiting) {
        parts.waiting += length;
        all[held].waitingInside += length;
      } else {
        parts.moving += length;
        all[held].movingInside += length;
      }
    }
    while (ownNext < endOwn) all[ownNext++].segment = std::exchange(ownSince, 0);
  }

  /// Of two that end together: that of the group with the lower rank.
  bool comesFirst(Id a, Id b) const {
    const Set& x = inside_.setOf(inside_.meetings_[a]);
    const Set& y = inside_.setOf(inside_.meetings_[b]);
    return x.ranks != y.ranks ? x.ranks < y.ranks : a < b;
  }

  static std::vector<Nanoseconds>& cutsOfThread() {
    static thread_local std::vector<Nanoseconds> cuts;
    return cuts;
  }

  /// How long the segments of each place usually are: a rank has the median of its own, and a place
  /// the lower median of ranks, as jobs have (MedianDurations).
  void findUsual() {
    const std::size_t ranks = graph_.ranks().size();
    using Lengths = std::vector<Nanoseconds>;
    std::vector<std::map<SegmentPlace, std::pair<Lengths, Lengths>>> ofRanks(ranks);
    const auto visit = [&](std::size_t r, const auto& use) {
      const JobGraph::Rank& rank = graph_.ranks()[r];
      for (Id job = rank.first; job < rank.end; ++job) {
        const JobGraph::Node& node = graph_.node(job);
        const auto [first, end] = inside_.meetingsOf(job);
        if (first == end) continue;
        for (Id m = first; m < end; ++m) {
          const Meeting& each = inside_.meetings_[m];
          use(placeOf(node, each.place, false), each.segment, movingOf(each), inside_.usualOf_[m]);
        }
        const auto meetings = static_cast<std::uint16_t>(end - first);
        use(placeOf(node, meetings, true), inside_.tailOf(job), Nanoseconds{0},
            inside_.usualTailOf_[job]);
      }
    };
    inside_.usualOf_.resize(inside_.meetings_.size());
    inside_.usualTailOf_.resize(graph_.jobCount());
    forRanks([&](std::size_t r) {
      visit(r,
            [&](const SegmentPlace& place, Nanoseconds length, Nanoseconds moving, std::uint32_t&) {
              auto& [segments, moves] = ofRanks[r][place];
              segments.push_back(length);
              moves.push_back(moving);
            });
    });
    std::map<SegmentPlace, std::pair<Lengths, Lengths>> medians;
    for (auto& ofRank : ofRanks) {
      for (auto& [place, lengths] : ofRank) {
        medians[place].first.push_back(medianOf(lengths.first));
        medians[place].second.push_back(medianOf(lengths.second));
      }
      ofRank = {};
    }
    std::map<SegmentPlace, std::uint32_t> numbers;
    for (auto& [place, ofPlace] : medians) {
      numbers[place] = static_cast<std::uint32_t>(inside_.usual_.size());
      inside_.usual_.push_back(lowerMedianOf(ofPlace.first));
      inside_.usualMoving_.push_back(lowerMedianOf(ofPlace.second));
    }
    forRanks([&](std::size_t r) {
      visit(r, [&](const SegmentPlace& place, Nanoseconds, Nanoseconds, std::uint32_t& number) {
        number = numbers.at(place);
      });
    });
    std::vector<std::vector<Nanoseconds>> moving(inside_.sets_.size());
    for (const Meeting& each : inside_.meetings_) {
      // Without a device only the time is known for which a thread waited.
      if (hasDevice_[inside_.rankOf_[each.job]] == 0) continue;
      const std::uint32_t whole = inside_.setOf(each).whole;
      moving[whole].push_back(each.end - each.begin - each.waiting);
    }
    for (std::size_t s = 0; s < moving.size(); ++s) {
      Set& set = inside_.sets_[s];
      set.moving = set.whole == s ? medianOf(moving[s]) : inside_.sets_[set.whole].moving;
    }
  }

  InsideJobs& inside_;
  const Timeline& timeline_;
  const JobGraph& graph_;
  int threads_;
  Communicators communicators_;
  std::vector<std::vector<Found>> found_;  // by rank, until they are joined
  std::vector<Place> places_;              // of meetings, until they have met
  // By ranks, use, kind and message.
  std::map<std::tuple<StringId, StringId, JobKind, StringId>, Group> groups_;
  std::vector<Id> firstOfRank_;                           // of meetings, and the end
  std::vector<char> hasDevice_;                           // by rank
  std::vector<std::map<Id, Nanoseconds>> heldOtherwise_;  // by rank
};

InsideJobs::InsideJobs(const Timeline& timeline, const JobGraph& graph, int threads) {
  Builder(*this, timeline, graph, threads).build();
}

Nanoseconds InsideJobs::heldBy(Id meeting) const {
  const Nanoseconds inside = meetings_[meeting].waitingInside + meetings_[meeting].movingInside;
  const auto found = std::lower_bound(heldOtherwise_.begin(), heldOtherwise_.end(), meeting,
                                      [](const auto& each, Id m) { return each.first < m; });
  const bool isOther = found != heldOtherwise_.end() && found->first == meeting;
  return isOther ? inside + found->second : inside;
}

Nanoseconds InsideJobs::tailOf(Id job) const {
  const auto [first, end] = meetingsOf(job);
  Nanoseconds tail = partsOf(job).own + partsOf(job).launchBound;
  for (Id m = first; m < end; ++m) tail -= meetings_[m].segment;
  return tail;
}

Nanoseconds InsideJobs::usualTail(Id job) const { return usual_[usualTailOf_[job]]; }

bool InsideJobs::hasChain(Id job) const {
  const auto [first, end] = meetingsOf(job);
  for (Id m = first; m < end; ++m) {
    if (meetings_[m].late() > 0) return true;
  }
  return false;
}

InsideJobs::Chain InsideJobs::chain(Id job) const {
  constexpr int kMostJumps = 4096;  // clocks that contradict each other may lead in circles
  Chain chain{.entry = job};
  Id at = job;
  Id next = meetingsOf(job).second;  // the way back goes on before this one
  Nanoseconds excess = meetingsOf(job).first == next ? 0 : tailOf(job) - usualTail(job);
  for (int jumps = 0; jumps < kMostJumps; ++jumps) {
    const Id first = meetingsOf(at).first;
    while (next > first && meetings_[next - 1].late() == 0) {
      --next;
      excess += meetings_[next].segment - usualSegment(next) + movingExcess(next);
    }
    if (next == first) break;
    const Meeting& wait = meetings_[next - 1];
    excess += movingExcess(next - 1);
    if (excess > 0) chain.links.push_back({at, excess});
    if (wait.last == kNone) {
      chain.entry = kNone;
      return chain;
    }
    next = wait.last;
    at = meetings_[next].job;
    excess = meetings_[next].segment - usualSegment(next);
  }
  if (excess > 0) chain.links.push_back({at, excess});
  chain.entry = at;
  return chain;
}

double InsideJobs::busiest(const std::vector<int>& ranks) const {
  struct Segments {
    double longest = 0;
    double sum = 0;
    double count = 0;
  };
  std::unordered_map<std::uint32_t, Segments> collectives;
  for (Id m = 0; m < meetings_.size(); ++m) {
    if (setOf(meetings_[m]).ranks != ranks) continue;
    Segments& segments = collectives[instanceOf_[m]];
    const auto length = static_cast<double>(meetings_[m].segment);
    segments.longest = std::max(segments.longest, length);
    segments.sum += length;
    ++segments.count;
  }
  double factors = 0;
  double count = 0;
  for (const auto& [instance, segments] : collectives) {
    if (segments.sum <= 0) continue;
    factors += segments.longest * segments.count / segments.sum;
    ++count;
  }
  return count > 0 ? factors / count : 1;
}

bool InsideJobs::waitsFor(Id one, Id other) const {
  const std::vector<int>& partners = setOf(meetings_[one]).partners;
  return partners.empty() ? one != other
                          : std::binary_search(partners.begin(), partners.end(),
                                               ranks_[rankOf_[meetings_[other].job]]);
}

/// Whether a collective put a rank on a line with another one: both ended it when the same member
/// had come.
bool InsideJobs::hadMet(const Meeting& collective, int rank) const {
  const auto isIn = [&](const std::vector<int>& ranks) {
    return std::binary_search(ranks.begin(), ranks.end(), rank);
  };
  const Set& set = setOf(collective);
  if (set.partners.empty()) return isIn(set.ranks);
  if (!isIn(set.partners)) return false;
  if (collective.last == kNone) return true;
  const Meeting& last = meetings_[collective.last];
  return ranks_[rankOf_[last.job]] == rank || isIn(setOf(last).partners);
}

InsideJobs::Chain InsideJobs::chainOf(const Meeting& wait) const {
  constexpr int kMostJumps = 256;
  Chain chain;
  if (wait.last == kNone) return chain;
  const std::uint32_t own = rankOf_[wait.job];
  const int number = ranks_[own];
  Id next = wait.last;
  for (int jumps = 0; jumps < kMostJumps; ++jumps) {
    const Id at = meetings_[next].job;
    const Id first = meetingsOf(at).first;
    Nanoseconds excess = meetings_[next].segment - usualSegment(next);
    Id binding = kNone;
    while (next > first && binding == kNone) {
      const Meeting& before = meetings_[--next];
      if (hadMet(before, number)) {
        if (excess > 0) chain.links.push_back({at, excess});
        return chain;  // both had met there
      }
      if (before.late() > 0 && before.last != kNone) {
        binding = before.last;
      } else {
        excess += before.segment - usualSegment(next);
      }
    }
    if (excess > 0) chain.links.push_back({at, excess});
    if (binding == kNone) {
      chain.entry = at;
      return chain;
    }
    next = binding;
  }
  return chain;
}

}  // namespace pipetrace
