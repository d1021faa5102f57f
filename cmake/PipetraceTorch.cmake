# LibTorch from the torch wheel, for the CPU, without a CUDA toolkit. `find_package(Torch)` is not
# used: the wheel's package file requires a toolkit and clashes with C++20 on CMake 3.25.
file(GLOB pipetrace_torch_candidates "${PIPETRACE_TORCH_DIR}"
     "${PIPETRACE_TORCH_DIR}/lib/python3*/site-packages")
set(pipetrace_site "")
foreach(candidate IN LISTS pipetrace_torch_candidates)
  if(EXISTS "${candidate}/torch/include/torch/csrc/api/include/torch/torch.h")
    set(pipetrace_site "${candidate}")
  endif()
endforeach()
if(NOT pipetrace_site)
  message(
    FATAL_ERROR
      "PIPETRACE_RUNTIME=ON needs LibTorch, which was not found under ${PIPETRACE_TORCH_DIR}. "
      "Run `bash tools/setup.sh`, or: python3 -m venv .deps/torch && .deps/torch/bin/pip install "
      "--no-deps torch==2.11.0 'nvidia-cuda-runtime>=13,<13.1' 'nvidia-cuda-cupti>=13,<13.1', "
      "or point PIPETRACE_TORCH_DIR at an environment that has it, or set PIPETRACE_RUNTIME=OFF")
endif()

find_path(PIPETRACE_GLOO_INCLUDE gloo/transport/device.h)
pipetrace_need(PIPETRACE_GLOO_INCLUDE "Gloo's headers (the torch wheel lacks them)" libgloo-dev)

file(GLOB pipetrace_nvidia_libs "${pipetrace_site}/nvidia/*/lib")
add_library(pipetrace_torch INTERFACE)
target_include_directories(
  pipetrace_torch SYSTEM
  INTERFACE "${pipetrace_site}/torch/include"
            "${pipetrace_site}/torch/include/torch/csrc/api/include" "${PIPETRACE_GLOO_INCLUDE}")
# FMT_HEADER_ONLY: the wheel's include folder holds its own, newer fmt, which hides the system's and
# has no library to link.
target_compile_definitions(pipetrace_torch INTERFACE USE_DISTRIBUTED USE_C10D_GLOO FMT_HEADER_ONLY)
target_link_libraries(
  pipetrace_torch INTERFACE "${pipetrace_site}/torch/lib/libtorch_cpu.so"
                            "${pipetrace_site}/torch/lib/libc10.so" Threads::Threads)
# The wheel's libraries find each other through the run path of the program.
target_link_options(pipetrace_torch INTERFACE "-Wl,--disable-new-dtags"
                    "-Wl,-rpath,${pipetrace_site}/torch/lib")
foreach(folder IN LISTS pipetrace_nvidia_libs)
  target_link_options(pipetrace_torch INTERFACE "-Wl,-rpath,${folder}" "-Wl,-rpath-link,${folder}")
endforeach()
