#include "chart/rows/row_edits.h"

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

namespace pipetrace {
namespace {

/// The keys among which a row can be moved.
std::vector<std::string> neighbourKeys(const RowState& state, const RowTree& tree,
                                       std::size_t node) {
  if (isPinned(tree, state, node)) return state.pinned;
  std::vector<std::string> keys;
  for (const std::size_t child : orderedChildren(tree, state, tree[node].parent)) {
    keys.push_back(tree[child].key);
  }
  return keys;
}

/// The order of the rows below a node.
void setOrder(RowState& state, const RowTree& tree, std::size_t parent,
              std::vector<std::string> keys) {
  std::vector<std::string> natural;
  for (const std::size_t child : tree.childrenOf(parent)) natural.push_back(tree[child].key);
  const std::string of = parent == RowNode::kNone ? std::string() : tree[parent].key;
  if (keys == natural) {
    state.order.erase(of);
  } else {
    state.order[of] = std::move(keys);
  }
}

void setNeighbours(RowState& state, const RowTree& tree, std::size_t node,
                   std::vector<std::string> keys) {
  if (isPinned(tree, state, node)) {
    state.pinned = std::move(keys);
  } else {
    setOrder(state, tree, tree[node].parent, std::move(keys));
  }
}

}  // namespace

bool isPinned(const RowTree& tree, const RowState& state, std::size_t node) {
  return std::find(state.pinned.begin(), state.pinned.end(), tree[node].key) != state.pinned.end();
}

RowState withFold(RowState state, const RowTree& tree, std::size_t node, bool isFolded) {
  if (!tree.canFold(node)) return state;
  if (isFolded == tree[node].startsFolded) {
    state.folded.erase(tree[node].key);
  } else {
    state.folded[tree[node].key] = isFolded;
  }
  return state;
}

RowState withAllFolded(RowState state, const RowTree& tree, bool isFolded) {
  for (std::size_t node = 0; node < tree.size(); ++node) {
    state = withFold(std::move(state), tree, node, isFolded);
  }
  return state;
}

RowState withPin(RowState state, const RowTree& tree, std::size_t node, bool isPinned) {
  std::erase(state.pinned, tree[node].key);
  if (isPinned) state.pinned.push_back(tree[node].key);
  return state;
}

RowState withHidden(RowState state, const RowTree& tree, std::size_t node) {
  state.hidden.insert(tree[node].key);
  return state;
}

RowState withAllShown(RowState state) {
  state.hidden.clear();
  state.filter.clear();
  state.only.reset();
  return state;
}

RowState withMoved(RowState state, const RowTree& tree, std::size_t node, int places) {
  std::vector<std::string> keys = neighbourKeys(state, tree, node);
  const bool amongPinned = isPinned(tree, state, node);
  const auto isSkipped = [&](const std::string& key) {
    const std::size_t other = tree.find(key);
    if (other == RowNode::kNone || state.hidden.contains(key)) return true;
    return !amongPinned && isPinned(tree, state, other);
  };
  auto at = std::find(keys.begin(), keys.end(), tree[node].key);
  const int step = places < 0 ? -1 : 1;
  for (; places != 0; places -= step) {
    auto to = at;
    do {
      if (step < 0 ? to == keys.begin() : to + 1 == keys.end()) {
        setNeighbours(state, tree, node, std::move(keys));
        return state;
      }
      to += step;
    } while (isSkipped(*to));
    if (step < 0) {
      std::rotate(to, at, at + 1);
    } else {
      std::rotate(at, at + 1, to + 1);
    }
    at = to;
  }
  setNeighbours(state, tree, node, std::move(keys));
  return state;
}

RowState withMovedNextTo(RowState state, const RowTree& tree, std::size_t node, std::size_t other,
                         bool isAfter) {
  std::vector<std::string> keys = neighbourKeys(state, tree, node);
  if (node == other || std::find(keys.begin(), keys.end(), tree[other].key) == keys.end()) {
    return state;
  }
  std::erase(keys, tree[node].key);
  auto at = std::find(keys.begin(), keys.end(), tree[other].key);
  keys.insert(isAfter ? at + 1 : at, tree[node].key);
  setNeighbours(state, tree, node, std::move(keys));
  return state;
}

RowState withRanksSorted(RowState state, const RowTree& tree,
                         const std::map<std::string, double>& values) {
  std::vector<double> valueOf(tree.size(), -std::numeric_limits<double>::infinity());
  std::set<std::size_t> parents;
  for (std::size_t node = tree.size(); node-- > 0;) {  // parents come first
    const RowNode& at = tree[node];
    if (at.kind > RowKind::kRank) continue;
    parents.insert(at.parent);
    const auto value = values.find(at.key);
    if (at.kind == RowKind::kRank && value != values.end()) valueOf[node] = value->second;
    if (at.parent != RowNode::kNone) {
      valueOf[at.parent] = std::max(valueOf[at.parent], valueOf[node]);
    }
  }
  for (const std::size_t parent : parents) {
    std::vector<std::size_t> nodes = tree.childrenOf(parent);
    std::stable_sort(nodes.begin(), nodes.end(),
                     [&](std::size_t a, std::size_t b) { return valueOf[a] > valueOf[b]; });
    std::vector<std::string> keys;
    for (const std::size_t node : nodes) keys.push_back(tree[node].key);
    setOrder(state, tree, parent, std::move(keys));
  }
  return state;
}

RowState withRunOrder(RowState state) {
  state.order.clear();
  return state;
}

RowState withSameFolds(RowState state, const RowTree& from, const RowTree& to) {
  for (std::size_t node = 0; node < from.size(); ++node) {
    const std::size_t same = to.find(from[node].key);
    if (same == RowNode::kNone || from[node].startsFolded == to[same].startsFolded) continue;
    const bool wasFolded = isFolded(from, state, node);
    state.folded.erase(from[node].key);
    if (wasFolded != to[same].startsFolded) state.folded[from[node].key] = wasFolded;
  }
  return state;
}

RowState withRevealed(RowState state, const RowTree& tree, std::size_t row) {
  const std::size_t node = tree.nodeOf(row);
  for (std::size_t at = node; at != RowNode::kNone; at = tree[at].parent) {
    state.hidden.erase(tree[at].key);
    if (at != node || tree[at].kind == RowKind::kLane) {
      state = withFold(std::move(state), tree, at, false);
    }
  }
  const ShownRows shown = shownRows(tree, state);
  const bool isShown = std::any_of(shown.rows.begin(), shown.rows.end(),
                                   [&](const ShownRow& each) { return each.row == row; });
  if (!isShown) {
    state.filter.clear();
    state.only.reset();
  }
  return state;
}

}  // namespace pipetrace
