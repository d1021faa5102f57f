#include "runtime/starting_ranks/launchers/launched_place.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdint>
#include <cstdlib>

#include "trace/error.h"

namespace pipetrace {
namespace {

constexpr int kMostRanks = 1 << 20;
constexpr int kMostPort = 65'535;

class PlaceReader {
 public:
  PlaceReader(const Variables& variables, int ranks, const std::string& master)
      : variables_(variables), ranks_(ranks), master_(master) {}

  LaunchedPlace read() {
    LaunchedPlace place = find();
    if (place.ranks != ranks_) {
      throw Error(place.launcher + " has started " + std::to_string(place.ranks) +
                  " processes, but the plan has " + std::to_string(ranks_) + " ranks");
    }
    if (place.rank >= place.ranks || place.localRank >= place.localRanks) {
      throw Error(place.launcher + " says that this is process " + std::to_string(place.rank) +
                  " of " + std::to_string(place.ranks) + ", and " +
                  std::to_string(place.localRank) + " of " + std::to_string(place.localRanks) +
                  " on this host");
    }
    setMaster(place);
    return place;
  }

 private:
  bool has(const std::string& name) const { return !variables_(name).empty(); }

  long long number(const std::string& name, long long most) const {
    const std::string text = variables_(name);
    long long value = -1;
    const char* const end = text.data() + text.size();
    const auto [last, error] = std::from_chars(text.data(), end, value);
    if (error != std::errc() || last != end || value < 0 || value > most) {
      throw Error("environment variable " + name + " = '" + text + "' is no number from 0 to " +
                  std::to_string(most));
    }
    return value;
  }
  int place(const std::string& name) const { return static_cast<int>(number(name, kMostRanks)); }
  int placeOr(const std::string& name, int otherwise) const {
    return has(name) ? place(name) : otherwise;
  }

