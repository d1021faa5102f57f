#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "parser/device_time/host_jobs.h"
#include "parser/device_time/launches.h"
#include "parser/foreign/kineto/categories.h"
#include "parser/foreign/kineto_trace.h"

namespace pipetrace {

/// Bytes of an element, by c10's names of types; 0: the type is not known.
std::int64_t bytesOfElement(std::string_view type);

/// The numbers in a list such as "[0, 4, 8]", up to the first that is none: PyTorch cuts long
/// lists.
std::vector<std::int64_t> numbersInList(std::string_view list);

/// The calls of the host that launched communication: `record_param_comms` with its arguments, and
/// the annotations `nccl:send 0->1` and `PP:1SEND_F3` around them.
class CommunicationCalls {
 public:
  /// All must outlive it. `threads`: the host's, in the order of their numbers.
  CommunicationCalls(std::span<ForeignTrace::Lane* const> threads, const ForeignTrace& trace,
                     ForeignNames& names, const HostJobs& jobs);

  /// Notes a kernel of NCCL and its launch (null: not known): the group that it is of, and what the
  /// group is used for. Call it for all of them before describe().
  void addKernel(const Event& kernel, const Launch* launch);

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
  /// the trace gives no direction. Nor are there any between ranks that share a stage,
  /// as where attention sends around the ranks of a sequence. The name of their group says so, or
  /// its use: it sends inside jobs only, while another one sends between them. Such a kernel is an
  /// all-to-all with the ranks that it exchanges messages with. A collective of several ranks that
  /// a compute job started gets the arguments of collective_arguments.
  std::vector<Message> describe(Event& kernel, const Launch* launch) const;

  /// The groups of ranks that kernels and calls name, and what they are used for.
  std::vector<CommunicationGroup> groups() const;

 private:
  struct Call {
    Nanoseconds begin = 0;
    Nanoseconds end = 0;
    Event event;
  };
  struct Facts;
  struct Post;
  struct HostPlace {
    std::uint32_t thread = 0;
    Nanoseconds time = 0;
  };
  /// How this rank uses a group.
  struct GroupUse {
    CommunicationGroup group;
    std::int64_t reductionsInForwards = 0;
    bool sendsBetweenJobs = false;
  };

  void addFacts(const Event& event, Facts& facts) const;
  void addNamed(std::string_view name, Facts& facts) const;
  void addCall(const Call& call, Facts& facts) const;
  void addAround(const Launch& launch, Facts& facts) const;
  std::vector<std::int64_t> ranksOf(const Facts& facts) const;
  std::int32_t peerRank(const Facts& facts) const;
  void addUse(const Facts& facts, bool reduces, const std::optional<HostPlace>& at);
  bool isInJob(const HostPlace& at) const;
  bool isOfStage(const Facts& facts, const Launch* launch) const;
  std::vector<Post> postedInGroup(const Launch& launch, bool inStage) const;
  void setDirections(std::vector<Post>& posts) const;
  Message messageOf(const Event& kernel, const Post& post, const Launch* launch) const;
  void giveJob(Message& message, const Post& post, std::uint32_t thread) const;
  void addBytes(Event& event, std::int64_t bytes) const;
  static std::string_view useOf(const Facts& facts);
  std::optional<std::vector<std::int64_t>> partnersOf(const Facts& facts,
                                                      const std::vector<std::int64_t>& ranks) const;
  void addText(Event& event, std::string_view key, const std::string& text) const;
  void addGroupOf(Event& collective, const Facts& facts) const;
  void addExchange(Event& kernel, const std::vector<Post>& posts) const;
  void addMembers(Event& collective, const std::vector<std::int64_t>& ranks,
                  std::optional<std::vector<std::int64_t>> partners, std::string_view use,
                  std::optional<std::int64_t> sequence) const;

  Timeline& timeline_;
  ForeignNames& names_;
  const HostJobs& jobs_;
  const KinetoInfo& info_;
  int rank_ = 0;
  std::vector<std::uint32_t> processes_;                                    // by thread
  std::map<std::pair<std::string_view, std::string_view>, GroupUse> uses_;  // by ranks and name
  bool areUsesOfCalls_ = false;                                             // else of kernels
  std::vector<std::vector<Call>> calls_;            // by thread, in the order of their begins
  std::vector<std::vector<Nanoseconds>> launches_;  // by thread
};

}  // namespace pipetrace
