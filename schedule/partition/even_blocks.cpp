#include "schedule/partition/even_blocks.h"

#include <string>

#include "trace/error.h"

namespace pipetrace {

static std::string numberOf(int number, const char* what) {
  return std::to_string(number) + " " + what + (number == 1 ? "" : "s");
}

std::vector<int> evenBlocks(int numBlocks, int numStages) {
  if (numStages < 1 || numBlocks < numStages) {
    throw Error("a model of " + numberOf(numBlocks, "block") + " cannot be cut into " +
                numberOf(numStages, "stage") + "; use fewer stages or more blocks");
  }
  std::vector<int> blocks;
  for (int s = 0; s < numStages; ++s) {
    blocks.push_back(numBlocks / numStages + (s < numBlocks % numStages ? 1 : 0));
  }
  return blocks;
}

}  // namespace pipetrace
