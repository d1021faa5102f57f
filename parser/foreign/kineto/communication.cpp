#include "parser/foreign/kineto/communication.h"

#include <algorithm>
#include <utility>

#include "trace/text/log_numbers.h"

namespace pipetrace {
namespace {

constexpr std::string_view kCall = "record_param_comms";
constexpr std::string_view kSendName = "nccl:send";
constexpr std::string_view kRecvName = "nccl:recv";
constexpr std::string_view kPipelineName = "PP:";

/// Bytes of an element, by c10's names of types.
std::int64_t sizeOf(std::string_view type) {
  constexpr std::pair<std::string_view, std::int64_t> kSizes[] = {
      {"Double", 8}, {"Long", 8},     {"Float", 4},         {"Int", 4},
      {"Half", 2},   {"BFloat16", 2}, {"Short", 2},         {"Byte", 1},
      {"Char", 1},   {"Bool", 1},     {"Float8_e4m3fn", 1}, {"Float8_e5m2", 1}};
  for (const auto& [name, size] : kSizes) {
    if (name == type) return size;
  }
  return 0;
}

}  // namespace

CommunicationCalls::CommunicationCalls(std::span<ForeignTrace::Lane* const> threads,
                                       const ForeignTrace& trace, ForeignNames& names)
    : timeline_(trace.timeline), names_(names), calls_(threads.size()) {
  for (std::size_t t = 0; t < threads.size(); ++t) {
    for (const Event& event : threads[t]->thread->events) {
      const std::string_view name = timeline_.strings[event.name];
      const bool isCall =
          name == kCall || name.starts_with(kSendName) || name.starts_with(kRecvName) ||
          (name.starts_with(kPipelineName) && isTransfer(names.known(event.name).kind));
      if (isCall) calls_[t].push_back({event.begin, event.end, event});
    }
  }
}

/// "nccl:send 0->1" and "nccl:recv 1<-0".
void CommunicationCalls::addNamed(std::string_view name, Facts& facts) const {
  facts.isSend = facts.isSend || name.starts_with(kSendName);
  facts.isRecv = facts.isRecv || name.starts_with(kRecvName);
  const std::string_view arrow = name.starts_with(kSendName) ? "->" : "<-";
  const std::size_t at = name.find(arrow);
  if (at != std::string_view::npos && !facts.peer) {
    facts.peer = parseNumber<std::int64_t>(name.substr(at + arrow.size()));
  }
}

void CommunicationCalls::addFacts(const Event& event, Facts& facts) const {
  std::optional<std::int64_t> source;
  std::optional<std::int64_t> target;
  for (const Argument& argument : timeline_.argumentsOf(event)) {
    const std::string_view key = timeline_.strings[argument.key];
    if (argument.type == ArgumentType::kText) {
      const std::string_view text = timeline_.strings[argument.text];
      if (key == "Collective name") {
        facts.isSend = facts.isSend || text == "send";
        facts.isRecv = facts.isRecv || text == "recv";
      }
      if (key == "dtype" && facts.type.empty()) facts.type = text;
    } else if (argument.type == ArgumentType::kInteger) {
      if (key == "Src Rank") source = argument.integer;
      if (key == "Dst Rank") target = argument.integer;
      if (key == "In msg nelems" || key == "Out msg nelems") {
        facts.elements = std::max(facts.elements.value_or(0), argument.integer);
      }
    }
  }
  const std::optional<std::int64_t>& peer = facts.isSend ? target : source;
  if (!facts.peer && (facts.isSend || facts.isRecv)) facts.peer = peer;
}

std::string_view CommunicationCalls::describe(Event& kernel, const Launch* launch) const {
  Facts facts;
  addFacts(kernel, facts);
  const JobName* inPipeline = nullptr;
  if (launch != nullptr && launch->thread < calls_.size()) {
    const std::vector<Call>& calls = calls_[launch->thread];
    auto next = std::partition_point(calls.begin(), calls.end(),
                                     [&](const Call& c) { return c.begin <= launch->time; });
    // Calls nest three deep: the pipeline's annotation, NCCL's, and the operator.
    constexpr int kMostAround = 8;
    for (int i = 0; i < kMostAround && next != calls.begin(); ++i) {
      const Call& call = *--next;
      if (call.end <= launch->time) continue;
      const std::string_view name = timeline_.strings[call.event.name];
      if (name.starts_with(kPipelineName)) {
        inPipeline = &names_.known(call.event.name);
      } else if (name == kCall) {
        addFacts(call.event, facts);
      } else {
        addNamed(name, facts);
      }
    }
  }
  if (inPipeline != nullptr) {
    facts.isSend = facts.isSend || isSend(inPipeline->kind);
    facts.isRecv = facts.isRecv || isRecv(inPipeline->kind);
  }
  const std::int64_t bytes = facts.elements.value_or(0) * sizeOf(facts.type);
  if (bytes > 0) {
    const Argument argument = Argument::ofInteger(timeline_.strings.intern("bytes"), bytes);
    timeline_.addArguments(kernel, {&argument, 1});
  }
  if (facts.isSend == facts.isRecv) return {};  // a collective, or both directions at once
  if (inPipeline != nullptr) {
    kernel.kind = inPipeline->kind;
    kernel.microBatch = inPipeline->microBatch;
    kernel.stage = inPipeline->stage;
  }
  if (facts.peer && *facts.peer >= 0 && *facts.peer <= kHighestRank) {
    kernel.peer = static_cast<std::int32_t>(*facts.peer);
  }
  return facts.isSend ? kSendLane : kRecvLane;
}

}  // namespace pipetrace
