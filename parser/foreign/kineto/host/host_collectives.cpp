#include "parser/foreign/kineto/host/host_collectives.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "parser/device_time/communication.h"
#include "trace/event_arguments.h"

namespace pipetrace {
namespace {

/// An operator that posts a collective, and how Gloo annotates that it runs.
struct PostRow {
  std::string_view name;
  JobKind kind;
  std::string_view run;
};

constexpr std::string_view kAllReduceRun = "gloo:all_reduce";
constexpr std::string_view kAllGatherRun = "gloo:all_gather";
constexpr std::string_view kAllToAllRun = "gloo:all_to_all";
constexpr std::string_view kBroadcastRun = "gloo:broadcast";

/// Gloo of torch 2.11 reduces before it scatters: it runs an all-reduce of each tensor.
constexpr PostRow kPosts[] = {
    {"c10d::allreduce_", JobKind::kAllReduce, kAllReduceRun},
    {"c10d::allreduce_coalesced_", JobKind::kAllReduce, kAllReduceRun},
    {"c10d::allgather_", JobKind::kAllGather, kAllGatherRun},
    {"c10d::_allgather_base_", JobKind::kAllGather, kAllGatherRun},
    {"c10d::allgather_coalesced_", JobKind::kAllGather, kAllGatherRun},
    {"c10d::allgather_into_tensor_coalesced_", JobKind::kAllGather, kAllGatherRun},
    {"c10d::reduce_scatter_", JobKind::kReduceScatter, kAllReduceRun},
    {"c10d::_reduce_scatter_base_", JobKind::kReduceScatter, kAllReduceRun},
    {"c10d::reduce_scatter_tensor_coalesced_", JobKind::kReduceScatter, kAllReduceRun},
    {"c10d::alltoall_", JobKind::kAllToAll, kAllToAllRun},
    {"c10d::alltoall_base_", JobKind::kAllToAll, kAllToAllRun},
    {"c10d::broadcast_", JobKind::kBroadcast, kBroadcastRun},
    {"c10d::reduce_", JobKind::kOther, "gloo:reduce"},
    {"c10d::gather_", JobKind::kOther, "gloo:gather"},
    {"c10d::scatter_", JobKind::kOther, "gloo:scatter"},
    {"c10d::barrier", JobKind::kOther, "gloo:barrier"},
};

const PostRow* postOf(std::string_view name) {
  const auto* const row = std::find_if(std::begin(kPosts), std::end(kPosts),
                                       [&](const PostRow& each) { return each.name == name; });
  return row == std::end(kPosts) ? nullptr : row;
}

JobKind kindOfRun(std::string_view run) {
  if (run == kAllReduceRun || run == "gloo:sparse_all_reduce") return JobKind::kAllReduce;
  if (run == kAllToAllRun) return JobKind::kAllToAll;
  if (run == kBroadcastRun) return JobKind::kBroadcast;
  return run == kAllGatherRun ? JobKind::kAllGather : JobKind::kOther;
}

constexpr std::string_view kCall = "record_param_comms";

/// An idle thread of Gloo begins a collective within 0.2 ms after it was posted, and later where
/// other processes keep the processor.
constexpr Nanoseconds kPickUp = 10 * kNsPerMs;

/// How soon a thread goes on when what it waited for is over: within 0.2 ms, but nine in ten within
/// 1.6 ms and 99 in a hundred within 5 ms where four ranks share two processors.
constexpr Nanoseconds kResume = 5 * kNsPerMs;
constexpr Nanoseconds kAtOnce = kNsPerMs;

/// Between two operators Python takes less.
constexpr Nanoseconds kLeastSilence = kNsPerMs / 10;

/// "4 5 6 7".
std::string textOfRanks(const std::vector<int>& ranks) {
  std::string text;
  for (const int rank : ranks) {
    if (!text.empty()) text += ' ';
    text += std::to_string(rank);
  }
  return text;
}

/// The ranks of the only group of ranks that share a stage; empty if there is none or several.
std::string groupOfStage(const KinetoInfo& info) {
  const auto sorted = [](std::vector<int> ranks) {
    std::sort(ranks.begin(), ranks.end());
    return ranks;
  };
  std::set<std::vector<int>> named;  // groups of one axis
  std::set<std::vector<int>> others;
  for (const CommunicationGroup& group : info.groups) {
    const std::size_t size = group.ranks.size();
    const auto world = static_cast<std::size_t>(info.worldSize.value_or(0));
    if (size < 2 || (world > 0 && size >= world)) continue;
    if (group.axis == GroupAxis::kPipeline) continue;
    const bool isNamed = group.axis != GroupAxis::kUnknown && group.axis != GroupAxis::kOther;
    (isNamed ? named : others).insert(sorted(group.ranks));
  }
  const std::set<std::vector<int>>& found = named.empty() ? others : named;
  return found.size() == 1 ? textOfRanks(*found.begin()) : std::string();
}

}  // namespace

/// A collective as a thread of the group ran it.
struct HostCollectives::Run {
  StringId name = 0;
  HostSpan span;
};

/// The collectives as threads posted them, each with its row.
struct HostCollectives::Posts {
  std::vector<std::pair<Collective, const PostRow*>> list;
};

/// When a thread did not show that it did anything.
class HostCollectives::Silences {
 public:
  Silences(const std::vector<Event>& events, std::span<const HostSpan> jobs,
           const KinetoWords& words)
      : events_(events), words_(words) {
    for (const Event& event : events) {
      const KinetoCategory category = words.categoryOf(event);
      if (category == KinetoCategory::kOperator || category == KinetoCategory::kAnnotation) {
        add({event.begin, event.end});
        if (words.isTensorWait(event)) tensorWaits_.push_back({event.begin, event.end});
      }
    }
    for (const HostSpan& job : jobs) add(job);
    std::sort(times_.begin(), times_.end());
  }

