#pragma once

#include <string>

namespace pipetrace::test {

/// A path in the source tree, such as "docs/metrics.md". A test runs from any folder.
std::string inSources(const std::string& path);

/// A path in the build folder, such as "bin/pipe-trace".
std::string inBuild(const std::string& path);

}  // namespace pipetrace::test
