#include "parser/foreign/kineto/host/host_only.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "parser/device_time/device_jobs.h"
#include "parser/device_time/host_jobs.h"
#include "parser/foreign/kineto/schedule_names.h"
#include "trace/event_arguments.h"
#include "trace/job_kind.h"

namespace pipetrace {
namespace {

/// A compute job on a thread of the host.
struct HostOnlyJob {
  Event event;      ///< with the times of its annotation
  HostSpan scope;   ///< the annotation, or the schedule's own around it
  HostSpan span;    ///< what counts of the annotation
  std::size_t job;  ///< its index among all jobs of the thread
};

/// Finds the job of each message of a thread; see placeHostOnly().
class MessageJobs {
 public:
  /// Both must outlive it. `jobs` are in order; the two of a fused pair follow each other.
  MessageJobs(const std::vector<HostOnlyJob>& jobs, const HostWork& work);

  /// The kind and the numbers of a message.
  struct Meaning {
    JobKind kind = JobKind::kOther;
    std::int32_t stage = kNotGiven;
    std::int32_t microBatch = kNotGiven;
    std::optional<std::size_t> job;  ///< index in `jobs`
  };
  /// By message of the thread. Nothing for one that belongs to no job and that no annotation
  /// describes. Messages of the set-up are such, as when torch's first step connects the ranks.
  /// They are known as receives of the first stage's forwards, and as the few of jobs that do not
  /// receive.
  std::vector<std::optional<Meaning>> ofAll() const;

 private:
  using Key = std::tuple<bool, std::int32_t, std::int32_t>;  // is forward, stage, micro-batch

  std::optional<Meaning> of(const HostWork::Message& message) const;
  std::optional<std::size_t> describedBy(const HostWork::Note& note,
                                         const HostWork::Message& message) const;
  std::optional<std::size_t> around(const HostWork::Message& message) const;
  bool wasWaitedFor(const HostWork::Message& receive) const;
  std::optional<std::size_t> nextTo(const HostWork::Message& message) const;

