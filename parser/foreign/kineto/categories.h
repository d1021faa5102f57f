#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "parser/foreign/foreign_trace.h"
#include "parser/foreign/names/foreign_names.h"

namespace pipetrace {

/// The categories of Kineto's events that are treated differently.
enum class KinetoCategory : std::uint8_t {
  kHost,              ///< calls of the runtime, and the rest
  kOperator,          ///< an operator on the host
  kAnnotation,        ///< `record_function` on the host
  kKernel,            ///< on a device, as those that follow
  kCopy,              ///< a copy or a memset
  kDeviceAnnotation,  ///< the image of an annotation
};

/// Tells events of a Kineto trace apart by their categories, names and arguments. Any number of
/// threads may use one at once.
class KinetoWords {
 public:
  /// `trace` and `names` must outlive it. Strings that the trace gets later are not known.
  KinetoWords(const ForeignTrace& trace, const ForeignNames& names);

  KinetoCategory categoryOf(const Event& event) const;
  bool isDevice(const ForeignTrace::Lane& lane) const;

  /// "ProfilerStep#7": the 7.
  std::optional<std::int32_t> stepOf(const Event& event) const;
  /// An operator of autograd's engine, which runs a backward pass.
  bool isAutograd(const Event& event) const { return has(event.name, kAutograd); }
  /// The operator of autograd's engine that a backward begins with. It is that of no operator of a
  /// forward.
  bool isGraphRoot(const Event& event) const { return has(event.name, kGraphRoot); }
  /// The call of a function that runs one job (`with_stack=True`), such as `forward_step`.
  bool isJobCall(const Event& event) const { return has(event.name, kJobCall); }
  /// A kernel of NCCL or RCCL.
  bool isCommunication(const Event& event) const { return has(event.name, kCommunication); }

  /// Whether the trace has a message between two ranks.
  bool hasMessages() const { return hasMessages_; }
  /// The wait for a message that this rank receives or sends (`gloo:recv`), which begins as the
  /// message is posted.
  bool isReceive(const Event& event) const { return has(event.name, kReceive); }
  bool isSend(const Event& event) const { return has(event.name, kSend); }
  /// An operator of torch.distributed.
  bool isOfProcessGroup(const Event& event) const { return has(event.name, kProcessGroup); }
  /// Such an operator that posts a message.
  bool isPost(const Event& event) const { return has(event.name, kPost); }
  /// The annotation of a thread of a process group that runs a collective (`gloo:all_reduce`).
  bool isCollectiveRun(const Event& event) const { return has(event.name, kCollectiveRun); }
  /// The operator that waits for the tensor of a collective.
  bool isTensorWait(const Event& event) const { return has(event.name, kTensorWait); }
  /// An operator that posts a collective and gives its tensor to `wait_tensor`.
  bool isTensorPost(const Event& event) const { return has(event.name, kTensorPost); }
  /// An annotation of torch's own around what is no job: the optimizer and the data loader.
  bool isAside(const Event& event) const { return has(event.name, kAside); }

  /// Numbers among an event's arguments; nothing where it has none.
  struct Numbers {
    std::optional<std::int64_t> externalId;   ///< of the operator that launched it
    std::optional<std::int64_t> correlation;  ///< of a launch and of its work
    std::optional<std::int64_t> sequence;     ///< of an operator and of its backward
    std::optional<std::int64_t> forwardThread;
    std::optional<std::int64_t> graphNode;  ///< of the CUDA graph that ran a kernel
  };
  Numbers numbersOf(const Event& event) const;

 private:
  enum Trait : std::uint16_t {
    kStep = 1,
    kAutograd = 2,
    kCommunication = 4,
    kReceive = 8,
    kSend = 16,
    kProcessGroup = 32,
    kPost = 64,
    kAside = 128,
    kGraphRoot = 256,
    kJobCall = 512,
    kCollectiveRun = 1024,
    kTensorWait = 2048,
    kTensorPost = 4096,
  };

  static std::uint16_t traitsOf(std::string_view name);

  bool has(StringId name, Trait trait) const { return (traits_[name] & trait) != 0; }

  const Timeline& timeline_;
  const ForeignNames& names_;
  std::array<StringId, 6> categories_{};
  std::vector<std::uint16_t> traits_;  // by name
  bool hasMessages_ = false;
  StringId externalId_;
  StringId correlation_;
  StringId sequence_;
  StringId forwardThread_;
  StringId graphNode_;
};

}  // namespace pipetrace
