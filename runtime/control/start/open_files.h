#pragma once

namespace pipetrace {

/// Lets this process open as many files as the system allows it, which are often more than the 1024
/// that programs have at first. A rank of a large run has a connection for each other rank that it
/// needs, and rank 0 one for every rank. Never fails.
void allowMoreFiles();

}  // namespace pipetrace
