#pragma once

#include "chart/rows/shown_rows.h"

namespace pipetrace {

// Changes to a RowState. Each returns the state as it is afterwards; `node` is a node of `tree`,
// which must be of the state's grouping.

RowState withFold(RowState state, const RowTree& tree, std::size_t node, bool isFolded);
/// Folds or unfolds all rows.
RowState withAllFolded(RowState state, const RowTree& tree, bool isFolded);
/// Pins the row below those that are pinned, or puts it back to its place.
RowState withPin(RowState state, const RowTree& tree, std::size_t node, bool isPinned);
bool isPinned(const RowTree& tree, const RowState& state, std::size_t node);
RowState withHidden(RowState state, const RowTree& tree, std::size_t node);
/// Shows the rows that were hidden, and those that the filter leaves out.
RowState withAllShown(RowState state);

/// Moves the row by `places` among those of its parent that are not hidden, or among the pinned.
RowState withMoved(RowState state, const RowTree& tree, std::size_t node, int places);
/// Moves the row before or after another one of the same parent (or of the pinned). Changes
/// nothing where `other` is none of these.
RowState withMovedNextTo(RowState state, const RowTree& tree, std::size_t node, std::size_t other,
                         bool isAfter);

/// Sorts ranks among their neighbours by their values, the greatest first. A header counts as the
/// greatest of its ranks. Ranks without a value come last. `values`: by the key of the rank's node.
RowState withRanksSorted(RowState state, const RowTree& tree,
                         const std::map<std::string, double>& values);
/// Puts all rows back into the order of the run.
RowState withRunOrder(RowState state);

/// The state for another tree of the same run, in which rows may start folded that did not in
/// `from`: what was folded stays folded, what was not does not.
RowState withSameFolds(RowState state, const RowTree& from, const RowTree& to);

/// Unfolds and shows what hides a row of the chart; removes the filter only if that hides it.
RowState withRevealed(RowState state, const RowTree& tree, std::size_t row);

}  // namespace pipetrace