  /// The silence at a time: from kNsMin where nothing came before, to kNsMax where nothing follows.
  HostSpan at(Nanoseconds time) const {
    const auto next = std::upper_bound(times_.begin(), times_.end(), time);
    return {next == times_.begin() ? kNsMin : *std::prev(next),
            next == times_.end() ? kNsMax : *next};
  }

  /// The innermost operator at a time.
  struct Operator {
    const Event* event = nullptr;  ///< null: there is none
    bool holdsAnnotation = false;  ///< an annotation inside of it is open
  };
  /// `time`: not before that of the call before.
  Operator operatorAt(Nanoseconds time) {
    for (; next_ < events_.size() && events_[next_].begin <= time; ++next_) {
      const Event& event = events_[next_];
      const KinetoCategory category = words_.categoryOf(event);
      if (category != KinetoCategory::kOperator && category != KinetoCategory::kAnnotation)
        continue;
      if (words_.isReceive(event) || words_.isSend(event)) continue;  // they end after others
      closeBy(event.begin);
      open_.push_back({&event, category == KinetoCategory::kOperator});
    }
    closeBy(time);
    Operator found;
    for (std::size_t i = open_.size(); i-- > 0;) {
      const Open& each = open_[i];
      if (each.event->end <= time) continue;
      if (each.isOperator) {
        found.event = each.event;
        return found;
      }
      found.holdsAnnotation = true;
    }
    return {};
  }

  /// The operators that waited for tensors of collectives, by begin.
  const std::vector<HostSpan>& tensorWaits() const { return tensorWaits_; }

 private:
  struct Open {
    const Event* event;
    bool isOperator;
  };

  void add(const HostSpan& span) {
    times_.push_back(span.begin);
    times_.push_back(span.end);
  }
  void closeBy(Nanoseconds time) {
    while (!open_.empty() && open_.back().event->end <= time) open_.pop_back();
  }

