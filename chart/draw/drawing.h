#pragma once

#include "chart/draw/canvas.h"

namespace pipetrace {

/// Something to draw on a canvas of its size.
class Drawing {
 public:
  Drawing() = default;
  Drawing(const Drawing&) = delete;
  Drawing& operator=(const Drawing&) = delete;
  virtual ~Drawing() = default;

  virtual int width() const = 0;   ///< pixels
  virtual int height() const = 0;  ///< pixels
  virtual void draw(Canvas& canvas) const = 0;
};

}  // namespace pipetrace
