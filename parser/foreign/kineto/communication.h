#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "parser/device_time/host_jobs.h"
#include "parser/device_time/launches.h"
#include "parser/foreign/kineto/categories.h"

namespace pipetrace {

/// The calls of the host that launched communication: `record_param_comms` with its arguments, and
/// the annotations `nccl:send 0->1` and `PP:1SEND_F3` around them.
class CommunicationCalls {
 public:
  /// All must outlive it. `threads`: the host's, in the order of their numbers.
  CommunicationCalls(std::span<ForeignTrace::Lane* const> threads, const ForeignTrace& trace,
                     ForeignNames& names, const HostJobs& jobs);

  /// Notes the launch of a kernel of NCCL. Call it for all of them before describe().
  void addLaunch(const Launch& launch);

  /// A send or a receive that a kernel of NCCL ran, for one peer.
  struct Message {
    Event event;
    bool isSend = false;
  };

  /// Describes a kernel of NCCL. Its own arguments count first, then the calls around its launch
  /// (null: not known), then the calls of a group that ended with the launch
  /// (torch.distributed.batch_isend_irecv). They give the peer and the argument `bytes`. The job
  /// that a message was posted for gives kind, micro-batch and stage. Returns the sends and
  /// receives that the kernel ran. There are none for a collective, which gets its bytes, and where
  /// the trace gives no direction.
  std::vector<Message> describe(Event& kernel, const Launch* launch) const;

 private:
  struct Call {
    Nanoseconds begin = 0;
    Nanoseconds end = 0;
    Event event;
  };
  struct Facts;
  struct Post;

  void addFacts(const Event& event, Facts& facts) const;
  void addNamed(std::string_view name, Facts& facts) const;
  void addCall(const Call& call, Facts& facts) const;
  void addAround(const Launch& launch, Facts& facts) const;
  std::vector<Post> postedInGroup(const Launch& launch) const;
  void setDirections(std::vector<Post>& posts) const;
  Message messageOf(const Event& kernel, const Post& post, const Launch* launch) const;
  void giveJob(Message& message, const Post& post, std::uint32_t thread) const;
  void addBytes(Event& event, std::int64_t bytes) const;

  Timeline& timeline_;
  ForeignNames& names_;
  const HostJobs& jobs_;
  int rank_ = 0;
  std::vector<std::vector<Call>> calls_;            // by thread, in the order of their begins
  std::vector<std::vector<Nanoseconds>> launches_;  // by thread
};

}  // namespace pipetrace