  const std::vector<HostOnlyJob>& jobs_;
  const HostWork& work_;
  std::map<Key, std::vector<std::size_t>> byKey_;  // in order
};

/// Where at most one job in four has a receive, these are no jobs that receive.
constexpr std::int64_t kJobsPerStray = 4;
/// The same of jobs that name no stage: some of their chunks may have receives and others none.
constexpr std::int64_t kMostStrays = 2;

MessageJobs::MessageJobs(const std::vector<HostOnlyJob>& jobs, const HostWork& work)
    : jobs_(jobs), work_(work) {
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const Event& job = jobs[i].event;
    if (const auto isForward = isForwardMessageOf(job.kind)) {
      byKey_[{*isForward, job.stage, job.microBatch}].push_back(i);
    }
  }
}

std::optional<std::size_t> MessageJobs::describedBy(const HostWork::Note& note,
                                                    const HostWork::Message& message) const {
  const auto found = byKey_.find({isForwardTransfer(note.kind), note.stage, note.microBatch});
  if (found == byKey_.end()) return std::nullopt;
  const std::vector<std::size_t>& candidates = found->second;
  // A receive ends inside its job. A send is posted after its job, or before its end.
  const Nanoseconds time = message.isSend ? message.posted.begin : message.end;
  const auto next = std::partition_point(candidates.begin(), candidates.end(), [&](std::size_t i) {
    return jobs_[i].scope.begin <= time;
  });
  if (next == candidates.begin()) return std::nullopt;
  const std::size_t job = *std::prev(next);
  if (!message.isSend && !jobs_[job].scope.holds(time)) return std::nullopt;
  return job;
}

/// Whether the thread did next to nothing else from when it had posted a receive until it ended. If
/// it did, the receive was posted ahead, for a later job.
bool MessageJobs::wasWaitedFor(const HostWork::Message& receive) const {
  constexpr Nanoseconds kNextToNothing = 100'000;
  return work_.busyIn({receive.posted.end, receive.end}) <= kNextToNothing;
}

std::optional<std::size_t> MessageJobs::around(const HostWork::Message& message) const {
  const Nanoseconds posted = message.posted.begin;
  auto next = std::partition_point(jobs_.begin(), jobs_.end(), [&](const HostOnlyJob& job) {
    return job.scope.begin <= posted;
  });
  std::optional<std::size_t> found;
  while (next != jobs_.begin() && std::prev(next)->scope.holds(posted)) {
    --next;
    // A scope holds one job, or several that a schedule's own annotation has inside.
    const bool isPosted = !isFoundPair(next->event.kind, next->event.stage) &&
                          next->span.end >= message.end && wasWaitedFor(message);
    const bool fits = message.isSend ? next->span.begin <= posted : isPosted;
    if (fits) found = static_cast<std::size_t>(next - jobs_.begin());
    if (fits && message.isSend) break;
  }
  return found;
}

std::optional<std::size_t> MessageJobs::nextTo(const HostWork::Message& message) const {
  if (!work_.notes.empty()) return std::nullopt;
  const Nanoseconds time = message.isSend ? message.posted.begin : message.end;
  const auto next = std::partition_point(
      jobs_.begin(), jobs_.end(), [&](const HostOnlyJob& job) { return job.scope.begin < time; });
  const auto index = static_cast<std::size_t>(next - jobs_.begin());
  if (message.isSend) return index == 0 ? std::nullopt : std::optional(index - 1);
  // One half of a fused pair may begin before the message of the other one is there.
  if (index > 0 && isFoundPair(std::prev(next)->event.kind, std::prev(next)->event.stage) &&
      std::prev(next)->scope.holds(time) && message.posted.begin < std::prev(next)->scope.begin) {
    return index - 1;
  }
  if (next == jobs_.end()) return std::nullopt;
  if (!wasWaitedFor(message)) return index;
  // Earlier messages, as those that tell the shapes of tensors, are no job's.
  const auto isNext = [&](const HostWork::Message& m) { return m.posted.begin >= time; };
  const auto isOfTheJob = [&](const HostWork::Message& other) {
    return (other.posted.begin < next->scope.begin || next->scope.holds(other.end)) &&
           wasWaitedFor(other);
  };
  std::size_t following = 0;
  for (auto other =
           std::partition_point(work_.messages.begin(), work_.messages.end(), std::not_fn(isNext));
       other != work_.messages.end() && other->posted.begin <= next->scope.end; ++other) {
    if (!other->isSend && isOfTheJob(*other)) ++following;
  }
  const std::size_t own = isFoundPair(next->event.kind, next->event.stage) ? 2 : 1;
  return following >= own ? std::nullopt : std::optional(index);
}

std::vector<std::optional<MessageJobs::Meaning>> MessageJobs::ofAll() const {
  using Group = std::pair<std::int32_t, JobKind>;  // by stage and kind
  std::map<Group, std::int64_t> jobs;
  for (const HostOnlyJob& job : jobs_) ++jobs[{job.event.stage, job.event.kind}];
  std::vector<std::optional<Meaning>> meanings;
  std::map<Group, std::vector<std::size_t>> guessed;  // receives
  for (std::size_t i = 0; i < work_.messages.size(); ++i) {
    const HostWork::Message& message = work_.messages[i];
    meanings.push_back(of(message));
    if (!meanings[i] || message.isSend || work_.noteOf(message) != nullptr) continue;
    const Event& job = jobs_[*meanings[i]->job].event;
    guessed[{job.stage, job.kind}].push_back(i);
  }
  for (const auto& [group, receives] : guessed) {
    const auto count = static_cast<std::int64_t>(receives.size());
    const bool isOfOneStage = group.first != kNotGiven;
    if (count * kJobsPerStray > jobs[group] || (!isOfOneStage && count > kMostStrays)) continue;
    for (const std::size_t i : receives) meanings[i] = std::nullopt;
  }
  return meanings;
}

std::optional<MessageJobs::Meaning> MessageJobs::of(const HostWork::Message& message) const {
  if (const HostWork::Note* const note = work_.noteOf(message)) {
    return Meaning{note->kind, note->stage, note->microBatch, describedBy(*note, message)};
  }
  std::optional<std::size_t> job = around(message);
  if (!job) job = nextTo(message);
  if (!job) return std::nullopt;
  const Event& event = jobs_[*job].event;
  auto isForward = isForwardMessageOf(event.kind);
  // Which of its messages are of its forward is known when it has its stages.
  if (isFoundPair(event.kind, event.stage)) isForward = true;
  if (!isForward) return std::nullopt;
  // The first stage gets no message of a forward, and sends none of a backward: this one is of the
  // set-up, as when torch's first step connects the ranks.
  if (event.stage == 0 && *isForward != message.isSend) return std::nullopt;
  return Meaning{transferKind(message.isSend, *isForward), event.stage, event.microBatch, job};
}

/// A receive that ends this soon after the wait for it began was there before. In torch's traces
/// such waits take 0.02 to 0.08 ms.
constexpr Nanoseconds kSoon = 100'000;
/// Where four ranks share two processors, some take this long.
constexpr Nanoseconds kShort = 500'000;

class HostOnlyPlacer {
 public:
  HostOnlyPlacer(const std::vector<AnnotatedJob>& annotated, std::vector<Event>& events,
                 std::int64_t firstJob, const HostCollectives& collectives, std::uint32_t thread,
                 const KinetoWords& words, ForeignNames& names, Timeline& timeline)
      : annotated_(annotated),
        events_(events),
        timeline_(timeline),
        work_(readHostWork(events, words, names)),
        collectives_(collectives),
        waits_(collectives.waitsOf(thread, annotations())),
        nextJob_(firstJob) {}

