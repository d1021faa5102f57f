#include "parser/chrome/trace.h"
#include "parser/profile/common_format.h"

#include <utility>

namespace pipetrace {

void ChromeTrace::addMetadataOfRank(std::string_view json) {
  const std::string whole =
      "{\"" + std::string(common_format::kOurs) + "\":" + std::string(json) + "}";
  auto more = readProfileMetadata(whole);
  if (!more) return;
  if (!metadata) metadata.emplace();
  metadata->format = more->format;
  metadata->origin = more->origin;
  for (auto& [rank, info] : more->ranks) metadata->ranks[rank] = std::move(info);
}

}  // namespace pipetrace
