#include "runtime/starting_ranks/local_ranks.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "trace/log/log_format.h"

namespace pipetrace {
namespace {

// Reads at most this much more from a rank's pipe after the rank itself has ended: a process that
// it started may still hold the pipe open. A pipe's own buffer is smaller.
constexpr std::size_t kReadAfterEnd = 1 << 20;

}  // namespace

std::string rankLogPath(const std::string& folder, int rank) {
  return folder + "/" + std::string(log_format::kFilePrefix) + std::to_string(rank);
}

LocalRanks::LocalRanks(const std::vector<std::string>& command,
                       const std::vector<RankPlace>& places, const sigset_t& signals) {
  for (const RankPlace& place : places) {
    Rank rank{.number = place.rank};
    rank.output =
        std::make_unique<RankOutput>(place.rank, rankLogPath(place.logDirectory, place.rank));
    rank.process = std::make_unique<RankProcess>(command, rankEnvironment(place), signals);
    ranks_.push_back(std::move(rank));
  }
}

void LocalRanks::addTo(std::vector<pollfd>& waiting, bool hasRoom) const {
  if (!hasRoom) return;
  for (const Rank& rank : ranks_) {
    if (rank.process->output() >= 0) waiting.push_back({rank.process->output(), POLLIN, 0});
  }
}

std::vector<RankEnd> LocalRanks::newEnds(RanksDisplay& /*display*/) {
  std::vector<RankEnd> ends;
  for (Rank& rank : ranks_) {
    if (rank.ended || !rank.process->hasEnded()) continue;
    rank.ended = true;
    ends.push_back({.rank = rank.number,
                    .succeeded = rank.process->succeeded(),
                    .wasKilled = rank.process->wasKilled(),
                    .text = rank.process->ending()});
  }
  return ends;
}

void LocalRanks::readOutput(RanksDisplay& display) {
  for (Rank& rank : ranks_) {
    if (!display.isFull()) read(rank, display);
  }
}

void LocalRanks::read(Rank& rank, RanksDisplay& display) {
  if (rank.process->output() < 0) return;
  std::array<char, 64 * 1024> buffer;
  const ssize_t n = ::read(rank.process->output(), buffer.data(), buffer.size());
  if (n > 0) {
    const auto size = static_cast<std::size_t>(n);
    const std::size_t before = display.pending().size();
    rank.output->add({buffer.data(), size}, display.pending());
    display.count(rank.number, before);
    if (rank.ended) rank.readAfterEnd += size;
    if (rank.readAfterEnd < kReadAfterEnd) return;
  } else if (n < 0 && (errno == EINTR || (errno == EAGAIN && !rank.ended))) {
    return;  // once it has ended, an empty pipe that somebody holds open is done
  }
  rank.process->closeOutput();
}

bool LocalRanks::isDone() const {
  return std::all_of(ranks_.begin(), ranks_.end(),
                     [](const Rank& rank) { return rank.ended && rank.process->output() < 0; });
}

void LocalRanks::signal(int number) {
  for (const Rank& rank : ranks_) rank.process->signal(number);
}

void LocalRanks::finish(RanksDisplay& display) {
  for (Rank& rank : ranks_) {
    const std::size_t before = display.pending().size();
    rank.output->finish(display.pending());
    display.count(rank.number, before);
  }
}

std::string LocalRanks::lastLines(int rank) const {
  for (const Rank& one : ranks_) {
    if (one.number == rank) return one.output->lastLines();
  }
  return {};
}

std::vector<std::string> LocalRanks::warnings() const {
  std::vector<std::string> warnings;
  for (const Rank& rank : ranks_) {
    const std::string warning = whatIsMissing(rank.output->log());
    if (!warning.empty()) warnings.push_back(warning);
  }
  return warnings;
}

}  // namespace pipetrace
