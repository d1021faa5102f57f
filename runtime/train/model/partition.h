#pragma once

#include <string>
#include <vector>

namespace pipetrace {

/// How the blocks of a model are spread over the stages of a pipeline.
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

/// The partition of an option: such a text itself if it begins with '{', else the path of a file.
/// Throws Error as readPartition() does.
Partition partitionOption(const std::string& text);

}  // namespace pipetrace