  HostOnlyLanes place() {
    for (std::size_t i = 0; i < annotated_.size(); ++i) addJob(i);
    meanings_ = MessageJobs(jobs_, work_).ofAll();
    readReceives();
    findStrayWaits();
    cutPairs();
    placeJobs();
    addMessages();
    return std::move(lanes_);
  }

 private:
  static constexpr std::int64_t kNoJob = -1;

  std::vector<HostSpan> annotations() const {
    std::vector<HostSpan> spans;
    for (const AnnotatedJob& job : annotated_) {
      spans.push_back({job.recorded.begin, job.recorded.end});
      spans.push_back(job.scope);
    }
    return spans;
  }

  void addJob(std::size_t number) {
    const AnnotatedJob& job = annotated_[number];
    const HostSpan span{job.event.begin, job.event.end};
    if (!isCompute(job.event.kind)) return;
    jobs_.push_back({job.event, job.scope, span, number});
    if (job.event.kind != JobKind::kForwardBackward) return;
    const auto second = secondJobOf(timeline_.strings[job.event.name]);
    if (!second) return;
    Event& forward = jobs_.back().event;
    forward.kind = JobKind::kForward;
    forward.name = nameOf('F', forward.stage, forward.microBatch);
    Event backward = job.event;
    backward.kind = JobKind::kBackward;
    backward.stage = second->stage;
    backward.microBatch = second->microBatch;
    backward.name = nameOf('B', second->stage, second->microBatch);
    jobs_.push_back({backward, job.scope, span, number});
  }

  /// As torch names the job where it is no part of a pair.
  StringId nameOf(char letter, std::int32_t stage, std::int32_t microBatch) {
    return timeline_.strings.intern("PP:" + std::to_string(stage) + letter +
                                    std::to_string(microBatch));
  }

  /// Finds when the receives of each job ended, and its data loaders.
  void readReceives() {
    received_.assign(jobs_.size(), kNsMin);
    for (std::size_t i = 0; i < work_.messages.size(); ++i) {
      const HostWork::Message& message = work_.messages[i];
      if (message.isSend || !meanings_[i] || !meanings_[i]->job) continue;
      const std::size_t job = *meanings_[i]->job;
      if (!jobs_[job].span.holds(message.end)) continue;  // its annotation begins after the wait
      const Nanoseconds waited = message.end - waitBegin(message, *meanings_[i]);
      if (waited <= kShort && waitedForRanks({jobs_[job].span.begin, message.end}) > waited) {
        continue;  // it was there while the job waited for ranks of its stage
      }
      received_[job] = std::max(received_[job], message.end);
    }
    for (std::size_t i = 0; i < jobs_.size(); ++i) {
      if (i > 0 && isPair(i - 1)) continue;
      for (const HostSpan& load : annotated_[jobs_[i].job].loads) {
        if (isMostAfter(load, jobs_[i].span)) received_[i] = std::max(received_[i], load.end);
      }
    }
  }

  /// How long the thread waited for collectives in that time.
  Nanoseconds waitedForRanks(const HostSpan& span) const {
    Nanoseconds waited = 0;
    for (auto wait = firstWaitIn(span); wait != waits_.end() && wait->span.end <= span.end;
         ++wait) {
      waited += wait->span.end - wait->span.begin;
    }
    return waited;
  }

  /// Whether the operators of a job take longer after the load than before it.
  bool isMostAfter(const HostSpan& load, const HostSpan& job) const {
    const auto lengthOf = [&](const HostSpan& span) {
      const auto found = work_.within(span);
      return found ? found->end - found->begin : 0;
    };
    return lengthOf({load.end, job.end}) > lengthOf({job.begin, load.begin});
  }

