#include "parser/foreign/kineto/device_images.h"

#include <algorithm>
#include <tuple>

namespace pipetrace {

DeviceImages::DeviceImages(std::span<ForeignTrace::Lane* const> deviceLanes,
                           const KinetoWords& words) {
  for (const ForeignTrace::Lane* lane : deviceLanes) {
    for (const Event& event : lane->thread->events) {
      if (words.categoryOf(event) != KinetoCategory::kDeviceAnnotation) continue;
      const auto id = words.numbersOf(event).externalId;
      if (id) images_.push_back({event.name, *id, {event.begin, event.end}});
    }
  }
  std::sort(images_.begin(), images_.end(), [](const Image& a, const Image& b) {
    return std::tie(a.name, a.externalId) < std::tie(b.name, b.externalId);
  });
}

std::optional<DeviceImages::Span> DeviceImages::of(const Event& annotation,
                                                   const KinetoWords& words) const {
  const auto id = words.numbersOf(annotation).externalId;
  if (!id) return std::nullopt;
  const std::pair key(annotation.name, *id);
  auto at = std::partition_point(images_.begin(), images_.end(), [&](const Image& image) {
    return std::pair(image.name, image.externalId) < key;
  });
  std::optional<Span> span;
  for (; at != images_.end() && std::pair(at->name, at->externalId) == key; ++at) {
    if (!span) span = at->span;
    span->begin = std::min(span->begin, at->span.begin);
    span->end = std::max(span->end, at->span.end);
  }
  return span;
}

}  // namespace pipetrace
