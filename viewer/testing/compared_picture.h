#pragma once

#include <gtest/gtest.h>

#include <QImage>
#include <string>

namespace pipetrace {

/// Whether two pictures are alike: of one size, and at most 0.5 % of their pixels differ by more
/// than 8 levels in a colour. A failure says how much differs.
testing::AssertionResult areAlike(const QImage& seen, const QImage& expected);

/// Compares with the picture in the file `path` of the source tree. On a difference the picture is
/// left in build/pictures, and the message names both. With PIPETRACE_UPDATE_PICTURES=1 in the
/// environment it writes the file instead, unless they are alike.
testing::AssertionResult isAsCommitted(const QImage& seen, const std::string& path);

}  // namespace pipetrace
