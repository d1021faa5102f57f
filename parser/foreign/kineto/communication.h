#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "parser/device_time/launches.h"
#include "parser/foreign/kineto/categories.h"

namespace pipetrace {

/// The calls of the host that launched communication: `record_param_comms` with its arguments, and
/// the annotations `nccl:send 0->1` and `PP:1SEND_F3` around them.
class CommunicationCalls {
 public:
  /// `trace` and `names` must outlive it. `threads`: the host's, in the order of their numbers.
  CommunicationCalls(std::span<ForeignTrace::Lane* const> threads, const ForeignTrace& trace,
                     ForeignNames& names);

  /// Describes a kernel of NCCL by its own arguments, else by the calls around its launch (null:
  /// not known): kind, micro-batch, stage, peer, and the argument `bytes`. Returns the lane that it
  /// belongs to: `send`, `recv`, or none for a collective and for what has no direction.
  std::string_view describe(Event& kernel, const Launch* launch) const;

 private:
  struct Call {
    Nanoseconds begin = 0;
    Nanoseconds end = 0;
    Event event;
  };
  struct Facts {
    bool isSend = false;
    bool isRecv = false;
    std::optional<std::int64_t> peer;
    std::optional<std::int64_t> elements;
    std::string_view type;
  };

  void addFacts(const Event& event, Facts& facts) const;
  void addNamed(std::string_view name, Facts& facts) const;

  Timeline& timeline_;
  ForeignNames& names_;
  std::vector<std::vector<Call>> calls_;  // by thread, in the order of their begins
};

}  // namespace pipetrace
