# Checkpoints know nothing of ranks, plans and transports.
# LAMB is here, as they know what it keeps; the runtime links them.
pipetrace_library(
  checkpoint TORCH
  FROM "^checkpoint/" "^train/optimize/lamb"
  PUBLIC pipetrace::trace pipetrace_torch
  PRIVATE nlohmann_json::nlohmann_json ZLIB::ZLIB)
pipetrace_test(
  checkpoint_test OWN_HEADERS
  FROM "^checkpoint/"
  ALSO checkpoint/testing/saved_model.cpp
  LINK pipetrace::checkpoint
  LABELS runtime
  ENVIRONMENT "PIPETRACE_TORCH_PYTHON=${PIPETRACE_TORCH_PYTHON}")
