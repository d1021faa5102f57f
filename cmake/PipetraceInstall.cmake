# `cmake --install` and find_package(pipetrace COMPONENTS profiler ...).
include(CMakePackageConfigHelpers)

set(pipetrace_installed trace profiler)
if(NOT PIPETRACE_PROFILER_ONLY)
  list(APPEND pipetrace_installed schedule parser chart analysis ingest)
endif()
foreach(part IN LISTS pipetrace_installed)
  install(TARGETS pipetrace_${part} EXPORT pipetraceTargets
          ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}")
  install(DIRECTORY "${PROJECT_SOURCE_DIR}/${part}/"
          DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/pipetrace/${part}"
          FILES_MATCHING
          PATTERN "*.h"
          PATTERN "testing" EXCLUDE
          PATTERN "fuzz" EXCLUDE
          PATTERN "bench" EXCLUDE)
endforeach()
# Programs include these headers by names without the room.
foreach(moved IN ITEMS
        "profiler/clock_comparison.h profiler/clock/clock_comparison.h"
        "profiler/clock_exchange.h profiler/clock/clock_exchange.h"
        "profiler/host_clock.h profiler/clock/host_clock.h"
        "profiler/cuda_clock.h profiler/cuda/clock.h"
        "profiler/cuda_device.h profiler/cuda/device.h"
        "profiler/cuda_driver.h profiler/cuda/driver.h"
        "profiler/cuda_runtime.h profiler/cuda/runtime.h"
        "profiler/cuda_scope.h profiler/cuda/scope.h"
        "profiler/cuda_stream.h profiler/cuda/stream.h"
        "profiler/cuda_kernel_log.h profiler/kernels/cupti_collector.h"
        "profiler/cupti_api.h profiler/kernels/cupti_api.h"
        "profiler/cupti_collector.h profiler/kernels/cupti_collector.h"
        "profiler/nvtx_ranges.h profiler/kernels/nvtx_ranges.h"
        "profiler/nccl_plugin.h profiler/nccl/plugin.h"
        "trace/log_format.h trace/log/log_format.h"
        "trace/log_writer.h trace/log/log_writer.h"
        "trace/ring_format.h trace/log/ring_format.h")
  separate_arguments(moved)
  list(GET moved 0 old_name)
  list(GET moved 1 new_name)
  set(forwarding_header "${CMAKE_BINARY_DIR}/forwarding/${old_name}")
  file(CONFIGURE OUTPUT "${forwarding_header}" @ONLY CONTENT
       "#pragma once\n\n#include \"@new_name@\"  // IWYU pragma: export\n")
  get_filename_component(old_folder "${old_name}" DIRECTORY)
  install(FILES "${forwarding_header}"
          DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/pipetrace/${old_folder}")
endforeach()
if(PIPETRACE_CUDA)
  install(TARGETS pipetrace_profiler_cuda EXPORT pipetraceTargets
          ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}") # its headers are among the profiler's
endif()
install(TARGETS nccl_plugin LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}")
install(TARGETS pipetrace_c EXPORT pipetraceTargets
        LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}")
foreach(program pipe-trace pipe-run pipe-view)
  if(TARGET ${program})
    install(TARGETS ${program} RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
  endif()
endforeach()

# Completions for shells and the manual page of each program, which the program writes itself.
set(shell_files "${CMAKE_BINARY_DIR}/share")
set(shell_outputs "")
foreach(program pipe-trace pipe-run pipe-view)
  if(NOT TARGET ${program})
    continue()
  endif()
  set(shell_commands "completions bash" "completions zsh" "completions fish" man)
  set(shell_names ${program}.bash _${program} ${program}.fish ${program}.1)
  foreach(command name IN ZIP_LISTS shell_commands shell_names)
    separate_arguments(arguments UNIX_COMMAND "${command}")
    add_custom_command(
      OUTPUT "${shell_files}/${name}"
      COMMAND "${CMAKE_COMMAND}" -E make_directory "${shell_files}"
      COMMAND ${program} ${arguments} > "${shell_files}/${name}"
      DEPENDS ${program} VERBATIM)
    list(APPEND shell_outputs "${shell_files}/${name}")
  endforeach()
  install(FILES "${shell_files}/${program}.bash" RENAME ${program}
          DESTINATION "${CMAKE_INSTALL_DATADIR}/bash-completion/completions")
  install(FILES "${shell_files}/_${program}"
          DESTINATION "${CMAKE_INSTALL_DATADIR}/zsh/site-functions")
  install(FILES "${shell_files}/${program}.fish"
          DESTINATION "${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d")
  install(FILES "${shell_files}/${program}.1" DESTINATION "${CMAKE_INSTALL_MANDIR}/man1")
endforeach()
if(shell_outputs)
  add_custom_target(shell_files ALL DEPENDS ${shell_outputs})
endif()

# The viewer in menus and file managers.
if(TARGET pipe-view)
  set(desktop "${PROJECT_SOURCE_DIR}/viewer/desktop")
  install(FILES "${desktop}/pipe-view.desktop"
          DESTINATION "${CMAKE_INSTALL_DATADIR}/applications")
  install(FILES "${desktop}/pipe-view.svg"
          DESTINATION "${CMAKE_INSTALL_DATADIR}/icons/hicolor/scalable/apps")
  install(FILES "${desktop}/pipe-view-mime.xml" RENAME pipe-view.xml
          DESTINATION "${CMAKE_INSTALL_DATADIR}/mime/packages")
  install(FILES "${desktop}/pipe-view.metainfo.xml" RENAME org.pipetrace.pipe_view.metainfo.xml
          DESTINATION "${CMAKE_INSTALL_DATADIR}/metainfo")
endif()

set(pipetrace_package "${CMAKE_INSTALL_LIBDIR}/cmake/pipetrace")
install(EXPORT pipetraceTargets NAMESPACE pipetrace:: DESTINATION "${pipetrace_package}")
configure_package_config_file(
  "${CMAKE_CURRENT_LIST_DIR}/pipetraceConfig.cmake.in"
  "${CMAKE_CURRENT_BINARY_DIR}/pipetraceConfig.cmake" INSTALL_DESTINATION "${pipetrace_package}")
write_basic_package_version_file("${CMAKE_CURRENT_BINARY_DIR}/pipetraceConfigVersion.cmake"
                                 COMPATIBILITY SameMinorVersion)
install(FILES "${CMAKE_CURRENT_BINARY_DIR}/pipetraceConfig.cmake"
              "${CMAKE_CURRENT_BINARY_DIR}/pipetraceConfigVersion.cmake"
        DESTINATION "${pipetrace_package}")
