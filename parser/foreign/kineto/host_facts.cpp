#include "parser/foreign/kineto/host_facts.h"

#include <algorithm>
#include <cstddef>

namespace pipetrace {
namespace {

/// The annotated job that is open at a time, for times that ascend.
class OpenJob {
 public:
  explicit OpenJob(std::span<const AnnotatedSpan> jobs) : jobs_(jobs) {}

  std::int32_t at(Nanoseconds time) {
    while (next_ < jobs_.size() && jobs_[next_].end <= time) ++next_;
    const bool isOpen = next_ < jobs_.size() && jobs_[next_].begin <= time;
    return isOpen ? static_cast<std::int32_t>(next_) : HostOperator::kNoJob;
  }

 private:
  std::span<const AnnotatedSpan> jobs_;
  std::size_t next_ = 0;
};

/// The outermost operators of a thread, and the times of its messages.
struct ThreadFacts {
  std::vector<HostOperator> operators;
  std::vector<Nanoseconds> cuts;
  std::vector<Nanoseconds> collectives;
  std::int64_t numbered = 0;  ///< operators of forwards with a number
  bool hasMessages = false;
  bool hasBackwards = false;
};

ThreadFacts readThread(const std::vector<Event>& events, const KinetoWords& words,
                       std::span<const AnnotatedSpan> jobs) {
  ThreadFacts thread;
  OpenJob open(jobs);
  Nanoseconds operatorEnd = kNsMin;
  Nanoseconds asideEnd = kNsMin;
  for (const Event& event : events) {
    const KinetoCategory category = words.categoryOf(event);
    if (event.begin < operatorEnd) continue;
    const auto cut = [&] {
      thread.cuts.push_back(event.begin);
      thread.cuts.push_back(event.end);
    };
    if (category == KinetoCategory::kAnnotation) {
      if (words.isReceive(event) || words.isSend(event)) {
        thread.hasMessages = true;
        cut();
      } else if (words.isAside(event)) {
        asideEnd = std::max(asideEnd, event.end);
        cut();
      } else if (words.stepOf(event)) {
        cut();
      }
      continue;
    }
    if (words.isJobCall(event)) cut();
    if (category != KinetoCategory::kOperator) continue;
    if (words.isPost(event)) thread.cuts.push_back(event.begin);
    if (words.isOfProcessGroup(event)) {
      if (!words.isPost(event)) thread.collectives.push_back(event.begin);
      continue;
    }
    if (event.begin < asideEnd) continue;
    const std::int32_t job = open.at(event.begin);
    const bool isOther =
        job != HostOperator::kNoJob && !isCompute(jobs[static_cast<std::size_t>(job)].kind);
    operatorEnd = event.end;
    if (isOther) {
      cut();
      continue;
    }
    const bool isBackward = words.isAutograd(event);
    const std::int64_t number =
        words.isGraphRoot(event)
            ? HostOperator::kNoNumber  // it has no forward
            : words.numbersOf(event).sequence.value_or(HostOperator::kNoNumber);
    thread.hasBackwards = thread.hasBackwards || isBackward;
    if (!isBackward && number >= 0) ++thread.numbered;
    thread.operators.push_back({event.begin, event.end, number, job, event.name, isBackward});
  }
  return thread;
}

}  // namespace

bool hasUnannotatedWork(std::span<ForeignTrace::Lane* const> threads, const KinetoWords& words,
                        std::span<const AnnotatedSpan> jobs) {
  const bool areAny = std::any_of(jobs.begin(), jobs.end(),
                                  [](const AnnotatedSpan& job) { return isCompute(job.kind); });
  if (!areAny) return true;
  for (const ForeignTrace::Lane* const lane : threads) {
    OpenJob open(jobs);
    for (const Event& event : lane->thread->events) {
      if (words.isAutograd(event) && open.at(event.begin) == HostOperator::kNoJob) return true;
    }
  }
  return false;
}

FactsOfThreads readHostFacts(std::span<ForeignTrace::Lane* const> threads, const KinetoWords& words,
                             std::span<const AnnotatedSpan> jobs) {
  std::vector<ThreadFacts> all;
  FactsOfThreads found;
  for (std::size_t t = 0; t < threads.size(); ++t) {
    all.push_back(readThread(threads[t]->thread->events, words, jobs));
    if (all[t].numbered > all[found.thread].numbered) found.thread = static_cast<std::uint32_t>(t);
  }
  HostFacts& facts = found.facts;
  for (std::size_t t = 0; t < all.size(); ++t) {
    facts.hasMessages = facts.hasMessages || all[t].hasMessages;
    facts.cuts.insert(facts.cuts.end(), all[t].cuts.begin(), all[t].cuts.end());
    if (t == found.thread) facts.collectives = std::move(all[t].collectives);
    if (t != found.thread && !all[t].hasBackwards) continue;
    for (const HostOperator& each : all[t].operators) {
      if (t == found.thread || each.isBackward) facts.operators.push_back(each);
    }
  }
  std::stable_sort(facts.operators.begin(), facts.operators.end(),
                   [](const HostOperator& a, const HostOperator& b) { return a.begin < b.begin; });
  std::sort(facts.cuts.begin(), facts.cuts.end());
  // A wait that ends inside an operator is not that of the thread that runs it.
  std::erase_if(facts.cuts, [&](Nanoseconds cut) {
    const auto next =
        std::partition_point(facts.operators.begin(), facts.operators.end(),
                             [&](const HostOperator& each) { return each.begin < cut; });
    return next != facts.operators.begin() && std::prev(next)->end > cut;
  });
  for (const AnnotatedSpan& job : jobs) facts.annotated.push_back(job.kind);
  return found;
}

}  // namespace pipetrace