  bool isPair(std::size_t first) const {
    return first + 1 < jobs_.size() && jobs_[first].job == jobs_[first + 1].job;
  }

  void cutPairs() {
    isDropped_.assign(jobs_.size(), false);
    for (std::size_t i = 0; i < jobs_.size(); ++i) {
      if (!isPair(i)) continue;
      HostOnlyJob& first = jobs_[i];
      HostOnlyJob& second = jobs_[i + 1];
      std::optional<Nanoseconds> cut = work_.firstAutogradIn(first.span);
      if (received_[i + 1] != kNsMin) cut = received_[i + 1];
      if (cut) {
        first.span.end = *cut;
        second.span.begin = *cut;
      } else {
        first.event = annotated_[first.job].event;
        isDropped_[i + 1] = true;
      }
    }
  }

  /// The ends of the thread's waits for messages that belong to no job, ascending.
  void findStrayWaits() {
    for (std::size_t i = 0; i < work_.messages.size(); ++i) {
      const HostWork::Message& message = work_.messages[i];
      if (message.isSend || meanings_[i]) continue;
      const Nanoseconds begin = std::max(message.posted.end, work_.lastEndBy(message.end));
      if (message.end - begin > kSoon) strayWaits_.push_back(message.end);
    }
    std::sort(strayWaits_.begin(), strayWaits_.end());
  }

  /// Says that a job followed such a wait, where no other job ran in between.
  void markStrayWait(Event& job) {
    const auto next = std::upper_bound(strayWaits_.begin(), strayWaits_.end(), job.begin);
    if (next != strayWaits_.begin() && *std::prev(next) > lastJobEnd_) {
      const Argument argument = Argument::ofInteger(
          timeline_.strings.intern(message_arguments::kAfterWait), job.begin - *std::prev(next));
      timeline_.addArguments(job, {&argument, 1});
    }
    lastJobEnd_ = std::max(lastJobEnd_, job.end);
  }

  void placeJobs() {
    numbers_.assign(jobs_.size(), kNoJob);
    std::size_t next = 0;
    for (std::size_t number = 0; number < annotated_.size(); ++number) {
      if (next == jobs_.size() || jobs_[next].job != number) {
        Event other = annotated_[number].event;
        other.job = nextJob_++;
        lanes_.jobs.push_back(other);
      }
      for (; next < jobs_.size() && jobs_[next].job == number; ++next) placeJob(next);
    }
  }

  void placeJob(std::size_t i) {
    if (isDropped_[i]) return;
    const HostOnlyJob& job = jobs_[i];
    Event event = job.event;
    const AnnotatedJob& annotated = annotated_[job.job];
    if (isAdjusted(i)) {
      const HostSpan rest{std::clamp(received_[i], job.span.begin, job.span.end), job.span.end};
      if (const auto found = busyIn(rest)) {
        lanes_.shares.add(event, found->end - found->begin, rest.end - rest.begin);
        moveFromAnnotation(event, found->begin, found->end, timeline_);
      } else if (event.kind == JobKind::kBackwardInput && !work_.operators.empty()) {
        lanes_.noJobs.push_back(annotated.recorded);
        return;
      } else {
        moveFromAnnotation(event, rest.begin, rest.end, timeline_);
        markHostTimes(event, timeline_);
      }
    }
    markStrayWait(event);
    event.job = numbers_[i] = nextJob_++;
    lanes_.jobs.push_back(event);
    addCollectives(event);
  }

  /// From the first to the last operator or wait for a collective.
  std::optional<HostSpan> busyIn(const HostSpan& span) const {
    std::optional<HostSpan> busy = work_.within(span);
    for (auto wait = firstWaitIn(span); wait != waits_.end() && wait->span.begin <= span.end;
         ++wait) {
      if (wait->span.begin == wait->span.end || wait->span.end > span.end) continue;
      if (!busy) busy = wait->span;
      busy->begin = std::min(busy->begin, wait->span.begin);
      busy->end = std::max(busy->end, wait->span.end);
    }
    return busy;
  }

  std::vector<CollectiveWait>::const_iterator firstWaitIn(const HostSpan& span) const {
    return std::partition_point(waits_.begin(), waits_.end(), [&](const CollectiveWait& wait) {
      return wait.span.begin < span.begin;
    });
  }

  void addCollectives(const Event& job) {
    const HostSpan span{job.begin, job.end};
    for (auto wait = firstWaitIn(span); wait != waits_.end() && wait->span.begin <= span.end;
         ++wait) {
      if (wait->span.end > span.end) continue;
      Event event = collectives_.eventOf(*wait);
      event.job = job.job;
      event.step = job.step;
      event.stage = job.stage;
      event.microBatch = job.microBatch;
      lanes_.collectives.push_back(event);
    }
  }

