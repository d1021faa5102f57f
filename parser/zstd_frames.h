#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace pipetrace {

/// The first bytes of a frame of zstd (RFC 8878).
inline constexpr std::string_view kFrameMagic = "\x28\xb5\x2f\xfd";

/// Decodes frames of zstd, which come in pieces. A damaged frame gives what was decoded of it, and
/// a line end. Then bytes are passed over up to the next frame. Not thread-safe.
class ZstdFrames {
 public:
  ZstdFrames();
  ~ZstdFrames();
  ZstdFrames(const ZstdFrames&) = delete;
  ZstdFrames& operator=(const ZstdFrames&) = delete;

  /// Takes bytes from the front of `raw`, and returns what they give: that may be nothing. Call it
  /// as long as there is raw, or hasMore(). Holds until the next call.
  std::string_view next(std::string_view& raw);
  /// Whether it may give more without any raw.
  bool hasMore() const { return hasMore_; }
  /// Whether a frame has begun that has not ended.
  bool isInside() const { return isInside_; }
  bool hasDamage() const { return hasDamage_; }

 private:
  std::string_view decode(std::string_view& raw);
  bool seek(std::string_view& raw);

  void* stream_;
  std::vector<char> decoded_;
  bool hasMore_ = false;
  bool isInside_ = false;
  bool hasDamage_ = false;
  bool seeks_ = false;
  std::size_t found_ = 0;  // where it seeks: how many bytes of the magic came last
};

}  // namespace pipetrace
