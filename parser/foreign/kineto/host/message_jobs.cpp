#include "parser/foreign/kineto/host/message_jobs.h"

#include <algorithm>
#include <functional>

#include "parser/device_time/host_jobs.h"

namespace pipetrace {
namespace {

/// Where at most one job in four has a receive, these are no jobs that receive.
constexpr std::int64_t kJobsPerStray = 4;
/// The same of jobs that name no stage: some of their chunks may have receives and others none.
constexpr std::int64_t kMostStrays = 2;

}  // namespace

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

std::optional<std::size_t> MessageJobs::around(const HostWork::Message& message) const {
  const Nanoseconds posted = message.posted.begin;
  auto next = std::partition_point(jobs_.begin(), jobs_.end(), [&](const HostOnlyJob& job) {
    return job.scope.begin <= posted;
  });
  std::optional<std::size_t> found;
  while (next != jobs_.begin() && std::prev(next)->scope.holds(posted)) {
    --next;
    // A scope holds one job, or several that a schedule's own annotation has inside.
    const bool isPosted =
        !isFoundPair(next->event.kind, next->event.stage) && next->span.end >= message.end;
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
  // Earlier messages, as those that tell the shapes of tensors, are no job's.
  const auto isNext = [&](const HostWork::Message& m) { return m.posted.begin >= time; };
  const auto isOfTheJob = [&](const HostWork::Message& other) {
    return other.posted.begin < next->scope.begin || next->scope.holds(other.end);
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

}  // namespace pipetrace
