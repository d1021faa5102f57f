#include "runtime/checkpoint/file_bytes.h"

#include <zlib.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "trace/error.h"

namespace pipetrace {

void Checksum::add(std::string_view bytes) {
  value_ = static_cast<std::uint32_t>(
      ::crc32_z(value_, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

std::uint32_t checksumOf(std::string_view bytes) {
  Checksum checksum;
  checksum.add(bytes);
  return checksum.value();
}

std::string checksumText(std::uint32_t checksum) {
  constexpr const char* kDigits = "0123456789abcdef";
  std::string text;
  for (int shift = 28; shift >= 0; shift -= 4) text += kDigits[checksum >> shift & 0xf];
  return text;
}

std::optional<std::int64_t> fileSize(const std::string& path) {
  std::error_code error;
  const auto size = std::filesystem::file_size(path, error);
  if (!error) return static_cast<std::int64_t>(size);
  if (error == std::errc::no_such_file_or_directory) return std::nullopt;
  throw Error("cannot read " + path + ": " + error.message());
}

void requireSize(const std::string& path, std::int64_t bytes) {
  const auto size = fileSize(path);
  if (!size) {
    throw Error(path + " is missing: the checkpoint is not whole; resume from another step");
  }
  if (*size == bytes) return;
  throw Error(path + " has " + std::to_string(*size) + " bytes and not " + std::to_string(bytes) +
              (*size < bytes ? ": it was cut off" : "") + "; resume from another step");
}

std::vector<char> readCheckedFile(const std::string& path, std::int64_t bytes,
                                  std::uint32_t checksum) {
  requireSize(path, bytes);
  std::vector<char> data(static_cast<std::size_t>(bytes));
  std::ifstream file(path, std::ios::binary);
  if (!file.read(data.data(), bytes)) {
    throw Error("cannot read " + path + ": " + std::strerror(errno));
  }
  const std::uint32_t found = checksumOf({data.data(), data.size()});
  if (found != checksum) {
    throw Error(path + " was damaged: its checksum is " + checksumText(found) + " and not " +
                checksumText(checksum) + "; resume from another step");
  }
  return data;
}

}  // namespace pipetrace