  const std::vector<Event>& events_;
  const KinetoWords& words_;
  std::vector<Nanoseconds> times_;  // at which an operator or annotation begins or ends
  std::vector<HostSpan> tensorWaits_;
  std::size_t next_ = 0;
  std::vector<Open> open_;  // the innermost last
};

HostCollectives::HostCollectives(std::span<ForeignTrace::Lane* const> threads,
                                 const KinetoWords& words, Timeline& timeline,
                                 const KinetoInfo& info)
    : threads_(threads), words_(words), timeline_(timeline), info_(info) {
  Posts posts;
  std::vector<Run> runs;
  for (std::uint32_t t = 0; t < threads.size(); ++t) {
    readThread(t, threads[t]->thread->events, posts, runs);
  }
  if (runs.empty() && info.backend != "gloo") return;
  join(posts, runs);
  onlyGroup_ = groupOfStage(info);
}

void HostCollectives::readThread(std::uint32_t thread, const std::vector<Event>& events,
                                 Posts& posts, std::vector<Run>& runs) const {
  const std::size_t first = posts.list.size();
  Nanoseconds tensorPostEnd = kNsMin;
  for (const Event& event : events) {
    if (words_.isCollectiveRun(event)) {
      if (words_.categoryOf(event) != KinetoCategory::kAnnotation) continue;
      runs.push_back({event.name, {event.begin, event.end}});
    } else if (words_.isTensorPost(event)) {
      tensorPostEnd = std::max(tensorPostEnd, event.end);
    } else if (words_.isOfProcessGroup(event)) {
      Collective* const latest = posts.list.size() > first ? &posts.list.back().first : nullptr;
      const bool isInside = latest != nullptr && event.begin < latest->post.end;
      const std::string_view name = timeline_.strings[event.name];
      if (isInside && name == kCall) readCall(event, *latest);
      const PostRow* const row = isInside ? nullptr : postOf(name);
      if (row == nullptr) continue;
      Collective& posted = posts.list.emplace_back(Collective{}, row).first;
      posted.kind = row->kind;
      posted.name = event.name;
      posted.thread = thread;
      posted.post = {event.begin, event.end};
      posted.hasTensor = event.begin < tensorPostEnd;
    }
  }
}

/// Reads the arguments of `record_param_comms` inside the operator that posted a collective.
void HostCollectives::readCall(const Event& call, Collective& collective) const {
  std::int64_t elements = 0;
  std::string_view type;
  std::string_view ranks;
  std::string_view groupName;
  for (const Argument& argument : timeline_.argumentsOf(call)) {
    const std::string_view key = timeline_.strings[argument.key];
    if (argument.type == ArgumentType::kText) {
      const std::string_view text = timeline_.strings[argument.text];
      if (key == "dtype") type = text;
      if (key == "Process Group Ranks") ranks = text;
      if (key == "Process Group Name") groupName = text;
    } else if (argument.type == ArgumentType::kInteger) {
      if (key == "Seq") collective.sequence = argument.integer;
      if (key == "In msg nelems" || key == "Out msg nelems") {
        elements = std::max(elements, argument.integer);
      }
    }
  }
  collective.bytes = elements * bytesOfElement(type);
  std::vector<int> group;
  if (ranks.find("...") == std::string_view::npos) {
    for (const std::int64_t rank : numbersInList(ranks)) group.push_back(static_cast<int>(rank));
  } else if (const auto known = info_.ranksOfGroups.find(groupName);
             known != info_.ranksOfGroups.end()) {
    group = known->second;
  }
  std::sort(group.begin(), group.end());
  collective.group = textOfRanks(group);
}

/// Gives the posts their runs.
void HostCollectives::join(Posts& posts, std::vector<Run>& runs) {
  std::stable_sort(runs.begin(), runs.end(),
                   [](const Run& a, const Run& b) { return a.span.begin < b.span.begin; });
  std::stable_sort(posts.list.begin(), posts.list.end(), [](const auto& a, const auto& b) {
    return a.first.post.begin < b.first.post.begin;
  });
  std::vector<std::size_t> waiting;        // posts without a run so far
  std::map<StringId, std::size_t> latest;  // by name of the run: the post of the latest one
  std::vector<Collective> alone;
  Nanoseconds idleSince = kNsMin;
  std::size_t next = 0;
  for (const Run& run : runs) {
    const std::string_view name = timeline_.strings[run.name];
    for (; next < posts.list.size() && posts.list[next].first.post.begin <= run.span.begin;
         ++next) {
      // No thread of the group was busy, so what was posted long before has no annotation.
      const Nanoseconds posted = posts.list[next].first.post.begin;
      if (idleSince < posted) {
        std::erase_if(waiting, [&](std::size_t i) {
          return posts.list[i].first.post.end < posted - kPickUp;
        });
      }
      waiting.push_back(next);
    }
    idleSince = std::max(idleSince, run.span.end);
    const auto post = std::find_if(waiting.begin(), waiting.end(), [&](std::size_t i) {
      return posts.list[i].second->run == name;
    });
    if (post != waiting.end()) {
      Collective& collective = posts.list[*post].first;
      collective.hasRun = true;
      collective.run = run.span;
      if (collective.kind != JobKind::kReduceScatter) collective.name = run.name;
      latest[run.name] = *post;
      waiting.erase(post);
      continue;
    }
    // Several tensors of one collective run one by one.
    if (const auto before = latest.find(run.name); before != latest.end()) {
      Collective& collective = posts.list[before->second].first;
      if (run.span.begin <= std::max(collective.run.end, collective.post.end) + kPickUp) {
        collective.run.end = std::max(collective.run.end, run.span.end);
        continue;
      }
    }
    Collective& collective = alone.emplace_back();
    collective.kind = kindOfRun(name);
    collective.name = run.name;
    collective.post = {run.span.begin, run.span.begin};
    collective.run = run.span;
    collective.hasRun = true;
  }
  for (auto& [collective, row] : posts.list) collectives_.push_back(std::move(collective));
  collectives_.insert(collectives_.end(), alone.begin(), alone.end());
}

std::vector<CollectiveWait> HostCollectives::waitsOf(std::uint32_t thread,
                                                     std::span<const HostSpan> jobs) const {
  std::vector<CollectiveWait> waits;
  if (collectives_.empty()) return waits;
  Silences silences(threads_[thread]->thread->events, jobs, words_);
  std::vector<std::size_t> byEnd;
  for (std::size_t i = 0; i < collectives_.size(); ++i) {
    const Collective& each = collectives_[i];
    if (each.hasRun && (each.thread == Collective::kNoThread || each.thread == thread)) {
      byEnd.push_back(i);
    }
  }
  std::stable_sort(byEnd.begin(), byEnd.end(), [&](std::size_t a, std::size_t b) {
    return collectives_[a].run.end < collectives_[b].run.end;
  });
  const auto isWaitedFor = [&](const Collective& each, const HostSpan& silence) {
    const Silences::Operator within = silences.operatorAt(each.run.end);
    const bool isInside = within.event != nullptr;
    if (isInside && words_.isTensorWait(*within.event)) return true;
    if (isInside &&
        (words_.isTensorPost(*within.event) || words_.isOfProcessGroup(*within.event))) {
      return false;
    }
    const Nanoseconds resumed = silence.end - each.run.end;
    const bool isRightAfter = silence.begin == each.post.end;
    if (isRightAfter || (isInside && within.event->begin <= each.post.begin)) {
      return resumed <= std::max(kResume, each.run.end - silence.begin);
    }
    return (!isInside || within.holdsAnnotation) && resumed <= kAtOnce;
  };
  for (std::size_t n = 0; n < byEnd.size(); ++n) {
    const Collective& each = collectives_[byEnd[n]];
    const Nanoseconds end = each.run.end;
    const HostSpan silence = silences.at(end);
    const bool isLast = n + 1 == byEnd.size() || collectives_[byEnd[n + 1]].run.end >= silence.end;
    if (silence.begin != kNsMin && isLast && isWaitedFor(each, silence)) {
      waits.push_back({{std::max(silence.begin, each.post.end), end}, byEnd[n]});
    } else if (each.thread == thread) {
      waits.push_back({{end, end}, byEnd[n]});
    }
  }
  addWaitsWithoutRun(thread, silences, waits);
  const auto isEarlier = [](const CollectiveWait& a, const CollectiveWait& b) {
    return std::pair(a.span.begin, a.span.end) < std::pair(b.span.begin, b.span.end);
  };
  std::stable_sort(waits.begin(), waits.end(), isEarlier);
  HostSpan latest{kNsMin, kNsMin};
  for (CollectiveWait& wait : waits) {
    if (wait.span.begin < latest.end) {
      const bool isEmpty = wait.span.end <= latest.end;
      wait.span.begin = isEmpty ? latest.begin : latest.end;
      if (isEmpty) wait.span.end = latest.begin;
    }
    if (wait.span.end > latest.end) latest = wait.span;
  }
  std::stable_sort(waits.begin(), waits.end(), isEarlier);
  return waits;
}

void HostCollectives::addWaitsWithoutRun(std::uint32_t thread, const Silences& silences,
                                         std::vector<CollectiveWait>& waits) const {
  // Those that are there are in the order of their ends.
  std::vector<HostSpan> tensorWaits;  // in which no run ended
  for (const HostSpan& span : silences.tensorWaits()) {
    const auto end = std::partition_point(
        waits.begin(), waits.end(),
        [&](const CollectiveWait& wait) { return wait.span.end < span.begin; });
    if (end == waits.end() || end->span.end > span.end) tensorWaits.push_back(span);
  }
  std::vector<CollectiveWait> more;
  auto next = tensorWaits.begin();
  for (std::size_t i = 0; i < collectives_.size(); ++i) {
    const Collective& each = collectives_[i];
    if (each.hasRun || each.thread != thread) continue;
    if (each.hasTensor) {
      next = std::find_if(next, tensorWaits.end(),
                          [&](const HostSpan& span) { return span.begin >= each.post.end; });
      if (next != tensorWaits.end()) more.push_back({*next++, i});
      continue;
    }
    const HostSpan silence = silences.at(each.post.end);
    if (silence.end != kNsMax && silence.end - silence.begin >= kLeastSilence) {
      more.push_back({silence, i});
    }
  }
  waits.insert(waits.end(), more.begin(), more.end());
}

Event HostCollectives::eventOf(const CollectiveWait& wait) const {
  const Collective& collective = collectives_[wait.collective];
  Event event;
  event.begin = wait.span.begin;
  event.end = wait.span.end;
  event.kind = collective.kind;
  event.name = collective.name;
  std::vector<Argument> arguments;
  StringTable& strings = timeline_.strings;
  const std::string& group = collective.group.empty() ? onlyGroup_ : collective.group;
  if (!group.empty()) {
    arguments.push_back(
        Argument::ofText(strings.intern(collective_arguments::kGroup), strings.intern(group)));
  }
  if (collective.sequence) {
    arguments.push_back(
        Argument::ofInteger(strings.intern(collective_arguments::kSequence), *collective.sequence));
  }
  if (collective.bytes > 0) {
    arguments.push_back(Argument::ofInteger(strings.intern("bytes"), collective.bytes));
  }
  timeline_.setArguments(event, arguments);
  return event;
}

}  // namespace pipetrace
