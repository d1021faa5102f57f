#include "parser/foreign/kineto/categories.h"

#include <algorithm>
#include <iterator>

#include "parser/device_time/device_jobs.h"
#include "trace/kernel_names.h"
#include "trace/text/log_numbers.h"

namespace pipetrace {
namespace {

struct Word {
  std::string_view text;
  KinetoCategory category;
};

constexpr Word kWords[] = {{"user_annotation", KinetoCategory::kAnnotation},
                           {"cpu_op", KinetoCategory::kOperator},
                           {"kernel", KinetoCategory::kKernel},
                           {"gpu_memcpy", KinetoCategory::kCopy},
                           {"gpu_memset", KinetoCategory::kCopy},
                           {"gpu_user_annotation", KinetoCategory::kDeviceAnnotation}};

/// Functions of Megatron-LM, of torch.distributed.pipelining and of DeepSpeed that run one job, as
/// they end the names of Python calls: "megatron/…/schedules.py(321): forward_step".
constexpr std::string_view kJobCalls[] = {"): forward_step",
                                          "): backward_step",
                                          "): forward_one_chunk",
                                          "): backward_one_chunk",
                                          "): backward_weight_one_chunk",
                                          "): _exec_forward_pass",
                                          "): _exec_backward_pass"};

constexpr std::string_view kStepName = "ProfilerStep#";
constexpr std::string_view kAutogradName = "autograd::engine::";
constexpr std::string_view kTensorOperators = "_c10d_functional::";
constexpr std::string_view kTensorWaitName = "_c10d_functional::wait_tensor";

}  // namespace

KinetoWords::KinetoWords(const ForeignTrace& trace, const ForeignNames& names)
    : timeline_(trace.timeline), names_(names) {
  StringTable& strings = trace.timeline.strings;
  std::transform(std::begin(kWords), std::end(kWords), categories_.begin(),
                 [&](const Word& word) { return strings.intern(word.text); });
  externalId_ = strings.intern("External id");
  correlation_ = strings.intern("correlation");
  sequence_ = strings.intern("Sequence number");
  forwardThread_ = strings.intern("Fwd thread id");
  graphNode_ = strings.intern("graph node id");
  traits_.resize(strings.size());
  for (StringId id = 0; id < traits_.size(); ++id) {
    traits_[id] = traitsOf(strings[id]);
    hasMessages_ = hasMessages_ || (traits_[id] & (kReceive | kSend)) != 0;
  }
}

std::uint16_t KinetoWords::traitsOf(std::string_view name) {
  const auto begins = [&](std::string_view start) { return name.starts_with(start); };
  std::uint16_t traits = 0;
  if (begins(kStepName)) traits |= kStep;
  if (begins(kAutogradName)) traits |= kAutograd;
  if (isCommunicationKernel(name)) traits |= kCommunication;
  if (begins("gloo:recv") || begins("nccl:recv")) traits |= kReceive;
  if (begins("gloo:send") || begins("nccl:send")) traits |= kSend;
  if (begins("c10d::") || name == "record_param_comms") traits |= kProcessGroup;
  if (begins("c10d::recv") || name == "c10d::send") traits |= kPost;
  if (begins("gloo:") && (traits & (kReceive | kSend)) == 0) traits |= kCollectiveRun;
  if (begins(kTensorOperators)) traits |= name == kTensorWaitName ? kTensorWait : kTensorPost;
  if (std::any_of(std::begin(kJobCalls), std::end(kJobCalls),
                  [&](std::string_view end) { return name.ends_with(end); })) {
    traits |= kJobCall;
  }
  if (begins(kAutogradName) && name.ends_with("::GraphRoot")) traits |= kGraphRoot;
  if (begins("Optimizer.") || begins("enumerate(DataLoader")) traits |= kAside;
  return traits;
}

KinetoCategory KinetoWords::categoryOf(const Event& event) const {
  if (event.kind == JobKind::kKernel) return KinetoCategory::kKernel;
  const StringId id = names_.categoryOf(event);
  if (id == 0) return KinetoCategory::kHost;
  const auto found = std::find(categories_.begin(), categories_.end(), id);
  return found == categories_.end() ? KinetoCategory::kHost
                                    : kWords[found - categories_.begin()].category;
}

bool KinetoWords::isDevice(const ForeignTrace::Lane& lane) const {
  switch (categoryOf(lane.thread->events.front())) {
    case KinetoCategory::kHost:
    case KinetoCategory::kOperator:
    case KinetoCategory::kAnnotation: return false;
    default: return true;
  }
}

std::optional<std::int32_t> KinetoWords::stepOf(const Event& event) const {
  if (!has(event.name, kStep) || categoryOf(event) != KinetoCategory::kAnnotation) return {};
  const auto step =
      parseNumber<std::int32_t>(timeline_.strings[event.name].substr(kStepName.size()));
  return step && *step >= 0 ? step : std::nullopt;
}

KinetoWords::Numbers KinetoWords::numbersOf(const Event& event) const {
  Numbers numbers;
  for (const Argument& argument : timeline_.argumentsOf(event)) {
    if (argument.type != ArgumentType::kInteger) continue;
    if (argument.key == externalId_) numbers.externalId = argument.integer;
    if (argument.key == correlation_) numbers.correlation = argument.integer;
    if (argument.key == sequence_) numbers.sequence = argument.integer;
    if (argument.key == forwardThread_) numbers.forwardThread = argument.integer;
    if (argument.key == graphNode_) numbers.graphNode = argument.integer;
  }
  return numbers;
}

}  // namespace pipetrace
