#pragma once

namespace pipetrace {

/// Has processes that lose their parent become children of this one, if it started their parent or
/// its parent and so on.
void adoptOrphans();

/// Kills all children of this process, and theirs as they become children of it: those, too, that
/// have left their process group. Needs adoptOrphans() before they were started.
void killDescendants();

}  // namespace pipetrace
