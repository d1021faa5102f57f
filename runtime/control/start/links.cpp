#include "runtime/control/start/links.h"

#include <sys/resource.h>

#include <set>

namespace pipetrace {
namespace {

constexpr int kChildren = 16;
constexpr int kTop = kChildren + 1;  // ranks 0 to 16

int parentOf(int rank) { return (rank - 1) / kChildren; }

/// A level of the tree: ranks `first` to `first + size - 1`, but for the last level, which may be
/// shorter.
struct Level {
  int first = 0;
  int size = 1;
  int depth = 0;
};

Level levelOf(int rank) {
  Level level;
  while (rank >= level.first + level.size) {
    level = {.first = level.first + level.size,
             .size = level.size * kChildren,
             .depth = level.depth + 1};
  }
  return level;
}

int secondParentOf(int rank) {
  const int parent = parentOf(rank);
  const Level level = levelOf(parent);
  return level.first + (parent - level.first + level.size / 2) % level.size;
}

}  // namespace

ControlLinks linksOf(int rank, int worldSize, int mostInMesh) {
  std::set<int> neighbours;
  ControlLinks links;
  links.isTree = worldSize > mostInMesh;
  const int all = links.isTree ? kTop : worldSize;
  for (int other = 0; rank < all && other < all && other < worldSize; ++other) {
    neighbours.insert(other);
  }
  if (links.isTree) {
    links.levels = levelOf(worldSize - 1).depth + 1;
    if (rank > 0) links.parent = parentOf(rank);
    for (int other = 1; other < worldSize; ++other) {
      if (parentOf(other) == rank) links.children.push_back(other);
      if (other < kTop) continue;
      const int first = parentOf(other);
      const int second = secondParentOf(other);
      if (other == rank) neighbours.insert({first, second});
      if (first == rank || second == rank) neighbours.insert(other);
    }
  }
  neighbours.erase(rank);
  links.neighbours.assign(neighbours.begin(), neighbours.end());
  return links;
}

void allowMoreFiles() {
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files) != 0) return;
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);
}

}  // namespace pipetrace