  LaunchedPlace find() const {
    // The innermost launcher counts: mpirun in a job of Slurm starts the processes itself.
    if (has("RANK") && has("WORLD_SIZE")) {
      return named("torchrun", "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE");
    }
    if (has("OMPI_COMM_WORLD_RANK")) {
      return named("Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
                   "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE");
    }
    if (has("SLURM_PROCID") && has("SLURM_STEP_ID")) return slurm();
    if (has("PMI_RANK")) {
      return named("PMI", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS");
    }
    if (has("PMIX_RANK")) {
      return named("PMIx", "PMIX_RANK", "", "PMIX_LOCAL_RANK", "PMIX_LOCAL_SIZE");
    }
    if (has("JOB_COMPLETION_INDEX")) return kubernetes();
    if (has("SLURM_PROCID")) {
      throw Error(
          "SLURM_PROCID is set and SLURM_STEP_ID is not, as in a job file outside of a step; start "
          "the ranks with srun");
    }
    throw Error(
        "no launcher has started this process: there is none of SLURM_PROCID (srun), "
        "OMPI_COMM_WORLD_RANK, PMI_RANK and PMIX_RANK (mpirun), JOB_COMPLETION_INDEX (Kubernetes), "
        "and RANK with WORLD_SIZE (torchrun); without a launcher leave --rank-of-launcher out");
  }

  /// Where the number of processes on the host is not known, all are taken to be there.
  LaunchedPlace named(const std::string& launcher, const std::string& rank, const std::string& size,
                      const std::string& localRank, const std::string& localSize) const {
    LaunchedPlace found;
    found.launcher = launcher;
    found.rank = place(rank);
    found.ranks = size.empty() ? ranks_ : placeOr(size, ranks_);
    found.localRank = placeOr(localRank, found.rank);
    found.localRanks = placeOr(localSize, found.ranks);
    found.job = variables_("PMIX_NAMESPACE");
    for (char& c : found.job) {
      const bool isPlain = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '.';
      if (!isPlain) c = '_';
    }
    found.restart = placeOr("TORCHELASTIC_RESTART_COUNT", 0);
    return found;
  }

  /// A pod of an Indexed Job is a host of its own.
  LaunchedPlace kubernetes() const {
    LaunchedPlace found;
    found.launcher = "Kubernetes";
    found.rank = place("JOB_COMPLETION_INDEX");
    found.ranks = ranks_;
    return found;
  }

  LaunchedPlace slurm() const {
    LaunchedPlace found;
    found.launcher = "Slurm";
    found.rank = place("SLURM_PROCID");
    found.ranks = placeOr("SLURM_STEP_NUM_TASKS", placeOr("SLURM_NTASKS", ranks_));
    found.localRank = placeOr("SLURM_LOCALID", found.rank);
    found.localRanks = localRanksOfSlurm(found);
    found.restart = placeOr("SLURM_RESTART_COUNT", 0);
    found.job = "slurm-" + variables_("SLURM_JOB_ID") + "." + variables_("SLURM_STEP_ID");
    return found;
  }

  /// "2(x3),1": the tasks of each node, by SLURM_NODEID.
  int localRanksOfSlurm(const LaunchedPlace& found) const {
    std::string list = variables_("SLURM_STEP_TASKS_PER_NODE");
    if (list.empty()) list = variables_("SLURM_TASKS_PER_NODE");
    if (list.empty()) return found.ranks;
    int node = placeOr("SLURM_NODEID", 0);
    for (std::size_t at = 0; at < list.size();) {
      const std::size_t comma = std::min(list.find(',', at), list.size());
      const std::string piece = list.substr(at, comma - at);
      const std::size_t times = piece.find("(x");
      const int tasks = std::atoi(piece.c_str());
      const int nodes = times == std::string::npos ? 1 : std::atoi(piece.c_str() + times + 2);
      if (tasks < 1 || nodes < 1) break;
      if (node < nodes) return tasks;
      node -= nodes;
      at = comma + 1;
    }
    throw Error("environment variable SLURM_TASKS_PER_NODE = '" + list +
                "' does not say how many tasks this node has");
  }

  std::string nodesOfSlurm() const {
    for (const char* const name : {"SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST", "SLURM_NODELIST"}) {
      if (has(name)) return variables_(name);
    }
    throw Error(
        "Slurm does not say where the ranks meet, as SLURM_STEP_NODELIST and SLURM_JOB_NODELIST "
        "are not set; give --master HOST:PORT");
  }

  void setMaster(LaunchedPlace& place) const {
    if (!master_.empty()) {
      const std::size_t colon = master_.rfind(':');
      const std::string port = colon == std::string::npos ? "" : master_.substr(colon + 1);
      const bool isPort = !port.empty() && port.size() <= 5 &&
                          port.find_first_not_of("0123456789") == std::string::npos;
      place.masterPort = isPort ? std::atoi(port.c_str()) : 0;
      place.masterAddress = master_.substr(0, colon);
      if (place.masterPort >= 1 && place.masterPort <= kMostPort && colon > 0) return;
      throw Error("--master " + master_ + " is no HOST:PORT");
    }
    if (has("MASTER_ADDR") && has("MASTER_PORT")) {
      place.masterAddress = variables_("MASTER_ADDR");
      place.masterPort = static_cast<int>(number("MASTER_PORT", kMostPort));
      return;
    }
    if (place.launcher != "Slurm") {
      throw Error(place.launcher +
                  " does not say where the ranks meet; give --master HOST:PORT, the host of rank 0 "
                  "and a port that is free there");
    }
    place.masterAddress = slurmHosts(nodesOfSlurm()).front();
    constexpr long long kMostId = 1LL << 40;
    place.masterPort = slurmPort(number("SLURM_JOB_ID", kMostId), number("SLURM_STEP_ID", kMostId));
  }

  const Variables& variables_;
  const int ranks_;
  const std::string master_;
};

constexpr std::size_t kMostHosts = 65'536;

class HostListReader {
 public:
  explicit HostListReader(std::string_view list) : list_(list), rest_(list) {}

