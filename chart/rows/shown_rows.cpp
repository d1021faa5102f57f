#include "chart/rows/shown_rows.h"

#include <algorithm>

#include "trace/text/typed_text.h"

namespace pipetrace {
namespace {

bool isDigit(char c) { return c >= '0' && c <= '9'; }

bool finds(std::string_view part, std::string_view name) {
  for (std::size_t at = name.find(part); at != std::string_view::npos;
       at = name.find(part, at + 1)) {
    const std::size_t end = at + part.size();
    if (!isDigit(part.back()) || end == name.size() || !isDigit(name[end])) return true;
  }
  return false;
}

/// Lists the rows of one state.
class Lister {
 public:
  Lister(const RowTree& tree, const RowState& state)
      : tree_(tree), state_(state), isPinned_(tree.size()), isHidden_(tree.size()) {
    for (const std::string& key : state.hidden) {
      if (const std::size_t node = tree.find(key); node != RowNode::kNone) isHidden_[node] = true;
    }
    if (!state.filter.empty() || state.only) findMatches();
  }

  ShownRows list() {
    shown_.tree = &tree_;
    std::vector<std::size_t> pinned;
    for (const std::string& key : state_.pinned) {
      const std::size_t node = tree_.find(key);
      if (node == RowNode::kNone || isPinned_[node]) continue;
      isPinned_[node] = true;
      pinned.push_back(node);
    }
    for (const std::size_t node : pinned) add(node, 0, true);
    shown_.pinned = shown_.rows.size();
    for (const std::size_t node : orderedChildren(tree_, state_, RowNode::kNone))
      add(node, 0, false);
    placeRows();
    return std::move(shown_);
  }

 private:
  enum class Match : std::uint8_t { kNo, kBelow, kYes };  // kYes: it or a node above it is found

  void findMatches() {
    matches_.assign(tree_.size(), Match::kNo);
    for (std::size_t node = 0; node < tree_.size(); ++node) {  // parents come first
      const RowNode& at = tree_[node];
      const bool isAboveFound = at.parent != RowNode::kNone && matches_[at.parent] == Match::kYes;
      if (isAboveFound || rowMatches(state_.filter, at.names)) matches_[node] = Match::kYes;
    }
    if (state_.only) {
      for (std::size_t node = 0; node < tree_.size(); ++node) {
        if (!state_.only->contains(tree_[node].key)) matches_[node] = Match::kNo;
      }
    }
    for (std::size_t node = tree_.size(); node-- > 0;) {
      const std::size_t parent = tree_[node].parent;
      if (parent == RowNode::kNone || matches_[node] == Match::kNo || isHidden_[node]) continue;
      if (matches_[parent] == Match::kNo) matches_[parent] = Match::kBelow;
    }
  }

  Match matchOf(std::size_t node) const { return matches_.empty() ? Match::kYes : matches_[node]; }

  void add(std::size_t node, int depth, bool isTopOfPinned) {
    if (isHidden_[node] || matchOf(node) == Match::kNo) return;
    if (isPinned_[node] && !isTopOfPinned) return;
    const RowNode& at = tree_[node];
    const bool isOpened = matchOf(node) == Match::kBelow;
    const std::size_t index = shown_.rows.size();
    ShownRow& row = shown_.rows.emplace_back();
    row.kind = at.kind;
    row.node = node;
    row.row = at.row;
    row.depth = depth;
    row.canFold = !isOpened && tree_.canFold(node);
    row.isFolded = row.canFold && isFolded(tree_, state_, node);
    const bool showsSlowest = row.isFolded && at.slowest != RowNode::kNone;
    if (showsSlowest) row.row = at.slowest;
    row.isLoad = row.isFolded && !showsSlowest && at.kind != RowKind::kRank;
    row.isOneLine = at.isOneLine && !showsSlowest;
    row.label = at.label;
    row.detail = showsSlowest ? at.slowestDetail : at.detail;
    if (isTopOfPinned && at.kind >= RowKind::kLane) row.prefix = tree_[rankOf(node)].key;
    if (row.isFolded) return;
    for (const std::size_t child : orderedChildren(tree_, state_, node)) {
      add(child, depth + 1, false);
    }
    const bool needsRows = holdsRanks(at.kind) || at.kind == RowKind::kOtherLanes;
    if (needsRows && shown_.rows.size() == index + 1) shown_.rows.pop_back();
  }

  void placeRows() {
    std::vector<std::size_t> indexOf(tree_.size(), RowNode::kNone);
    for (std::size_t i = 0; i < shown_.rows.size(); ++i) indexOf[shown_.rows[i].node] = i;
    for (std::size_t row = 0; row < tree_.rowCount(); ++row) {
      std::size_t node = tree_.nodeOf(row);
      while (node != RowNode::kNone && indexOf[node] == RowNode::kNone) node = tree_[node].parent;
      shown_.shownAs.push_back(node == RowNode::kNone ? RowNode::kNone : indexOf[node]);
    }
  }

  std::size_t rankOf(std::size_t node) const {
    while (tree_[node].kind != RowKind::kRank) node = tree_[node].parent;
    return node;
  }

  const RowTree& tree_;
  const RowState& state_;
  std::vector<bool> isPinned_;
  std::vector<bool> isHidden_;
  std::vector<Match> matches_;  // by node; empty: no filter
  ShownRows shown_;
};

}  // namespace

ShownRows shownRows(const RowTree& tree, const RowState& state) {
  return Lister(tree, state).list();
}

bool rowMatches(std::string_view filter, std::string_view name) {
  if (trimmed(filter).empty()) return true;
  const std::string wanted = lowerCase(filter);
  const std::string in = lowerCase(name);
  std::string_view rest = wanted;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(','), rest.size());
    const std::string_view part = trimmed(rest.substr(0, end));
    if (!part.empty() && finds(part, in)) return true;
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return false;
}

std::vector<std::size_t> orderedChildren(const RowTree& tree, const RowState& state,
                                         std::size_t parent) {
  const std::vector<std::size_t>& children = tree.childrenOf(parent);
  if (state.order.empty()) return children;
  const auto order = state.order.find(parent == RowNode::kNone ? "" : tree[parent].key);
  if (order == state.order.end()) return children;
  std::vector<std::size_t> ordered;
  std::vector<bool> isPlaced(tree.size());
  for (const std::string& key : order->second) {
    const std::size_t node = tree.find(key);
    if (node == RowNode::kNone || tree[node].parent != parent || isPlaced[node]) continue;
    isPlaced[node] = true;
    ordered.push_back(node);
  }
  for (const std::size_t node : children) {
    if (!isPlaced[node]) ordered.push_back(node);
  }
  return ordered;
}

bool isFolded(const RowTree& tree, const RowState& state, std::size_t node) {
  const auto found = state.folded.find(tree[node].key);
  return found == state.folded.end() ? tree[node].startsFolded : found->second;
}

ShownRows plainRows(const std::vector<ChartRow>& rows) {
  ShownRows shown;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    ShownRow& row = shown.rows.emplace_back();
    const bool isFirst = i == 0 || rows[i].rank != rows[i - 1].rank;
    row.kind = isFirst ? RowKind::kRank : RowKind::kLane;
    row.row = i;
    row.depth = isFirst ? 0 : 1;
    row.label = isFirst ? rows[i].rankLabel : rows[i].lane;
    row.detail = rows[i].rankDetail;
    row.isOneLine = isFirst && !rows[i].isCompute;
    shown.shownAs.push_back(i);
  }
  return shown;
}

}  // namespace pipetrace
