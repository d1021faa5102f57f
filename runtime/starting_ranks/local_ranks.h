#pragma once

#include <signal.h>

#include <memory>
#include <string>
#include <vector>

#include "runtime/starting_ranks/child_process.h"
#include "runtime/starting_ranks/rank_environment.h"
#include "runtime/starting_ranks/rank_output.h"
#include "runtime/starting_ranks/ranks_on_host.h"

namespace pipetrace {

/// The log of a rank in a folder: workerlog.<rank>.
std::string rankLogPath(const std::string& folder, int rank);

/// Ranks on this host: a process each, whose output goes to its log and onto the display.
class LocalRanks : public RanksOnHost {
 public:
  /// Starts them with `signals` as their mask. Those that were started are killed if another one
  /// cannot be. Throws Error.
  LocalRanks(const std::vector<std::string>& command, const std::vector<RankPlace>& places,
             const sigset_t& signals);

  void addTo(std::vector<pollfd>& waiting, bool hasRoom) const override;
  std::vector<RankEnd> newEnds(RanksDisplay& display) override;
  void readOutput(RanksDisplay& display) override;
  bool isDone() const override;
  void signal(int number) override;
  void finish(RanksDisplay& display) override;
  std::string lastLines(int rank) const override;
  std::vector<std::string> warnings() const override;

 private:
  struct Rank {
    int number = 0;
    std::unique_ptr<RankOutput> output{};
    std::unique_ptr<RankProcess> process{};
    bool ended = false;
    std::size_t readAfterEnd = 0;
  };
  static void read(Rank& rank, RanksDisplay& display);

  std::vector<Rank> ranks_;
};

}  // namespace pipetrace
