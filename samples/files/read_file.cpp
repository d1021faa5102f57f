#include "samples/files/read_file.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string_view>

#include "trace/error.h"
#include "trace/text/utf8.h"

namespace pipetrace {

std::string readFile(const std::string& path) {
  const auto fail = [&] {
    return Error(fmt::format("cannot read {}: {}", path, std::strerror(errno)));
  };
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"),
                                                             &std::fclose);
  if (!file) throw fail();
  std::string bytes;
  char buffer[1 << 16];
  while (const std::size_t got = std::fread(buffer, 1, sizeof(buffer), file.get())) {
    bytes.append(buffer, got);
  }
  if (std::ferror(file.get()) != 0) throw fail();
  return bytes;
}

std::string readText(const std::string& path) {
  std::string text = readFile(path);
  std::string_view rest = text;
  while (!rest.empty() && rest.front() != 0) {
    const std::size_t length = utf8Length(rest);
    if (length == 0) break;
    rest.remove_prefix(length);
  }
  if (rest.empty()) return text;
  const std::size_t offset = text.size() - rest.size();
  throw Error(
      fmt::format("{} is no text in UTF-8: it has the byte 0x{:02x} at offset {}; iconv makes "
                  "UTF-8 of texts in "
                  "other encodings",
                  path, static_cast<unsigned char>(text[offset]), offset));
}

}  // namespace pipetrace
