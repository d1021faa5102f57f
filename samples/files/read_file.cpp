#include "samples/files/read_file.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include "trace/error.h"

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

}  // namespace pipetrace
