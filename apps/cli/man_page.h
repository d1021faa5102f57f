#pragma once

#include <string>
#include <vector>

#include "apps/cli/flag_table.h"

namespace pipetrace {

/// The manual page of `program` in the `man` macros of roff, from the tables of its commands, the
/// one without a command first.
std::string manPage(const std::string& program, const std::string& version,
                    const std::vector<FlagTable>& tables);

}  // namespace pipetrace