  std::vector<std::string> read() {
    std::vector<std::string> hosts;
    while (true) {
      const std::vector<std::string> more = readNames();
      hosts.insert(hosts.end(), more.begin(), more.end());
      if (hosts.size() > kMostHosts) fail("it has too many hosts");
      if (rest_.empty()) return hosts;
      rest_.remove_prefix(1);  // the comma
    }
  }

 private:
  [[noreturn]] void fail(const std::string& why) const {
    throw Error("the list of hosts " + std::string(list_) + " cannot be read: " + why);
  }

  /// Up to the next comma outside of brackets.
  std::vector<std::string> readNames() {
    std::vector<std::string> names = {""};
    bool isEmpty = true;
    while (!rest_.empty() && rest_.front() != ',') {
      isEmpty = false;
      const std::vector<std::string> pieces =
          rest_.front() == '[' ? readBrackets() : std::vector<std::string>{readPlain()};
      std::vector<std::string> longer;
      if (names.size() * pieces.size() > kMostHosts) fail("it has too many hosts");
      for (const std::string& name : names) {
        for (const std::string& piece : pieces) longer.push_back(name + piece);
      }
      names = std::move(longer);
    }
    if (isEmpty) fail("a name is empty");
    return names;
  }

  std::string readPlain() {
    const std::size_t end = std::min(rest_.find_first_of("[,"), rest_.size());
    const std::string_view piece = rest_.substr(0, end);
    if (piece.find(']') != std::string_view::npos) fail("a bracket has no beginning");
    rest_.remove_prefix(end);
    return std::string(piece);
  }

  std::vector<std::string> readBrackets() {
    const std::size_t end = rest_.find(']');
    if (end == std::string_view::npos) fail("a bracket has no end");
    std::string_view inside = rest_.substr(1, end - 1);
    rest_.remove_prefix(end + 1);
    std::vector<std::string> pieces;
    while (true) {
      const std::size_t comma = std::min(inside.find(','), inside.size());
      addRange(inside.substr(0, comma), pieces);
      if (comma == inside.size()) return pieces;
      inside.remove_prefix(comma + 1);
    }
  }

  std::int64_t numberIn(std::string_view digits) const {
    constexpr std::size_t kMostDigits = 9;
    std::int64_t number = -1;
    const char* const end = digits.data() + digits.size();
    const bool isNumber = digits.size() <= kMostDigits && !digits.empty() &&
                          digits.front() != '-' &&
                          std::from_chars(digits.data(), end, number).ptr == end;
    if (!isNumber) fail("a bracket has " + std::string(digits) + ", which is no number");
    return number;
  }

  /// "7", or "01-03" with as many digits each.
  void addRange(std::string_view range, std::vector<std::string>& pieces) const {
    const std::size_t dash = range.find('-');
    const std::string_view low = range.substr(0, dash);
    const std::int64_t first = numberIn(low);
    const std::int64_t last =
        dash == std::string_view::npos ? first : numberIn(range.substr(dash + 1));
    if (last < first || last - first >= static_cast<std::int64_t>(kMostHosts)) {
      fail("a bracket has " + std::string(range) + ", which is no range");
    }
    for (std::int64_t number = first; number <= last; ++number) {
      const std::string digits = std::to_string(number);
      const std::size_t zeros = low.size() > digits.size() ? low.size() - digits.size() : 0;
      pieces.push_back(std::string(zeros, '0') + digits);
    }
  }

  const std::string_view list_;
  std::string_view rest_;
};

}  // namespace

LaunchedPlace launchedPlace(const Variables& variables, int ranks, const std::string& master) {
  return PlaceReader(variables, ranks, master).read();
}

int slurmPort(long long job, long long step) {
  constexpr long long kFirst = 10'240;
  constexpr long long kCount = 22'500;
  constexpr long long kStepsApart = 97;  // of jobs that follow each other
  return static_cast<int>(kFirst + (job % kCount * kStepsApart + step % kCount) % kCount);
}

std::vector<std::string> slurmHosts(std::string_view list) { return HostListReader(list).read(); }

}  // namespace pipetrace
