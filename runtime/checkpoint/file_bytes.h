#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pipetrace {

/// The CRC-32 of zlib, zip and PNG over bytes that come in pieces. It finds every change of a few
/// neighbouring bits, and any other one with 1 - 2^-32. It protects from disks and copies that
/// fail, not from forgers.
class Checksum {
 public:
  void add(std::string_view bytes);
  std::uint32_t value() const { return value_; }

 private:
  std::uint32_t value_ = 0;
};

std::uint32_t checksumOf(std::string_view bytes);

/// As 8 hexadecimal digits, lower case.
std::string checksumText(std::uint32_t checksum);

/// The size of a file in bytes; nullopt: there is none of that name. Throws Error for other
/// reasons.
std::optional<std::int64_t> fileSize(const std::string& path);

/// Throws Error if a file is missing, or has another size: it was cut off.
void requireSize(const std::string& path, std::int64_t bytes);

/// All bytes of a file. Throws Error if it is missing, cannot be read, has another size (it was cut
/// off), or another checksum.
std::vector<char> readCheckedFile(const std::string& path, std::int64_t bytes,
                                  std::uint32_t checksum);

}  // namespace pipetrace
