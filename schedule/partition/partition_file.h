#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "schedule/partition/block_table.h"

namespace pipetrace {

/// How the blocks of a model are spread over the stages of a pipeline, as people say it.
struct Partition {
  std::vector<int> blocks;  ///< of each stage, in the model's order; at least one each
  /// Share of a stage's blocks, its last int(share * blocks), that run again before their backward
  /// instead of keeping what it needs: 0 to 1. Empty: none.
  std::vector<double> recomputeRatio;

  int numStages() const { return static_cast<int>(blocks.size()); }
  /// The blocks of `stage` that run again.
  int recomputed(int stage) const;
};

/// As equal numbers of blocks as possible, the larger ones first. Throws Error if there are fewer
/// blocks than stages.
Partition evenPartition(int numBlocks, int numStages);

/// Throws Error with the reason if the partition does not fit these numbers.
void requireFits(const Partition& partition, int numBlocks, int numStages);

/// Reads a file such as {"partition": [12, 13, 13, 11], "recompute_ratio": [0.3, 0, 0, 0]}; the
/// ratios may be left out. A further key "made_by" says which program wrote it. Throws Error that
/// names the file and what is wrong with it.
Partition readPartition(const std::string& path);
/// The same of a file's text.
Partition partitionIn(const std::string& text);

/// Whether a partition file has that "made_by". Throws Error as readPartition() does.
bool isPartitionMadeBy(const std::string& path, const std::string& program);

/// Whether the partition of an option is its text itself: that of a file, which begins with '{', or
/// the blocks of the stages alone, "12,13,13,11".
bool isPartitionText(std::string_view text);

/// The partition of an option: such a text, else the path of a file. Throws Error as
/// readPartition() does.
Partition partitionOption(const std::string& text);

/// The numbers of blocks that run again, in place of their shares.
BlockPartition blockPartitionOf(const Partition& partition);

/// Numbers of blocks by stage, "12,13,13,11", as logs and options have them. Throws Error for a
/// text that is no such list of numbers from 0 to 1 000 000.
std::vector<int> blockCountsFrom(std::string_view text);
std::string blockCountsText(const std::vector<int>& blocks);

/// The recompute ratio of a stage, a decimal number from 0 to 1 with few digits. int(ratio *
/// blocks) of its blocks run again, and these are `recomputed`.
std::string recomputeRatio(int recomputed, int blocks);
double recomputeRatioNumber(int recomputed, int blocks);

/// The partition as a file that trainings read: {"partition": [12, 13], "recompute_ratio": [0.3,
/// 0]}, with a newline. `madeBy`, plain letters, is a further key "made_by" where it is not empty.
std::string partitionFile(const BlockPartition& partition, const std::string& madeBy = {});

/// As equal numbers of blocks as possible, the larger ones first. Throws Error if there are fewer
/// blocks than stages.
std::vector<int> evenBlocks(int numBlocks, int numStages);

}  // namespace pipetrace
