# Recording CUDA streams. All but the calls of CUDA itself is built and tested everywhere.
# A driver with a made-up device, under the name by which programs load theirs.
if(PIPETRACE_TESTS)
  add_library(fake_cuda_driver SHARED testing/fake_cuda_driver.cpp)
  set_target_properties(fake_cuda_driver PROPERTIES OUTPUT_NAME cuda SOVERSION 1
                        LIBRARY_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/fake-driver")
  target_link_libraries(fake_cuda_driver PRIVATE pipetrace_flags)
  target_include_directories(fake_cuda_driver PRIVATE "${PROJECT_SOURCE_DIR}")
endif()

# Likewise NVML, and one of an older driver.
if(PIPETRACE_TESTS OR PIPETRACE_BENCHMARKS)
  foreach(nvml fake_nvml fake_older_nvml)
    add_library(${nvml} SHARED testing/fake_nvml.cpp)
    set_target_properties(${nvml} PROPERTIES OUTPUT_NAME nvidia-ml SOVERSION 1
                          LIBRARY_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/${nvml}")
    target_link_libraries(${nvml} PRIVATE pipetrace_flags)
    target_include_directories(${nvml} PRIVATE "${PROJECT_SOURCE_DIR}")
    target_compile_features(${nvml} PRIVATE cxx_std_20)
  endforeach()
  target_compile_definitions(fake_older_nvml PRIVATE PIPETRACE_OLDER_NVML)
endif()

pipetrace_test(cuda_driver_test SANITIZED LABELS threads SOURCES cuda/driver_test.cpp
               LINK pipetrace::profiler fake_cuda_driver fake_nvml)
pipetrace_test(older_driver_test SANITIZED LABELS threads SOURCES nvml/older_driver_test.cpp
               ALSO testing/fake_cuda.cpp LINK pipetrace::profiler fake_older_nvml)
pipetrace_test(gpu_counters_test SANITIZED LABELS threads FROM "^nvml/"
               ALSO testing/fake_cuda.cpp LINK pipetrace::profiler fake_nvml)

if(PIPETRACE_CUDA)
  # The only parts that include CUDA's headers.
  pipetrace_library(profiler_cuda SOURCES ${with_cuda}
                    PUBLIC pipetrace::profiler CUDA::cudart CUDA::cupti)
  # A program of its own, because it contains a tool for NVTX.
  pipetrace_test(nvtx_ranges_test SOURCES kernels/nvtx_ranges_test.cpp LINK pipetrace::profiler_cuda)
else()
  pipetrace_take(kernels/nvtx_ranges_test.cpp)
endif()

pipetrace_test(
  profiler_cuda_test SANITIZED
  LABELS threads
  FROM "^(cuda|kernels)/"
  ALSO testing/fake_cuda.cpp
  LINK pipetrace::profiler)

if(PIPETRACE_BENCHMARKS)
  pipetrace_program(gpu_counters_bench SOURCES bench/gpu_counters_bench.cpp
                    LINK pipetrace::profiler fake_nvml benchmark::benchmark)
  pipetrace_program(cuda_stream_bench SOURCES bench/cuda_stream_bench.cpp LINK pipetrace::profiler
                    benchmark::benchmark)
endif()
