#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace pipetrace {

/// The rank in the name of a file that has a number after the last "rank", or else after the last
/// "worker": `app_rank3.json`, `trace.rank-12.log`, `worker0.json`. Folders do not count.
std::optional<int> rankInName(std::string_view path);

/// A place in the grid of ranks.
struct GridPlace {
  int dataParallel = 0;
  int pipeline = 0;
  int tensorParallel = 0;

  bool operator==(const GridPlace&) const = default;
};

/// The place in the name of a file of MegatronApp's tracer,
/// `benchmark-data-<dp>-pipeline-<pp>-tensor-<tp>.json`, perhaps with `.gz`. Nothing for other
/// names.
std::optional<GridPlace> megatronAppPlace(std::string_view path);

/// For each file, the rank that its name gives:
/// - rankInName();
/// - else its place in the grid of the ranks, as in `dp0_pp1_tp0.json` or megatronAppPlace(). The
///   grid is as large as the names of all files show. Ranks are counted along `tp` first, then
///   `cp`, `dp` and `pp`, as Megatron, DeepSpeed and torchtitan do;
/// - else, of several files whose names differ in their numbers only, the number in which all
///   differ and which is 0 in one of them, as in `gpt-10.sqlite`. Where several are so, it is the
///   one without a gap; where that is not one either, none. A number of steps is no rank.
///
/// Where all files have one name, those of the folders that they lie in count in its place.
std::vector<std::optional<int>> ranksInNames(std::span<const std::string> paths);

/// The host in the name of a file that torch's `tensorboard_trace_handler` wrote:
/// `<host>_<pid>.<time>.pt.trace.json`, perhaps with `.gz`. Empty for other names.
std::string hostInName(std::string_view path);

}  // namespace pipetrace