  bool isAdjusted(std::size_t i) const {
    return received_[i] != kNsMin || isScheduleName(timeline_.strings[jobs_[i].event.name]);
  }

  void addMessages() {
    std::vector<std::size_t> used;
    for (std::size_t i = 0; i < work_.messages.size(); ++i) {
      if (!meanings_[i]) continue;
      const HostWork::Message& message = work_.messages[i];
      addMessage(message, *meanings_[i]);
      used.push_back(message.event);
      if (const HostWork::Note* const note = work_.noteOf(message)) {
        events_[note->event].kind = JobKind::kOther;
      }
    }
    for (const std::size_t i : used) events_[i].end = kNsMin;
    std::erase_if(events_, [](const Event& event) { return event.end == kNsMin; });
  }

  void addMessage(const HostWork::Message& message, const MessageJobs::Meaning& meaning) {
    const Event& recorded = events_[message.event];
    Event event;
    event.begin = recorded.begin;
    event.end = message.end;
    event.kind = meaning.kind;
    event.stage = meaning.stage;
    event.microBatch = meaning.microBatch;
    event.step = recorded.step;
    if (meaning.job) {
      event.step = jobs_[*meaning.job].event.step;
      event.job = numbers_[*meaning.job];
    }
    if (message.isSend) {
      moveFromAnnotation(event, message.posted.begin, message.end, timeline_);
      lanes_.sends.push_back(event);
      return;
    }
    event.begin = message.posted.begin;
    markWait(event, message.end - waitBegin(message, meaning));
    lanes_.receives.push_back(event);
  }

  /// When the thread began to wait for a receive: as it had posted it, as the job began, or after
  /// the last operator before the end of the wait.
  Nanoseconds waitBegin(const HostWork::Message& message,
                        const MessageJobs::Meaning& meaning) const {
    Nanoseconds begin = std::max(message.posted.end, work_.lastEndBy(message.end));
    if (meaning.job && jobs_[*meaning.job].scope.holds(message.end)) {
      begin = std::max(begin, jobs_[*meaning.job].scope.begin);
    }
    return begin;
  }

  void markWait(Event& receive, Nanoseconds wait) {
    StringTable& strings = timeline_.strings;
    const Argument argument =
        wait <= kSoon ? Argument::ofText(strings.intern(message_arguments::kArrived),
                                         strings.intern(message_arguments::kEarly))
                      : Argument::ofInteger(strings.intern(message_arguments::kWaited), wait);
    timeline_.setArguments(receive, {&argument, 1});
  }

  const std::vector<AnnotatedJob>& annotated_;
  std::vector<Event>& events_;
  Timeline& timeline_;
  HostWork work_;
  const HostCollectives& collectives_;
  std::vector<CollectiveWait> waits_;  // by begin
  std::int64_t nextJob_;
  std::vector<HostOnlyJob> jobs_;                              // compute jobs
  std::vector<std::optional<MessageJobs::Meaning>> meanings_;  // by message
  std::vector<Nanoseconds> received_;                          // by job
  std::vector<Nanoseconds> strayWaits_;
  Nanoseconds lastJobEnd_ = kNsMin;    // of those placed so far
  std::vector<bool> isDropped_;        // by job
  std::vector<std::int64_t> numbers_;  // by job: Event::job, or kNoJob
  HostOnlyLanes lanes_;
};

constexpr Nanoseconds kEmptyPart = 500'000;

}  // namespace

std::optional<HostSpan> HostWork::within(const HostSpan& span) const {
  std::optional<HostSpan> found;
  auto next = std::partition_point(operators.begin(), operators.end(),
                                   [&](const HostSpan& each) { return each.begin < span.begin; });
  for (; next != operators.end() && next->begin <= span.end; ++next) {
    if (next->end > span.end) continue;
    if (!found) found = *next;
    found->end = std::max(found->end, next->end);
  }
  return found;
}

Nanoseconds HostWork::busyIn(const HostSpan& span) const {
  Nanoseconds busy = 0;
  Nanoseconds upTo = span.begin;
  auto next = std::partition_point(operators.begin(), operators.end(),
                                   [&](const HostSpan& each) { return each.begin < span.begin; });
  for (; next != operators.end() && next->begin < span.end; ++next) {
    const Nanoseconds from = std::max(next->begin, upTo);
    upTo = std::max(upTo, std::min(next->end, span.end));
    busy += std::max<Nanoseconds>(0, upTo - from);
  }
  return busy;
}

