# Checkpoints know nothing of ranks, plans and transports.
# LAMB is here, as they know what it keeps; the runtime links them.
pipetrace_library(
  checkpoint
  SOURCES checkpoint/block_file.cpp
          checkpoint/block_state.cpp
          checkpoint/checkpoint.cpp
          checkpoint/checkpoint_folder.cpp
          checkpoint/checkpoint_steps.cpp
          checkpoint/checkpoint_writer.cpp
          checkpoint/file_bytes.cpp
          checkpoint/make_folder.cpp
          checkpoint/manifest.cpp
          checkpoint/optimizer_state.cpp
          checkpoint/snapshot.cpp
          checkpoint/weights_folder.cpp
          train/optimize/lamb.cpp
  PUBLIC pipetrace::trace pipetrace_torch
  PRIVATE nlohmann_json::nlohmann_json ZLIB::ZLIB)
pipetrace_test(
  checkpoint_test OWN_HEADERS
  SOURCES checkpoint/block_file_test.cpp
          checkpoint/block_state_test.cpp
          checkpoint/checkpoint_folder_test.cpp
          checkpoint/checkpoint_test.cpp
          checkpoint/checkpoint_writer_test.cpp
          checkpoint/full_disk_test.cpp
          checkpoint/killed_writer_test.cpp
          checkpoint/manifest_test.cpp
          checkpoint/testing/saved_model.cpp
  LINK pipetrace::checkpoint
  LABELS runtime
  ENVIRONMENT "PIPETRACE_TORCH_PYTHON=${PIPETRACE_TORCH_PYTHON}")
