#include "schedule/partition/even_blocks.h"

#include <string>

#include "trace/error.h"
#include "trace/text/number_text.h"

namespace pipetrace {

std::vector<int> evenBlocks(int numBlocks, int numStages) {
  if (numStages < 1 || numBlocks < numStages) {
    throw Error("a model of " + countText(numBlocks, "block") + " cannot be cut into " +
                countText(numStages, "stage") + "; use fewer stages or more blocks");
  }
  std::vector<int> blocks;
  for (int s = 0; s < numStages; ++s) {
    blocks.push_back(numBlocks / numStages + (s < numBlocks % numStages ? 1 : 0));
  }
  return blocks;
}

}  // namespace pipetrace
