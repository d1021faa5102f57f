#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pipetrace {

/// The place of a process that another launcher than pipe-run and torchrun has started.
struct LaunchedPlace {
  std::string launcher;  ///< "Slurm", "Open MPI", "PMI", "PMIx", "Kubernetes", "torchrun"
  int rank = 0;
  int ranks = 1;
  int localRank = 0;
  int localRanks = 1;
  std::string masterAddress;
  int masterPort = 0;
  std::string job;  ///< names the run among those of the launcher: "slurm-417.0"; may be empty
  int restart = 0;  ///< how often the launcher has started the job before
};

/// A variable of the environment; empty where it is not set.
using Variables = std::function<std::string(const std::string& name)>;

/// Finds the place in the environment. `ranks` is how many the plan has: PMIX_RANK comes without
/// their number. `master` is "HOST:PORT", or empty.
///
/// - torchrun: RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR, MASTER_PORT, ...
/// - Slurm (srun): SLURM_PROCID, SLURM_NTASKS, SLURM_LOCALID. The master is the first host of
///   SLURM_JOB_NODELIST, and the port follows from SLURM_JOB_ID and SLURM_STEP_ID (slurmPort()).
/// - Open MPI's mpirun: OMPI_COMM_WORLD_RANK, _SIZE, _LOCAL_RANK, _LOCAL_SIZE.
/// - MPICH's and Intel's: PMI_RANK, PMI_SIZE, MPI_LOCALRANKID, MPI_LOCALNRANKS.
/// - others with PMIx: PMIX_RANK.
/// - Kubernetes (an Indexed Job, a rank a pod): JOB_COMPLETION_INDEX.
///
/// Those after Slurm need `master`, which counts for Slurm, too. Throws Error for a place that is
/// not there, is no number, or does not fit the ranks.
LaunchedPlace launchedPlace(const Variables& variables, int ranks, const std::string& master);

/// A port below those that systems give to programs that take any: 10240 to 32739. Steps of a job
/// have different ones, and jobs whose numbers follow each other, too.
int slurmPort(long long job, long long step);

/// The hosts of a list as Slurm writes it (SLURM_JOB_NODELIST), in its order: "a[01-03,7],b" is
/// a01, a02, a03, a7 and b. A name may have several brackets, the last of which counts fastest.
/// Throws Error that names the list, for one that is none and for more than 65536 hosts.
std::vector<std::string> slurmHosts(std::string_view list);

}  // namespace pipetrace
