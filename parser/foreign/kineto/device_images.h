#pragma once

#include <span>
#include <vector>

#include "parser/foreign/kineto/categories.h"

namespace pipetrace {

/// The images of the host's annotations on devices (`gpu_user_annotation`). An image covers the
/// work that the annotation's own thread launched on one stream.
class DeviceImages {
 public:
  DeviceImages(std::span<ForeignTrace::Lane* const> deviceLanes, const KinetoWords& words);

  bool empty() const { return images_.empty(); }

  struct Span {
    Nanoseconds begin = 0;
    Nanoseconds end = 0;
  };
  /// From the first begin to the last end of the images of an annotation: those that have its name
  /// and `External id`. Nothing where it has none.
  std::optional<Span> of(const Event& annotation, const KinetoWords& words) const;

 private:
  struct Image {
    StringId name = 0;
    std::int64_t externalId = 0;
    Span span;
  };
  std::vector<Image> images_;  // by name, then id
};

}  // namespace pipetrace