Nanoseconds HostWork::lastEndBy(Nanoseconds time) const {
  const auto next = std::upper_bound(ends.begin(), ends.end(), time);
  return next == ends.begin() ? kNsMin : *std::prev(next);
}

std::optional<Nanoseconds> HostWork::firstAutogradIn(const HostSpan& span) const {
  const auto found = std::lower_bound(autogradBegins.begin(), autogradBegins.end(), span.begin);
  if (found == autogradBegins.end() || *found > span.end) return std::nullopt;
  return *found;
}

const HostWork::Note* HostWork::noteOf(const Message& message) const {
  auto next = std::partition_point(notes.begin(), notes.end(), [&](const Note& note) {
    return note.span.begin <= message.posted.begin;
  });
  // Of messages that are posted together the annotations lie in each other.
  while (next != notes.begin() && (--next)->span.holds(message.posted.begin)) {
    if (isSend(next->kind) == message.isSend) return &*next;
  }
  return nullptr;
}

HostWork readHostWork(const std::vector<Event>& events, const KinetoWords& words,
                      ForeignNames& names) {
  HostWork work;
  HostSpan post;
  for (std::size_t i = 0; i < events.size(); ++i) {
    const Event& event = events[i];
    const HostSpan span{event.begin, event.end};
    const KinetoCategory category = words.categoryOf(event);
    if (category == KinetoCategory::kOperator) {
      if (words.isPost(event)) post = span;
      if (words.isOfProcessGroup(event)) continue;
      work.operators.push_back(span);
      work.ends.push_back(span.end);
      if (words.isAutograd(event)) work.autogradBegins.push_back(span.begin);
    } else if (category != KinetoCategory::kAnnotation) {
      continue;
    } else if (words.isReceive(event) || words.isSend(event)) {
      const HostSpan posted = post.holds(event.begin) ? post : HostSpan{event.begin, event.begin};
      work.messages.push_back({i, posted, event.end, words.isSend(event)});
    } else if (isTransfer(event.kind)) {
      const JobName& name = names.known(event.name);
      work.notes.push_back({i, span, event.kind, name.stage, name.microBatch});
    }
  }
  std::sort(work.ends.begin(), work.ends.end());
  return work;
}

HostOnlyLanes placeHostOnly(const std::vector<AnnotatedJob>& jobs, std::vector<Event>& events,
                            std::int64_t firstJob, const HostCollectives& collectives,
                            std::uint32_t thread, const KinetoWords& words, ForeignNames& names,
                            Timeline& timeline) {
  return HostOnlyPlacer(jobs, events, firstJob, collectives, thread, words, names, timeline)
      .place();
}

OperatorShares::Sum& OperatorShares::Sum::operator+=(const Sum& other) {
  filled += other.filled;
  available += other.available;
  jobs += other.jobs;
  return *this;
}

bool OperatorShares::Sum::isLow() const {
  return filled < available / 4 * 3 && (available - filled) / jobs > kEmptyPart;
}

void OperatorShares::add(const Event& job, Nanoseconds filled, Nanoseconds available) {
  sums_[{job.stage, job.kind}] += {filled, available, 1};
}

OperatorShares& OperatorShares::operator+=(const OperatorShares& other) {
  for (const auto& [key, sum] : other.sums_) sums_[key] += sum;
  return *this;
}

void OperatorShares::report(int rank, const std::string& file, Diagnostics& diagnostics) const {
  std::string low;
  for (const auto& [key, sum] : sums_) {
    if (!sum.isLow()) continue;
    const auto& [stage, kind] = key;
    if (!low.empty()) low += ", ";
    low += stage < 0 ? "rank " + std::to_string(rank) : "stage " + std::to_string(stage);
    low += " " + std::string(logName(kind)) + " " +
           std::to_string(sum.filled * 100 / sum.available) + " %";
  }
  if (low.empty()) return;
  const std::string what =
      "operators fill only a part of the jobs' annotations after the waits for messages, and work "
      "outside of operators counts as idle time";
  diagnostics.add({.file = file,
                   .message = what + ": " + low,
                   .advice =
                       "--time host gives jobs the times of their annotations, waits included "
                       "(docs/inputs/torch.md)",
                   .ofSeveral = what,
                   .share = low});
}

}  // namespace pipetrace
