#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "parser/device_time/host_jobs.h"
#include "parser/device_time/launches.h"
#include "parser/foreign/names/foreign_names.h"
#include "trace/rank_info.h"
#include "trace/timeline.h"

namespace pipetrace {

/// Bytes of an element, by c10's names of types; 0: the type is not known.
std::int64_t bytesOfElement(std::string_view type);

/// The numbers in a list such as "[0, 4, 8]", up to the first that is none: PyTorch cuts long
/// lists.
std::vector<std::int64_t> numbersInList(std::string_view list);

/// The lane of collectives that ran on a stream with other kernels.
inline constexpr std::string_view kCommunicationLane = "nccl";

/// The ranks of each group of a rank by its name (`pg_name`), which other ranks may give another
/// group.
using RanksOfGroups = std::map<std::string, std::vector<int>, std::less<>>;

/// The events of a thread of the host. They must stay where they are.
struct ThreadEvents {
  const std::vector<Event>* events = nullptr;
  std::uint32_t process = 0;
  bool arePosts = false;  ///< all of them are around the posts of messages, whatever their names
};

/// The calls of the host that launched communication: `record_param_comms` with its arguments, and
/// the annotations `nccl:send 0->1` and `PP:1SEND_F3` around them.
class CommunicationCalls {
 public:
  /// All but `threads` must outlive it. `threads`: the host's, in the order of their numbers.
  CommunicationCalls(const std::vector<ThreadEvents>& threads, int rank,
                     const RanksOfGroups& ranksOfGroups, Timeline& timeline, ForeignNames& names,
                     const HostJobs& jobs);

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
  ///
  /// `lastEnd`: when the message before on the stream ended (kNsMax: there is none); it becomes
  /// that of this one. A message that was launched later gets message_arguments::kPostDelay.
  std::vector<Message> describe(Event& kernel, const Launch* launch, Nanoseconds& lastEnd) const;

  /// The groups of ranks that kernels and calls name, and what they are used for.
  std::vector<CommunicationGroup> groups() const;

 private:
  struct Call {
    Nanoseconds begin = 0;
    Nanoseconds end = 0;
    Event event;
    bool isPost = false;  // its name says which message is posted in it
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

  std::vector<Message> messagesOf(Event& kernel, const Launch* launch) const;
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
  const RanksOfGroups& ranksOfGroups_;
  int rank_;
  std::vector<std::uint32_t> processes_;                                    // by thread
  std::map<std::pair<std::string_view, std::string_view>, GroupUse> uses_;  // by ranks and name
  bool areUsesOfCalls_ = false;                                             // else of kernels
  std::vector<std::vector<Call>> calls_;            // by thread, in the order of their begins
  std::vector<std::vector<Nanoseconds>> launches_;  // by thread
};

}  // namespace pipetrace
