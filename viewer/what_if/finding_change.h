#pragma once

#include <optional>

#include "analysis/causes/findings.h"
#include "viewer/what_if/changes.h"

namespace pipetrace {

/// The change that removes what a finding is about, by its facts: a slow stage or rank as fast as
/// others, a slow link as fast as those, no wait for data, usual launches. Nothing where no change
/// of the panel does that.
std::optional<WhatIfChanges> changeThatRemoves(const Finding& finding);

}  // namespace pipetrace
