#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace pipetrace {

/// The hosts of a list as Slurm writes it (SLURM_JOB_NODELIST), in its order: "a[01-03,7],b" is
/// a01, a02, a03, a7 and b. A name may have several brackets, the last of which counts fastest.
/// Throws Error that names the list, for one that is none and for more than 65536 hosts.
std::vector<std::string> slurmHosts(std::string_view list);

}  // namespace pipetrace
