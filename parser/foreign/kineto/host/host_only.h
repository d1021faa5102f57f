#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "parser/foreign/kineto/categories.h"
#include "parser/foreign/kineto/host/host_collectives.h"
#include "parser/foreign/kineto/host/host_span.h"
#include "trace/diagnostic.h"
#include "trace/event.h"
#include "trace/nanoseconds.h"

namespace pipetrace {

/// The operators and messages of one thread of the host, where work is done by operators and not on
/// a device.
struct HostWork {
  /// A message as the thread posted it and waited for it.
  struct Message {
    std::size_t event = 0;  ///< its index on the thread: `gloo:recv`
    HostSpan posted;        ///< the operator that posted it
    Nanoseconds end = 0;    ///< the wait for it was over
    bool isSend = false;
  };
  /// An annotation around the posting of messages: `PP:1RECV_F3`.
  struct Note {
    std::size_t event = 0;
    HostSpan span;
    JobKind kind = JobKind::kOther;
    std::int32_t stage = kNotGiven;
    std::int32_t microBatch = kNotGiven;
  };

  std::vector<HostSpan> operators;          ///< by begin; those of torch.distributed apart
  std::vector<Nanoseconds> ends;            ///< of the operators, ascending
  std::vector<Nanoseconds> autogradBegins;  ///< of operators of autograd's engine, ascending
  std::vector<Message> messages;            ///< by event
  std::vector<Note> notes;                  ///< by begin

  /// From the first begin to the last end of the operators wholly inside; nothing without any.
  std::optional<HostSpan> within(const HostSpan& span) const;

  /// For how long operators run in `span`.
  Nanoseconds busyIn(const HostSpan& span) const;

  /// The end of the last operator that ended by then, or kNsMin.
  Nanoseconds lastEndBy(Nanoseconds time) const;

  /// The first operator of autograd's engine that begins in `span`.
  std::optional<Nanoseconds> firstAutogradIn(const HostSpan& span) const;

  /// The innermost annotation around a message's posting that is of its direction, or null.
  const Note* noteOf(const Message& message) const;
};

/// `events`: those of a thread, in order. `names`: what annotations of messages mean.
HostWork readHostWork(const std::vector<Event>& events, const KinetoWords& words,
                      ForeignNames& names);

/// How much of their annotations the operators of jobs fill, where jobs have the operators' times.
/// Work outside of operators is idle time then.
class OperatorShares {
 public:
  /// `job` lasts `filled`, of the `available` time that its annotation has after its receives.
  void add(const Event& job, Nanoseconds filled, Nanoseconds available);
  OperatorShares& operator+=(const OperatorShares& other);

  /// Warns where the operators of a stage's forwards or backwards fill less than three quarters of
  /// the time, and leave over 0.5 ms of a job empty on average. In traces of programs whose work is
  /// operators, jobs of 10 ms are filled to 90 % and more, and Python takes up to 0.3 ms of short
  /// ones. `rank` names jobs without a stage.
  void report(int rank, const std::string& file, Diagnostics& diagnostics) const;

 private:
  struct Sum {
    Nanoseconds filled = 0;
    Nanoseconds available = 0;
    std::int64_t jobs = 0;

    Sum& operator+=(const Sum& other);
    bool isLow() const;
  };
  std::map<std::pair<std::int32_t, JobKind>, Sum> sums_;  // by stage
};

/// A job on a thread of the host, and where its messages may be.
struct AnnotatedJob {
  Event event;                    ///< with the times of its annotation
  Event recorded;                 ///< the annotation as it was recorded
  HostSpan scope;                 ///< the annotation, or the schedule's own around it
  std::vector<HostSpan> loads{};  ///< data loaders inside it, in order
};

/// The jobs and messages of one thread of a trace without a device.
struct HostOnlyLanes {
  std::vector<Event> jobs;
  std::vector<Event> sends;
  std::vector<Event> receives;
  std::vector<Event> collectives;  ///< for as long as jobs waited for them
  std::vector<Event> noJobs;       ///< annotations of jobs that turned out to have done nothing
  OperatorShares shares;           ///< of the jobs that have the times of their operators
};

/// Places the jobs of a thread where their operators ran, as a wait for a message is no work.
///
/// A job that torch.distributed.pipelining annotates, or in which a receive ends, lasts from the
/// first to the last of its operators after the end of its receives. Without one it begins at the
/// end of its receives. It also begins after a data loader inside it, if most of its operators come
/// after that. A fused pair becomes a forward, and a backward that begins after the end of
/// its receive, else with autograd. A half of a backward (`PP:0I3`) without an operator is no job:
/// the other half does its work.
///
/// The annotation around the posting of a message (`PP:1RECV_F3`) says what it is. Else it belongs
/// to the job inside of which it is posted, unless operators ran there before a receive ended: it
/// was posted ahead. Else a receive belongs to the next job, and a send to the one before it.
/// Messages that belong to none stay where they are.
///
/// A receive that was over as soon as its job waited for it is marked, others say how long the
/// thread waited (trace/event_arguments.h).
/// A send ends when the wait for it did, and has its span as host_begin and host_end: its true end
/// is that of its receive (endSendsWithReceives).
///
/// A job that waits for collectives lasts from its first wait and to its last one, where these are
/// outside of its operators.
///
/// `jobs`: those of the thread, in order. `events`: the rest of the thread. It loses the messages,
/// and its annotations of messages lose their kinds. Job numbers count from `firstJob`.
/// `collectives`: those of the trace, in which the thread has the number `thread`.
HostOnlyLanes placeHostOnly(const std::vector<AnnotatedJob>& jobs, std::vector<Event>& events,
                            std::int64_t firstJob, const HostCollectives& collectives,
                            std::uint32_t thread, const KinetoWords& words, ForeignNames& names,
                            Timeline& timeline);

}  // namespace pipetrace
