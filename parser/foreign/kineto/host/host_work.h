#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "parser/foreign/kineto/categories.h"

namespace pipetrace {

/// A stretch of time of a thread.
struct HostSpan {
  Nanoseconds begin = 0;
  Nanoseconds end = 0;

  bool holds(Nanoseconds time) const { return begin <= time && time <= end; }
};

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

  /// The end of the last operator that ended by then, or kNsMin.
  Nanoseconds lastEndBy(Nanoseconds time) const;

  /// The first operator of autograd's engine that begins in `span`.
  std::optional<Nanoseconds> firstAutogradIn(const HostSpan& span) const;

  /// The annotation around a message's posting, or null.
  const Note* noteOf(const Message& message) const;
};

/// `events`: those of a thread, in order. `names`: what annotations of messages mean.
HostWork readHostWork(const std::vector<Event>& events, const KinetoWords& words,
                      ForeignNames& names);

}  // namespace pipetrace
