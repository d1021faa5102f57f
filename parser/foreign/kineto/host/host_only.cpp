#include "parser/foreign/kineto/host/host_only.h"

#include <algorithm>
#include <string>

#include "parser/device_time/job_arguments.h"
#include "parser/foreign/kineto/host/message_jobs.h"
#include "parser/foreign/kineto/schedule_names.h"
#include "trace/device_arguments.h"
#include "trace/message_arguments.h"

namespace pipetrace {
namespace {

/// A receive that ends this soon after the wait for it began was there before. In torch's traces
/// such waits take 0.02 to 0.08 ms.
constexpr Nanoseconds kSoon = 100'000;

class HostOnlyPlacer {
 public:
  HostOnlyPlacer(const std::vector<AnnotatedJob>& annotated, std::vector<Event>& events,
                 std::int64_t firstJob, const KinetoWords& words, ForeignNames& names,
                 Timeline& timeline)
      : annotated_(annotated),
        events_(events),
        timeline_(timeline),
        work_(readHostWork(events, words, names)),
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
      received_[job] = std::max(received_[job], message.end);
    }
    for (std::size_t i = 0; i < jobs_.size(); ++i) {
      if (i > 0 && isPair(i - 1)) continue;
      for (const HostSpan& load : annotated_[jobs_[i].job].loads) {
        if (isMostAfter(load, jobs_[i].span)) received_[i] = std::max(received_[i], load.end);
      }
    }
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
      if (const auto found = work_.within(rest)) {
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

}  // namespace

HostOnlyLanes placeHostOnly(const std::vector<AnnotatedJob>& jobs, std::vector<Event>& events,
                            std::int64_t firstJob, const KinetoWords& words, ForeignNames& names,
                            Timeline& timeline) {
  return HostOnlyPlacer(jobs, events, firstJob, words, names, timeline).place();
}

}  // namespace pipetrace
