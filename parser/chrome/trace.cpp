#include "parser/chrome/trace.h"

#include <utility>

#include "parser/chrome/format.h"

namespace pipetrace {

void ChromeTrace::addMetadataOfRank(std::string_view json) {
  const std::string whole =
      "{\"" + std::string(chrome_format::kOurs) + "\":" + std::string(json) + "}";
  auto more = readProfileMetadata(whole);
  if (!more) return;
  if (!metadata) metadata.emplace();
  metadata->format = more->format;
  metadata->origin = more->origin;
  for (auto& [rank, info] : more->ranks) metadata->ranks[rank] = std::move(info);
}

}  // namespace pipetrace
