// The ranges as a tool sees them. A profiler such as Nsight Systems puts its own functions into
// NVTX's tables when the program first calls NVTX; this program brings such a tool with it.
#include "profiler/kernels/nvtx_ranges.h"

#include <gmock/gmock.h>

#include <cstdint>

// How NVTX asks a tool that is in the program to begin; its headers would say that there is none.
extern "C" int (*InitializeInjectionNvtx2_fnptr)(const void* (*)(std::uint32_t));
#define NVTX_STATIC_INJECTION_IMPL
#include <nvtx3/nvToolsExt.h>

#include <deque>
#include <map>
#include <string>
#include <thread>
#include <vector>

namespace pipetrace {
namespace {

using testing::ElementsAre;

/// The calls that the tool received; its handles are the addresses of the things that they name.
struct Tool {
  std::deque<std::string> texts;
  std::map<std::uint32_t, std::string> categories;
  std::vector<std::string> calls;
};
Tool tool;

template <typename Handle>
Handle handleOf(const char* text) {
  return reinterpret_cast<Handle>(&tool.texts.emplace_back(text));
}
template <typename Handle>
const std::string& textOf(Handle handle) {
  return *reinterpret_cast<const std::string*>(handle);
}

std::string described(nvtxDomainHandle_t domain, const nvtxEventAttributes_t& range) {
  if (range.messageType != NVTX_MESSAGE_TYPE_REGISTERED ||
      range.payloadType != NVTX_PAYLOAD_TYPE_INT32 || range.colorType != NVTX_COLOR_ARGB) {
    return "not as agreed";
  }
  return textOf(domain) + " " + textOf(range.message.registered) + " " +
         std::to_string(range.payload.iValue) + " (" + tool.categories[range.category] + ")";
}

nvtxDomainHandle_t createDomain(const char* name) { return handleOf<nvtxDomainHandle_t>(name); }
nvtxStringHandle_t registerText(nvtxDomainHandle_t, const char* text) {
  return handleOf<nvtxStringHandle_t>(text);
}
void nameCategory(nvtxDomainHandle_t, std::uint32_t category, const char* name) {
  tool.categories[category] = name;
}
int push(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* range) {
  tool.calls.push_back("push " + described(domain, *range));
  return 0;
}
int pop(nvtxDomainHandle_t domain) {
  tool.calls.push_back("pop " + textOf(domain));
  return 0;
}
nvtxRangeId_t start(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* range) {
  tool.calls.push_back("start " + described(domain, *range));
  return 17;
}
void end(nvtxDomainHandle_t domain, nvtxRangeId_t range) {
  tool.calls.push_back("end " + textOf(domain) + " " + std::to_string(range));
}

template <typename Function>
void put(NvtxFunctionTable table, int at, Function function) {
  *table[at] = reinterpret_cast<NvtxFunctionPointer>(function);
}

int attach(NvtxGetExportTableFunc_t exportTable) {
  const auto* const callbacks =
      static_cast<const NvtxExportTableCallbacks*>(exportTable(NVTX_ETID_CALLBACKS));
  NvtxFunctionTable table = nullptr;
  unsigned int size = 0;
  if (callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE2, &table, &size) == 0) return 0;
  put(table, NVTX_CBID_CORE2_DomainCreateA, createDomain);
  put(table, NVTX_CBID_CORE2_DomainRegisterStringA, registerText);
  put(table, NVTX_CBID_CORE2_DomainNameCategoryA, nameCategory);
  put(table, NVTX_CBID_CORE2_DomainRangePushEx, push);
  put(table, NVTX_CBID_CORE2_DomainRangePop, pop);
  put(table, NVTX_CBID_CORE2_DomainRangeStartEx, start);
  put(table, NVTX_CBID_CORE2_DomainRangeEnd, end);
  return 1;
}

TEST(NvtxRangesTest, AToolSeesEveryJobWithItsKindAndMicroBatch) {
  const NvtxRanges ranges;
  ranges.push(JobKind::kForward, 3);
  ranges.push(JobKind::kSendForward, 4);
  ranges.pop();
  ranges.pop();
  EXPECT_THAT(tool.calls, ElementsAre("push pipetrace forward 3 (forward)",
                                      "push pipetrace send_forward 4 (send_forward)",
                                      "pop pipetrace", "pop pipetrace"));
  tool.calls.clear();
}

TEST(NvtxRangesTest, AJobMayEndOnAnotherThread) {
  const NvtxRanges ranges;
  const std::uint64_t range = ranges.start(JobKind::kRecvForward, 5);
  std::thread([&] { ranges.end(range); }).join();
  EXPECT_THAT(tool.calls,
              ElementsAre("start pipetrace recv_forward 5 (recv_forward)", "end pipetrace 17"));
  tool.calls.clear();
}

}  // namespace
}  // namespace pipetrace

int (*InitializeInjectionNvtx2_fnptr)(const void* (*)(std::uint32_t)) = pipetrace::attach;
