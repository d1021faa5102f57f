#pragma once

#include <vector>

namespace pipetrace {

/// With which ranks a rank has a control connection.
///
/// In runs of up to kMeshRanks ranks it has one with every other. Larger runs are a tree: rank 0,
/// 16 ranks below it, 16 below each of these, and so on. The first 17 ranks are all connected with
/// each other. Every rank below has a second parent, half a level away from the first, so that no
/// host of many ranks takes both with it.
struct ControlLinks {
  static constexpr int kMeshRanks = 256;

  bool isTree = false;
  std::vector<int> neighbours;  ///< ascending
  int parent = -1;              ///< in a tree, the first one; of rank 0 there is none
  std::vector<int> children;    ///< in a tree, those whose first parent this is
  int levels = 1;               ///< of the tree, rank 0's own one included
};

/// `mostInMesh`: instead of kMeshRanks, for tests.
ControlLinks linksOf(int rank, int worldSize, int mostInMesh = ControlLinks::kMeshRanks);

/// Lets this process open as many files as the system allows it, which are often more than the 1024
/// that programs have at first. A rank of a large run has a connection for each other rank that it
/// needs, and rank 0 one for every rank. Never fails.
void allowMoreFiles();

}  // namespace pipetrace
