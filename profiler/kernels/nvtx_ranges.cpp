#include "profiler/kernels/nvtx_ranges.h"

#include <nvtx3/nvToolsExt.h>

#include <array>
#include <string>

namespace pipetrace {
namespace {

/// Colours of kinds, as opaque ARGB.
std::uint32_t colourOf(JobKind kind) noexcept {
  if (kind == JobKind::kForward) return 0xFF4E9A51;
  if (isCompute(kind)) return 0xFFD98032;
  if (isTransfer(kind)) return 0xFF4878B0;
  if (isCollective(kind)) return 0xFF8D6AB8;
  return 0xFF7A7A7A;
}

}  // namespace

/// Registered once: a tool then gets numbers instead of texts.
struct NvtxRanges::Names {
  nvtxDomainHandle_t domain = nvtxDomainCreateA("pipetrace");
  std::array<nvtxStringHandle_t, kJobKindCount> texts{};

  Names() {
    for (int kind = 0; kind < kJobKindCount; ++kind) {
      const std::string name(logName(static_cast<JobKind>(kind)));
      texts.at(static_cast<std::size_t>(kind)) = nvtxDomainRegisterStringA(domain, name.c_str());
      nvtxDomainNameCategoryA(domain, static_cast<std::uint32_t>(kind) + 1, name.c_str());
    }
  }
  ~Names() { nvtxDomainDestroy(domain); }
  Names(const Names&) = delete;
  Names& operator=(const Names&) = delete;

  nvtxEventAttributes_t attributes(JobKind kind, std::int32_t microBatch) const noexcept {
    nvtxEventAttributes_t made{};
    made.version = NVTX_VERSION;
    made.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    made.category = static_cast<std::uint32_t>(kind) + 1;
    made.colorType = NVTX_COLOR_ARGB;
    made.color = colourOf(kind);
    made.payloadType = NVTX_PAYLOAD_TYPE_INT32;
    made.payload.iValue = microBatch;
    made.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
    made.message.registered = texts[static_cast<std::size_t>(kind)];
    return made;
  }
};

NvtxRanges::NvtxRanges() : names_(std::make_unique<const Names>()) {}

NvtxRanges::~NvtxRanges() = default;

void NvtxRanges::push(JobKind kind, std::int32_t microBatch) const noexcept {
  const nvtxEventAttributes_t attributes = names_->attributes(kind, microBatch);
  nvtxDomainRangePushEx(names_->domain, &attributes);
}

void NvtxRanges::pop() const noexcept { nvtxDomainRangePop(names_->domain); }

std::uint64_t NvtxRanges::start(JobKind kind, std::int32_t microBatch) const noexcept {
  const nvtxEventAttributes_t attributes = names_->attributes(kind, microBatch);
  return nvtxDomainRangeStartEx(names_->domain, &attributes);
}

void NvtxRanges::end(std::uint64_t range) const noexcept {
  nvtxDomainRangeEnd(names_->domain, range);
}

}  // namespace pipetrace
