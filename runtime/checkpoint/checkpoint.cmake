# Checkpoints know nothing of ranks, plans and transports.
# LAMB is here, as they know what it keeps; the runtime links them.
pipetrace_library(
  checkpoint TORCH
  FROM "^checkpoint/" "^train/optimize/lamb"
  PUBLIC pipetrace::trace pipetrace_torch
  PRIVATE nlohmann_json::nlohmann_json ZLIB::ZLIB)
