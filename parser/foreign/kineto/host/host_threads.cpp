#include "parser/foreign/kineto/host/host_threads.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "trace/threads/in_parallel.h"

namespace pipetrace {
namespace {

/// The operators of autograd's engine that are open, the innermost last.
class OpenOperators {
 public:
  struct Operator {
    Nanoseconds begin = 0;
    Nanoseconds end = 0;
    std::optional<std::int64_t> sequence;
  };

  const Operator* innermostAt(Nanoseconds time) {
    while (!open_.empty() && open_.back().end <= time) open_.pop_back();
    return open_.empty() ? nullptr : &open_.back();
  }
  void push(const Event& event, std::optional<std::int64_t> sequence) {
    innermostAt(event.begin);
    open_.push_back({event.begin, event.end, sequence});
  }

 private:
  std::vector<Operator> open_;
};

void addLaunch(const Event& event, std::int64_t correlation, std::uint32_t number,
               std::uint32_t process, OpenOperators& open, HostThread& thread) {
  const OpenOperators::Operator* const within = open.innermostAt(event.begin);
  if (within != nullptr) {
    thread.inOperators.push_back({thread.launches.size(), within->begin, within->sequence});
  }
  thread.launches.push_back(
      {.time = event.begin, .correlation = correlation, .thread = number, .process = process});
}

using Forwards = std::unordered_map<std::int64_t, std::int32_t>;
constexpr std::int32_t kSeveral = -2;

/// By sequence number: the job with the forward operator, or kSeveral.
Forwards forwardsOf(const std::vector<HostThread>& threads, const HostJobs& jobs) {
  Forwards forwards;
  for (std::uint32_t t = 0; t < threads.size(); ++t) {
    for (const HostThread::Forward& forward : threads[t].forwards) {
      const std::int32_t job = jobs.openAt(t, forward.begin);
      if (job == HostJobs::kNone) continue;
      const auto [found, isNew] = forwards.try_emplace(forward.sequence, job);
      if (!isNew && found->second != job) found->second = kSeveral;
    }
  }
  return forwards;
}

/// The forward operators at the other ends of the arrows that end on each thread.
class ForwardArrows {
 public:
  ForwardArrows(const ForeignTrace& trace, std::span<ForeignTrace::Lane* const> lanes) {
    std::map<const ChromeProcess::Thread*, std::uint32_t> numbers;
    for (std::uint32_t t = 0; t < lanes.size(); ++t) numbers[lanes[t]->thread] = t;
    for (const ForeignTrace::ForwardArrow& arrow : trace.forwardArrows) {
      const auto from = numbers.find(arrow.from);
      const auto to = numbers.find(arrow.to);
      if (from == numbers.end() || to == numbers.end()) continue;
      byEnd_[{to->second, arrow.end}] = {from->second, arrow.begin};
    }
  }

  /// The thread and time of the forward operator whose arrow ends on `thread` between the two
  /// times; the last one counts.
  std::optional<std::pair<std::uint32_t, Nanoseconds>> find(std::uint32_t thread, Nanoseconds from,
                                                            Nanoseconds to) const {
    auto next = byEnd_.upper_bound({thread, to});
    if (next == byEnd_.begin()) return std::nullopt;
    --next;
    if (next->first.first != thread || next->first.second < from) return std::nullopt;
    return next->second;
  }

 private:
  using Place = std::pair<std::uint32_t, Nanoseconds>;
  std::map<Place, Place> byEnd_;
};

}  // namespace

StepSpans::StepSpans(const ForeignTrace& trace, const KinetoWords& words) {
  std::vector<std::vector<Span>> found(trace.lanes.size());
  inParallel(trace.threads, found.size(), [&](std::size_t lane) {
    for (const Event& event : trace.lanes[lane].thread->events) {
      if (const auto step = words.stepOf(event)) {
        found[lane].push_back({event.begin, event.end, *step});
      }
    }
  });
  for (const auto& spans : found) spans_.insert(spans_.end(), spans.begin(), spans.end());
  std::sort(spans_.begin(), spans_.end(),
            [](const Span& a, const Span& b) { return a.begin < b.begin; });
}

std::int32_t StepSpans::at(Nanoseconds time) const {
  const auto next = std::partition_point(spans_.begin(), spans_.end(),
                                         [&](const Span& s) { return s.begin <= time; });
  if (next == spans_.begin()) return kNotGiven;
  const Span& span = *std::prev(next);
  return time < span.end ? span.step : kNotGiven;
}

HostThread readHostThread(ForeignTrace::Lane& lane, std::uint32_t number, const KinetoWords& words,
                          const StepSpans& steps, bool isAsked, bool withLaunches) {
  std::vector<Event>& events = lane.thread->events;
  // Most threads are in order already, and sorting takes time and memory even then.
  if (!std::is_sorted(events.begin(), events.end(), outerComesFirst)) {
    std::stable_sort(events.begin(), events.end(), outerComesFirst);
  }
  HostThread thread;
  OpenOperators open;
  for (std::size_t i = 0; i < events.size(); ++i) {
    Event& event = events[i];
    const std::int32_t step = steps.empty() ? kNotGiven : steps.at(event.begin);
    if (event.step != step) event.step = step;
    const KinetoWords::Numbers numbers = words.numbersOf(event);
    if (event.step != kNotGiven && numbers.externalId) {
      thread.steps.emplace_back(*numbers.externalId, event.step);
    }
    if (withLaunches) {
      if (words.isAutograd(event)) {
        thread.isAutograd = true;
        open.push(event, numbers.sequence);
      } else if (numbers.sequence && numbers.forwardThread.value_or(0) == 0) {
        thread.forwards.push_back({event.begin, *numbers.sequence});
      }
      if (numbers.correlation) {
        addLaunch(event, *numbers.correlation, number, static_cast<std::uint32_t>(lane.process),
                  open, thread);
      }
    }
    if (isAsked || words.categoryOf(event) == KinetoCategory::kAnnotation) {
      thread.named.push_back(i);
    }
  }
  return thread;
}

std::vector<Launch> launchesOf(std::vector<HostThread>& threads,
                               std::span<ForeignTrace::Lane* const> lanes,
                               const ForeignTrace& trace, const HostJobs& jobs) {
  const Forwards forwards = forwardsOf(threads, jobs);
  const ForwardArrows arrows(trace, lanes);
  std::vector<Launch> all;
  for (std::uint32_t t = 0; t < threads.size(); ++t) {
    HostThread& thread = threads[t];
    for (Launch& launch : thread.launches) launch.isByAutograd = thread.isAutograd;
    for (const HostThread::InOperator& each : thread.inOperators) {
      Launch& launch = thread.launches[each.launch];
      if (const auto forward = arrows.find(t, each.operatorBegin, launch.time)) {
        launch.forwardJob = jobs.openAt(forward->first, forward->second);
      } else if (each.sequence) {
        const auto found = forwards.find(*each.sequence);
        if (found != forwards.end() && found->second != kSeveral) {
          launch.forwardJob = found->second;
        }
      }
    }
    all.insert(all.end(), thread.launches.begin(), thread.launches.end());
    thread.launches = {};
  }
  return all;
}

}  // namespace pipetrace
