# `cmake --install` and find_package(pipetrace COMPONENTS profiler ...).
include(CMakePackageConfigHelpers)

set(pipetrace_installed trace schedule parser profiler chart analysis)
foreach(part IN LISTS pipetrace_installed)
  install(TARGETS pipetrace_${part} EXPORT pipetraceTargets
          ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}")
  install(DIRECTORY "${PROJECT_SOURCE_DIR}/${part}/"
          DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/pipetrace/${part}"
          FILES_MATCHING
          PATTERN "*.h"
          PATTERN "fuzz" EXCLUDE
          REGEX "/((test|fake)_[^/]*|recorded_log|record_from_c|environment|scripted_stream|hand_made_timeline)\\.h$" EXCLUDE)
endforeach()
if(PIPETRACE_CUDA)
  install(TARGETS pipetrace_profiler_cuda EXPORT pipetraceTargets
          ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}") # its headers are among the profiler's
endif()
install(TARGETS pipetrace_c EXPORT pipetraceTargets
        LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}")
foreach(program pipe-trace pipe-run pipe-view)
  if(TARGET ${program})
    install(TARGETS ${program} RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
  endif()
endforeach()

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
