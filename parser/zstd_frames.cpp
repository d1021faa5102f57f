#include "parser/zstd_frames.h"

#include <zstd.h>

#include <algorithm>
#include <new>

namespace pipetrace {
namespace {

ZSTD_DStream* asStream(void* stream) { return static_cast<ZSTD_DStream*>(stream); }

}  // namespace

ZstdFrames::ZstdFrames()
    : stream_(ZSTD_createDStream()), decoded_(ZSTD_DStreamOutSize() + 1) {  // and a line end
  if (stream_ == nullptr) throw std::bad_alloc();
}

ZstdFrames::~ZstdFrames() { ZSTD_freeDStream(asStream(stream_)); }

std::string_view ZstdFrames::next(std::string_view& raw) {
  if (seeks_ && !seek(raw)) return {};
  return decode(raw);
}

std::string_view ZstdFrames::decode(std::string_view& raw) {
  ZSTD_inBuffer in{.src = raw.data(), .size = raw.size(), .pos = 0};
  ZSTD_outBuffer out{.dst = decoded_.data(), .size = decoded_.size() - 1, .pos = 0};
  const std::size_t result = ZSTD_decompressStream(asStream(stream_), &out, &in);
  const bool isDamaged = ZSTD_isError(result) != 0;
  if (isDamaged) {
    hasDamage_ = seeks_ = true;
    ZSTD_DCtx_reset(asStream(stream_), ZSTD_reset_session_only);
    in.pos = std::max(in.pos, std::min<std::size_t>(raw.size(), 1));  // not this frame again
    decoded_[out.pos++] = '\n';
  }
  raw.remove_prefix(in.pos);
  hasMore_ = !isDamaged && result != 0 && out.pos == out.size;
  isInside_ = !isDamaged && result != 0;
  return {decoded_.data(), out.pos};
}

/// Passes over what comes before the next frame. False: it has not come yet.
bool ZstdFrames::seek(std::string_view& raw) {
  while (!raw.empty() && found_ < kFrameMagic.size()) {
    const char byte = raw.front();
    raw.remove_prefix(1);
    // None of its bytes but the first is like the first.
    found_ = byte == kFrameMagic[found_] ? found_ + 1 : byte == kFrameMagic[0] ? 1 : 0;
  }
  if (found_ < kFrameMagic.size()) return false;
  found_ = 0;
  seeks_ = false;
  std::string_view magic = kFrameMagic;
  decode(magic);
  return true;
}

}  // namespace pipetrace
